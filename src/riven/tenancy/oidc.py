"""Tokens of one OIDC issuer: its keys fetched and kept, signature, issuer, audience and times checked.

Only asymmetric algorithms are taken: with a symmetric one, whoever can check a token can also make one. The keys are
fetched when the first token comes, and again after an hour, or when a token names a key that is not among them (the
issuer rotates), but for that at most every ten seconds, so that forged tokens cause no flood of requests. While the
issuer is away, the keys that are known go on being used for a day.
"""

import asyncio
import logging
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import httpx
import orjson
from joserfc import jwk, jwt
from joserfc.errors import ExpiredTokenError, InvalidKeyIdError, JoseError, SecurityWarning
from joserfc.jws import JWSRegistry

from riven.tenancy.claims import Claims
from riven.tenancy.errors import AwayError, UnauthenticatedError

ALGORITHMS: Final = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA", "Ed25519"),
)
_FRESH: Final = 3_600.0
_USABLE: Final = 86_400.0
_AGAIN: Final = 10.0
_LARGEST: Final = 1 << 20

_log = logging.getLogger("riven.tenancy")


class IdentityProviderAwayError(AwayError):
    code = "identity_provider_unavailable"


@dataclass(frozen=True, slots=True, kw_only=True)
class OidcSettings:
    issuer: str
    audience: str
    jwks_url: str | None = None
    """None: what the issuer's discovery document says."""
    algorithms: tuple[str, ...] = ALGORITHMS
    leeway: int = 30
    """Seconds by which the issuer's clock may differ from ours."""

    def __post_init__(self) -> None:
        for name, url in (("issuer", self.issuer), ("jwks_url", self.jwks_url)):
            if url is not None and urlsplit(url).scheme not in ("https", "http"):
                raise ValueError(f"the {name} must be an http or https address, not {url!r}")
        if not self.audience:
            raise ValueError("the audience is missing: without it tokens for other services would be taken")
        if refused := [each for each in self.algorithms if each not in ALGORITHMS]:
            raise ValueError(f"{refused[0]} is not one of {', '.join(ALGORITHMS)}")


class OidcVerifier:
    def __init__(
        self,
        settings: OidcSettings,
        *,
        clock: Callable[[], float],
        now: Callable[[], float] = time.monotonic,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """`clock` tells the time of day in seconds since the epoch; `now` the age of keys."""
        self._settings = settings
        self._clock = clock
        self._now = now
        self._client = httpx.AsyncClient(
            timeout=5.0, transport=transport, headers={"Accept": "application/json"}
        )
        self._registry = JWSRegistry(algorithms=list(settings.algorithms))
        self._keys: jwk.KeySet | None = None
        self._fetched = 0.0
        self._tried: float | None = None
        self._lock = asyncio.Lock()

    async def close(self) -> None:
        await self._client.aclose()

    async def verify(self, token: str) -> Claims:
        """Raises UnauthenticatedError, or IdentityProviderAwayError while there are no keys to check with."""
        keys = await self._key_set()
        try:
            decoded = self._decode(token, keys)
        except InvalidKeyIdError:
            keys = await self._key_set(unknown_key=True)
            decoded = self._decode_again(token, keys)
        return self._claims(decoded.claims)

    def _decode(self, token: str, keys: jwk.KeySet) -> jwt.Token:
        try:
            with warnings.catch_warnings():
                # Issuers write Ed25519 as EdDSA for as long as they do not follow RFC 9864.
                warnings.simplefilter("ignore", SecurityWarning)
                return jwt.decode(token, keys, registry=self._registry)
        except InvalidKeyIdError:
            raise
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise UnauthenticatedError(f"the token is refused: {error}; sign in anew") from error

    def _decode_again(self, token: str, keys: jwk.KeySet) -> jwt.Token:
        try:
            return self._decode(token, keys)
        except InvalidKeyIdError as error:
            raise UnauthenticatedError(
                "the token is signed by a key that its issuer does not have"
            ) from error

    def _claims(self, claims: dict[str, Any]) -> Claims:
        now = self._clock()
        rules = jwt.JWTClaimsRegistry(
            now=int(now),
            leeway=self._settings.leeway,
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": self._settings.audience},
            exp={"essential": True},
            sub={"essential": True},
        )
        try:
            rules.validate(claims)
        except ExpiredTokenError as error:
            raise UnauthenticatedError("the token has expired; sign in anew") from error
        except (JoseError, ValueError, TypeError) as error:
            raise UnauthenticatedError(f"the token is refused: {error}; sign in anew") from error
        subject = str(claims["sub"])
        shown = (claims.get(each) for each in ("name", "preferred_username", "email"))
        name = next((each for each in shown if isinstance(each, str) and each), subject)
        return Claims(subject, name, claims["exp"] + self._settings.leeway - now)

    async def _key_set(self, *, unknown_key: bool = False) -> jwk.KeySet:
        async with self._lock:
            age = self._now() - self._fetched
            tried_lately = self._tried is not None and self._now() - self._tried < _AGAIN
            if self._keys is not None and (tried_lately or (age < _FRESH and not unknown_key)):
                return self._keys
            if self._keys is None and tried_lately:
                raise self._away()
            self._tried = self._now()
            try:
                self._keys = await self._fetch()
                self._fetched = self._now()
            except (httpx.HTTPError, ValueError, KeyError, TypeError, JoseError) as error:
                _log.warning("identity_provider_away", extra={"error": str(error) or type(error).__name__})
                if self._keys is None or age > _USABLE:
                    raise self._away() from error
            return self._keys

    def _away(self) -> IdentityProviderAwayError:
        said = "the keys of the identity provider cannot be fetched; try again soon, or use an API key"
        return IdentityProviderAwayError(said, retry_after=_AGAIN)

    async def _fetch(self) -> jwk.KeySet:
        url = self._settings.jwks_url
        if url is None:
            found = await self._get(f"{self._settings.issuer.rstrip('/')}/.well-known/openid-configuration")
            url = found["jwks_uri"]
        listed = (await self._get(url))["keys"]
        if not isinstance(listed, list):
            raise TypeError(f"{url} answers no list of keys")
        keys: list[Any] = []
        for data in listed:
            if not isinstance(data, dict) or data.get("kty") == "oct" or data.get("use", "sig") != "sig":
                continue
            try:
                keys.append(jwk.import_key(data))
            except (JoseError, ValueError, TypeError, KeyError):
                continue  # of a kind that we do not know: tokens signed by it are refused, the others go on
        if not keys:
            raise ValueError(f"{url} answers no key that signs")
        return jwk.KeySet(keys)

    async def _get(self, url: str) -> dict[str, Any]:
        response = await self._client.get(url)
        response.raise_for_status()
        if len(response.content) > _LARGEST:
            raise ValueError(f"{url} answers more than 1 MiB")
        found = orjson.loads(response.content)
        if not isinstance(found, dict):
            raise TypeError(f"{url} answers no JSON object")
        return found
