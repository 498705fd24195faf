# ruff: noqa: ANN401, ASYNC110 - keys of any kind; what is waited for is told by no event of this process
import asyncio
import base64
import hmac
import json
from typing import Any

import httpx
import pytest
from joserfc import jwk
from tests.tenancy.issuer import EC, ED, ISSUER, NEW, NOW, RSA, SETTINGS, Hands, Issuer, token, verifier
from tests.tenancy.tenants import make_workspace, scope

from riven.db.engine import Database
from riven.tenancy.authentication import Authenticator
from riven.tenancy.errors import UnauthenticatedError
from riven.tenancy.members import add_member, change_member, remove_member
from riven.tenancy.oidc import ALGORITHMS, IdentityProviderAwayError, OidcSettings
from riven.tenancy.principals import Role


def _part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


@pytest.mark.filterwarnings("ignore:EdDSA is deprecated")  # when the test writes the token
@pytest.mark.parametrize(
    ("key", "algorithm"), [(RSA, "RS256"), (RSA, "PS256"), (RSA, "RS512"), (EC, "ES256"), (ED, "EdDSA")]
)
async def test_a_token_of_the_issuer_is_taken(key: Any, algorithm: str) -> None:
    checking = verifier(Issuer(RSA, EC, ED))
    claims = await checking.verify(token(key, algorithm, name="Ada"))
    await checking.close()
    assert (claims.subject, claims.name) == ("auth0|ada", "Ada")
    assert claims.seconds_left == 60 + SETTINGS.leeway


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://evil.example"},
        {"iss": ISSUER + "/"},
        {"iss": None},
        {"aud": "other"},
        {"aud": ["other", "another"]},
        {"aud": None},
        {"aud": []},
        {"exp": NOW - 31},
        {"exp": None},
        {"exp": "tomorrow"},
        {"exp": True},
        {"nbf": NOW + 31},
        {"sub": None},
        {"sub": ""},
        {"sub": 7},
    ],
    ids=repr,
)
async def test_a_token_that_says_something_else_is_refused(claims: dict[str, Any]) -> None:
    checking = verifier(Issuer(RSA))
    with pytest.raises(UnauthenticatedError):
        await checking.verify(token(**claims))
    await checking.close()


async def test_clocks_may_differ_by_the_leeway_and_audiences_may_be_several() -> None:
    checking = verifier(Issuer(RSA))
    assert (await checking.verify(token(exp=NOW - 29))).seconds_left == 1
    await checking.verify(token(nbf=NOW + 29))
    await checking.verify(token(aud=["other", "riven"]))
    await checking.close()


async def test_a_token_that_was_tampered_with_is_refused() -> None:
    checking = verifier(Issuer(RSA))
    good = token()
    header, payload, signature = good.split(".")
    other = token(sub="auth0|root").split(".")[1]
    for bad in (
        f"{header}.{other}.{signature}",
        f"{header}.{payload}.",
        f"{header}.{payload}.{signature[:-6]}AAAAAA",
        "..",
        "a.b.c",
        "é.é.é",
        f"{header}.{payload}",
    ):
        with pytest.raises(UnauthenticatedError):
            await checking.verify(bad)
    await checking.close()


async def test_no_symmetric_key_and_no_missing_signature_is_taken() -> None:
    """The classic: a token signed by HMAC with the public key as its secret, or by nothing at all."""
    shared = jwk.OctKey.generate_key(256, {"kid": "oct"})
    checking = verifier(Issuer(RSA, shared))
    confused = _part({"alg": "HS256", "kid": "rsa"}) + "." + token().split(".")[1]
    mac = hmac.new(RSA.as_pem(private=False), confused.encode(), "sha256").digest()
    with pytest.raises(UnauthenticatedError):
        await checking.verify(f"{confused}.{base64.urlsafe_b64encode(mac).decode().rstrip('=')}")
    with pytest.raises(UnauthenticatedError):
        await checking.verify(token(shared, "HS256"))
    unsigned = _part({"alg": "none", "kid": "rsa"}) + "." + token().split(".")[1] + "."
    with pytest.raises(UnauthenticatedError):
        await checking.verify(unsigned)
    await checking.close()


def test_settings_take_asymmetric_algorithms_alone() -> None:
    assert not [each for each in ALGORITHMS if each.startswith("HS") or each == "none"]
    with pytest.raises(ValueError, match="HS256 is not one of"):
        OidcSettings(issuer=ISSUER, audience="a", algorithms=("HS256",))
    with pytest.raises(ValueError, match="audience is missing"):
        OidcSettings(issuer=ISSUER, audience="")
    with pytest.raises(ValueError, match="http or https"):
        OidcSettings(issuer="file:///etc", audience="a")


async def test_an_algorithm_that_the_settings_leave_out_is_refused() -> None:
    only = OidcSettings(issuer=ISSUER, audience="riven", algorithms=("ES256",))
    checking = verifier(Issuer(RSA, EC), only)
    await checking.verify(token(EC, "ES256"))
    with pytest.raises(UnauthenticatedError):
        await checking.verify(token(RSA, "RS256"))
    await checking.close()


async def test_keys_are_fetched_once_and_again_after_an_hour() -> None:
    issuer, hands = Issuer(RSA), Hands()
    checking = verifier(issuer, now=hands)
    await asyncio.gather(*(checking.verify(token()) for _ in range(20)))
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]
    hands.at += 3_599
    await checking.verify(token())
    assert len(issuer.asked) == 2
    hands.at += 2
    await checking.verify(token())
    assert len(issuer.asked) == 4
    await checking.close()


async def test_an_address_of_keys_is_asked_without_discovery() -> None:
    issuer = Issuer(RSA)
    settings = OidcSettings(issuer=ISSUER, audience="riven", jwks_url=f"{ISSUER}/jwks.json")
    checking = verifier(issuer, settings)
    await checking.verify(token())
    await checking.close()
    assert issuer.asked == ["/jwks.json"]


async def test_a_key_that_the_issuer_has_rotated_to_is_fetched_when_it_is_first_used() -> None:
    issuer, hands = Issuer(RSA), Hands()
    checking = verifier(issuer, now=hands)
    await checking.verify(token())
    issuer.keys = [NEW]
    hands.at += 11
    await checking.verify(token(NEW, "ES256"))
    with pytest.raises(UnauthenticatedError):
        await checking.verify(token(RSA))  # gone from the issuer, gone here
    await checking.close()


async def test_forged_key_ids_make_no_flood_of_requests() -> None:
    issuer, hands = Issuer(RSA), Hands()
    checking = verifier(issuer, now=hands)
    await checking.verify(token())
    for number in range(50):
        with pytest.raises(UnauthenticatedError):
            await checking.verify(token(kid=f"forged-{number}"))
    assert len(issuer.asked) == 2
    hands.at += 11
    for number in range(50):
        with pytest.raises(UnauthenticatedError):
            await checking.verify(token(kid=f"forged-{number}"))
    assert len(issuer.asked) == 4
    await checking.close()


async def test_a_token_without_key_id_is_taken_while_there_is_one_key() -> None:
    checking = verifier(Issuer(RSA))
    await checking.verify(token(kid=None))
    await checking.close()


async def test_keys_go_on_for_a_day_while_the_issuer_is_away() -> None:
    issuer, hands = Issuer(RSA), Hands()
    checking = verifier(issuer, now=hands)
    await checking.verify(token())
    issuer.away = True
    hands.at += 80_000
    await checking.verify(token())
    hands.at += 10_000
    with pytest.raises(IdentityProviderAwayError) as refused:
        await checking.verify(token())
    assert refused.value.retry_after
    issuer.away = False
    hands.at += 11
    await checking.verify(token())
    await checking.close()


async def test_without_any_key_a_token_is_neither_good_nor_bad() -> None:
    issuer, hands = Issuer(RSA), Hands()
    issuer.away = True
    checking = verifier(issuer, now=hands)
    for _ in range(20):
        with pytest.raises(IdentityProviderAwayError):
            await checking.verify(token())
    assert len(issuer.asked) == 1
    issuer.away = False
    hands.at += 11
    await checking.verify(token())
    await checking.close()


@pytest.mark.parametrize(
    "answer",
    [
        httpx.Response(500),
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[]),
        httpx.Response(200, json={}),
        httpx.Response(200, json={"keys": "none"}),
        httpx.Response(200, json={"keys": [None]}),
        httpx.Response(200, json={"keys": []}),
        httpx.Response(200, content=b" " * (2 << 20)),
    ],
    ids=lambda answer: f"{answer.status_code} {answer.content[:20]!r}",
)
async def test_an_issuer_that_answers_nonsense_is_away(answer: httpx.Response) -> None:
    settings = OidcSettings(issuer=ISSUER, audience="riven", jwks_url=f"{ISSUER}/keys")
    checking = verifier(lambda _: answer, settings)
    with pytest.raises(IdentityProviderAwayError):
        await checking.verify(token())
    await checking.close()


async def test_keys_of_unknown_kinds_do_not_spoil_the_others() -> None:
    strange = [{"kty": "PQC", "kid": "x"}, {"kty": "RSA", "kid": "y"}, {"kty": "EC", "crv": "none"}, {}]
    keys = [*strange, RSA.as_dict(private=False)]
    settings = OidcSettings(issuer=ISSUER, audience="riven", jwks_url=f"{ISSUER}/keys")
    checking = verifier(lambda _: httpx.Response(200, json={"keys": keys}), settings)
    assert (await checking.verify(token())).subject == "auth0|ada"
    await checking.close()


async def test_a_member_is_somebody_at_once_and_nobody_at_once(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    authenticator = Authenticator(database, oidc=verifier(Issuer(RSA)))
    authenticator.start()
    await authenticator.listening.wait()
    bearer = token()

    async def until(role: Role | None) -> None:
        while (await authenticator.authenticate(bearer)).role_in(workspace) != role:
            await asyncio.sleep(0)

    stranger = await authenticator.authenticate(bearer)
    assert (stranger.kind, stranger.id, dict(stranger.memberships)) == ("user", "auth0|ada", {})
    async with database.transaction() as connection:
        member = await add_member(connection, scope(workspace), subject="auth0|ada", role=Role.VIEWER)
    await until(Role.VIEWER)
    async with database.transaction() as connection:
        await change_member(connection, scope(workspace), member.id, Role.ADMIN)
    await until(Role.ADMIN)
    async with database.transaction() as connection:
        await remove_member(connection, scope(workspace), member.id)
    await until(None)
    await authenticator.close()
    await database.close()


async def test_without_an_issuer_no_token_is_taken(database_url: str) -> None:
    database = Database(database_url)
    authenticator = Authenticator(database)
    with pytest.raises(UnauthenticatedError, match="no API key"):
        await authenticator.authenticate(token())
    await authenticator.close()
    await database.close()
