from uuid import uuid4

import httpx
import pytest
from joserfc import jwk, jwt
from tests.api.harness import Api, assert_problem, serving

from riven.tenancy.oidc import OidcSettings, OidcVerifier

ISSUER = "https://id.example"
NOW = 1_800_000_000
KEY = jwk.ECKey.generate_key("P-256", {"kid": "1"})


def issuer(_: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={"keys": [KEY.as_dict(private=False)]})


def token(subject: str) -> str:
    claims = {"iss": ISSUER, "aud": "riven", "sub": subject, "exp": NOW + 60}
    return jwt.encode({"alg": "ES256", "kid": "1"}, claims, KEY)


def with_issuer(api: Api) -> None:
    settings = OidcSettings(issuer=ISSUER, audience="riven", jwks_url=f"{ISSUER}/keys")
    verifier = OidcVerifier(settings, clock=lambda: NOW, transport=httpx.MockTransport(issuer))
    api.state.authenticator._oidc = verifier


async def test_a_user_is_what_its_membership_says_from_the_next_request_on(database_url: str) -> None:
    async with serving(database_url) as api:
        with_issuer(api)
        tenant, other = await api.workspace("a"), await api.workspace("b")
        ada, path = token("auth0|ada"), f"/workspaces/{tenant.id}"
        assert_problem(await api.get(path, key=ada), 403, "foreign_workspace")
        assert (await api.get("/workspaces", key=ada)).json()["items"] == []

        added = await api.post(
            f"{path}/members", {"subject": "auth0|ada", "role": "VIEWER"}, key=tenant.admin
        )
        assert added.status_code == 201
        member = added.json()
        assert (member["subject"], member["role"]) == ("auth0|ada", "VIEWER")
        assert (await api.get(path, key=ada)).status_code == 200
        assert [each["name"] for each in (await api.get("/workspaces", key=ada)).json()["items"]] == ["a"]
        assert_problem(await api.get(f"{path}/members", key=ada), 403, "forbidden")
        assert_problem(await api.get(f"/workspaces/{other.id}", key=ada), 403, "foreign_workspace")

        address = f"{path}/members/{member['memberId']}"
        changed = await api.patch(address, {"role": "ADMIN"}, key=tenant.admin)
        assert changed.json() == {**member, "role": "ADMIN"}
        listed = (await api.get(f"{path}/members", key=ada)).json()
        assert listed == {"items": [{**member, "role": "ADMIN"}], "nextCursor": None}

        assert (await api.delete(address, key=tenant.admin)).status_code == 204
        assert_problem(await api.get(path, key=ada), 403, "foreign_workspace")
        assert_problem(await api.delete(address, key=tenant.admin), 404, "member_not_found")
        assert_problem(
            await api.patch(address, {"role": "VIEWER"}, key=tenant.admin), 404, "member_not_found"
        )


async def test_what_a_user_does_is_told_under_its_subject(database_url: str) -> None:
    async with serving(database_url) as api:
        with_issuer(api)
        tenant = await api.workspace()
        path = f"/workspaces/{tenant.id}"
        await api.post(f"{path}/members", {"subject": "auth0|ada", "role": "ADMIN"}, key=tenant.admin)
        await api.post(f"{path}/keys", {"name": "k", "role": "VIEWER"}, key=token("auth0|ada"))
        newest = (await api.get(f"{path}/activity", key=tenant.viewer)).json()["items"][0]
        assert (newest["actor"], newest["action"]) == ("user:auth0|ada", "key.created")


async def test_a_token_of_nobody_known_is_401(database_url: str) -> None:
    async with serving(database_url) as api:
        with_issuer(api)
        stranger = jwk.ECKey.generate_key("P-256", {"kid": "1"})
        claims = {"iss": ISSUER, "aud": "riven", "sub": "auth0|ada", "exp": NOW + 60}
        forged = jwt.encode({"alg": "ES256", "kid": "1"}, claims, stranger)
        assert_problem(await api.get("/workspaces", key=forged), 401, "unauthenticated")


async def test_an_issuer_that_is_away_is_503(database_url: str) -> None:
    def away(_: httpx.Request) -> httpx.Response:
        return httpx.Response(502)

    settings = OidcSettings(issuer=ISSUER, audience="riven")
    verifier = OidcVerifier(settings, clock=lambda: NOW, transport=httpx.MockTransport(away))
    async with serving(database_url) as api:
        api.state.authenticator._oidc = verifier
        answer = await api.get("/workspaces", key=token("auth0|ada"))
        assert_problem(answer, 503, "identity_provider_unavailable")
        assert (await api.get("/workspaces")).status_code == 200


async def test_a_member_that_cannot_be_is_refused(database_url: str, subtests: pytest.Subtests) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        for body, paths in [
            ({}, ["subject", "role"]),
            ({"subject": "", "role": "VIEWER"}, ["subject"]),
            ({"subject": "a" * 256, "role": "VIEWER"}, ["subject"]),
            ({"subject": "a\0", "role": "VIEWER"}, ["subject"]),
            ({"subject": "a", "role": "PLATFORM"}, ["role"]),
            ({"subject": "a", "role": "OWNER"}, ["role"]),
        ]:
            with subtests.test(body=body):
                answer = await api.post(f"/workspaces/{tenant.id}/members", body, key=tenant.admin)
                assert_problem(answer, 422, "invalid_request", *paths)


async def test_members_are_for_admins_and_twice_is_a_conflict(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant, other = await api.workspace("a"), await api.workspace("b")
        path, body = f"/workspaces/{tenant.id}/members", {"subject": "s", "role": "VIEWER"}
        assert (await api.post(path, body, key=tenant.admin)).status_code == 201
        assert_problem(await api.post(path, body, key=tenant.admin), 409, "member_exists")
        member = (await api.get(path)).json()["items"][0]["memberId"]
        for method, address, more in (
            ("POST", path, {"json": body}),
            ("GET", path, {}),
            ("PATCH", f"{path}/{member}", {"json": {"role": "ADMIN"}}),
            ("DELETE", f"{path}/{member}", {}),
        ):
            assert_problem(await api.request(method, address, key=tenant.editor, **more), 403, "forbidden")
            assert_problem(
                await api.request(method, address, key=other.admin, **more), 403, "foreign_workspace"
            )
        foreign = f"/workspaces/{other.id}/members/{member}"
        assert_problem(await api.delete(foreign, key=other.admin), 404, "member_not_found")
        assert_problem(await api.delete(f"{path}/{uuid4()}", key=tenant.admin), 404, "member_not_found")
