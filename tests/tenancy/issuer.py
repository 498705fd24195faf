"""An identity provider without a network, what it signs, and what checks that."""

# ruff: noqa: ANN401 - keys of any kind
from collections.abc import Callable
from typing import Any

import httpx
from joserfc import jwk, jwt

from riven.tenancy.oidc import OidcSettings, OidcVerifier

ISSUER = "https://id.example"
NOW = 1_800_000_000
RSA = jwk.RSAKey.generate_key(2048, {"kid": "rsa", "use": "sig"})
EC = jwk.ECKey.generate_key("P-256", {"kid": "ec"})
ED = jwk.OKPKey.generate_key("Ed25519", {"kid": "ed"})
NEW = jwk.ECKey.generate_key("P-256", {"kid": "new"})
SETTINGS = OidcSettings(issuer=ISSUER, audience="riven")


class Issuer:
    """An identity provider without a network: what it answers, and how often it was asked."""

    def __init__(self, *keys: Any) -> None:
        self.keys = list(keys)
        self.asked: list[str] = []
        self.away = False

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.path)
        if self.away:
            raise httpx.ConnectError("no route")
        if request.url.path == "/.well-known/openid-configuration":
            return httpx.Response(200, json={"issuer": ISSUER, "jwks_uri": f"{ISSUER}/keys"})
        return httpx.Response(200, json={"keys": [each.as_dict(private=False) for each in self.keys]})


class Hands:
    def __init__(self) -> None:
        self.at = 5_000.0

    def __call__(self) -> float:
        return self.at


def verifier(
    issuer: Callable[[httpx.Request], httpx.Response],
    settings: OidcSettings = SETTINGS,
    now: Hands | None = None,
) -> OidcVerifier:
    transport = httpx.MockTransport(issuer)
    return OidcVerifier(settings, clock=lambda: NOW, now=now or Hands(), transport=transport)


def token(key: Any = RSA, algorithm: str = "RS256", kid: str | None = "", **claims: Any) -> str:
    said = {"iss": ISSUER, "aud": "riven", "sub": "auth0|ada", "exp": NOW + 60, **claims}
    header: dict[str, Any] = {"alg": algorithm}
    if kid is not None:
        header["kid"] = kid or key.kid
    return jwt.encode(
        header,
        {name: value for name, value in said.items() if value is not None},
        key,
        algorithms=[algorithm],
    )
