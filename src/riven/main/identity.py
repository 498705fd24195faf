"""What checks the tokens of the issuer that the settings name."""

from riven.main.clock import wall_seconds
from riven.settings import Settings
from riven.tenancy.claims import TokenVerifier
from riven.tenancy.oidc import OidcSettings, OidcVerifier


def load_verifier(settings: Settings) -> TokenVerifier:
    assert settings.oidc_issuer is not None  # noqa: S101 - it is asked for where there is one
    assert settings.oidc_audience is not None  # noqa: S101 - settings have both or neither
    oidc = OidcSettings(
        issuer=settings.oidc_issuer, audience=settings.oidc_audience, jwks_url=settings.oidc_jwks_url
    )
    return OidcVerifier(oidc, clock=wall_seconds)
