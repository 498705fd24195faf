from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from tests.api.harness import assert_problem, serving

ROLES = ("VIEWER", "OPERATOR", "EDITOR", "ADMIN")


async def test_a_key_is_shown_once(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        path = f"/workspaces/{tenant.id}/keys"
        made = await api.post(path, {"name": "ci", "role": "OPERATOR"}, key=tenant.admin)
        assert made.status_code == 201
        body = made.json()
        assert {"keyId", "key", "prefix", "role", "expiresAt"} <= set(body)
        assert body["key"].startswith(body["prefix"])
        assert (body["name"], body["role"], body["expiresAt"]) == ("ci", "OPERATOR", None)
        assert (await api.get(f"/workspaces/{tenant.id}", key=body["key"])).status_code == 200
        listed = await api.get(path, key=tenant.admin)
        assert body["key"] not in listed.text
        first = listed.json()["items"][0]
        assert (first["keyId"], first["prefix"], first["name"]) == (body["keyId"], body["prefix"], "ci")
        assert "key" not in first
        trail = await api.get(f"/workspaces/{tenant.id}/activity", key=tenant.admin)
        assert body["key"] not in trail.text


async def test_a_revoked_key_is_refused_from_the_next_request_on(
    database_url: str, subtests: pytest.Subtests
) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        for path in ["/workspaces/{workspace}/keys/{key}", "/keys/{key}"]:
            with subtests.test(path=path):
                made = (
                    await api.post(
                        f"/workspaces/{tenant.id}/keys", {"name": "k", "role": "ADMIN"}, key=tenant.admin
                    )
                ).json()
                assert (await api.get("/workspaces", key=made["key"])).status_code == 200
                address = path.format(workspace=tenant.id, key=made["keyId"])
                gone = await api.delete(address, key=tenant.admin)
                assert (gone.status_code, gone.content) == (204, b"")
                problem = assert_problem(
                    await api.get("/workspaces", key=made["key"]), 401, "unauthenticated"
                )
                assert "revoked" in problem["detail"]
                assert (await api.delete(address, key=tenant.admin)).status_code == 204
                listed = (await api.get(f"/workspaces/{tenant.id}/keys", key=tenant.admin)).json()["items"]
                assert made["keyId"] not in [each["keyId"] for each in listed]


async def test_a_key_may_revoke_itself(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        made = (await api.post(f"/workspaces/{tenant.id}/keys", {"name": "k", "role": "ADMIN"})).json()
        assert (await api.delete(f"/keys/{made['keyId']}", key=made["key"])).status_code == 204
        assert_problem(await api.delete(f"/keys/{made['keyId']}", key=made["key"]), 401, "unauthenticated")


async def test_an_expired_key_is_refused(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        async with api.database.read() as connection:
            now: datetime = await connection.fetch_value("SELECT now()")
        path, later = f"/workspaces/{tenant.id}/keys", (now + timedelta(hours=1)).isoformat()
        made = await api.post(path, {"name": "k", "role": "VIEWER", "expiresAt": later})
        assert made.status_code == 201
        assert made.json()["expiresAt"].endswith("Z")
        async with api.database.transaction() as connection:
            await connection.execute(
                "UPDATE api_keys SET expires_at = now() - interval '1 second' WHERE name = 'k'"
            )
        problem = assert_problem(await api.get("/workspaces", key=made.json()["key"]), 401, "unauthenticated")
        assert "expired" in problem["detail"]
        past = (now - timedelta(seconds=1)).isoformat()
        late = await api.post(path, {"name": "k", "role": "VIEWER", "expiresAt": past})
        assert late.status_code == 201
        assert_problem(await api.get("/workspaces", key=late.json()["key"]), 401, "unauthenticated")


async def test_a_key_that_cannot_be_is_refused(database_url: str, subtests: pytest.Subtests) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        for body, paths in [
            ({}, ["name", "role"]),
            ({"name": "k", "role": "admin"}, ["role"]),
            ({"name": "k", "role": "PLATFORM"}, ["role"]),
            ({"name": "k", "role": "ADMIN", "expires": None}, ["expires"]),
            ({"name": "k", "role": "ADMIN", "expiresAt": "2030-01-01"}, ["expiresAt"]),
        ]:
            with subtests.test(body=body):
                answer = await api.post(f"/workspaces/{tenant.id}/keys", body, key=tenant.admin)
                assert_problem(answer, 422, "invalid_request", *paths)


async def test_keys_are_for_admins_of_the_workspace(database_url: str) -> None:
    async with serving(database_url) as api:
        here, there = await api.workspace("a"), await api.workspace("b")
        key_id = (await api.get(f"/workspaces/{here.id}/keys?limit=1")).json()["items"][0]["keyId"]
        asked = [
            ("POST", f"/workspaces/{here.id}/keys", {"json": {"name": "k", "role": "VIEWER"}}),
            ("GET", f"/workspaces/{here.id}/keys", {}),
            ("DELETE", f"/workspaces/{here.id}/keys/{key_id}", {}),
            ("DELETE", f"/keys/{key_id}", {}),
        ]
        for method, path, more in asked:
            for role in ("viewer", "operator", "editor"):
                answer = await api.request(method, path, key=here.key(role), **more)
                assert_problem(answer, 403, "forbidden")
            answer = await api.request(method, path, key=there.admin, **more)
            assert_problem(answer, 403, "foreign_workspace")
        # through one's own workspace, too, a foreign key is out of reach
        answer = await api.delete(f"/workspaces/{there.id}/keys/{key_id}", key=there.admin)
        assert answer.status_code in (403, 404)
        assert_problem(await api.delete(f"/workspaces/{there.id}/keys/{key_id}"), 404, "key_not_found")
        listed = (await api.get(f"/workspaces/{here.id}/keys", key=here.admin)).json()["items"]
        assert len(listed) == 4


async def test_platform_keys_are_made_listed_and_revoked_by_the_platform(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        for method, path in (("POST", "/keys"), ("GET", "/keys")):
            answer = await api.request(
                method, path, key=tenant.admin, json={"name": "p"} if method == "POST" else None
            )
            assert_problem(answer, 403, "forbidden")
        made = (await api.post("/keys", {"name": "second"})).json()
        assert made["role"] == "PLATFORM"
        assert (await api.get("/keys", key=made["key"])).json()["items"][0]["name"] == "second"
        assert_problem(await api.delete(f"/keys/{made['keyId']}", key=tenant.admin), 403, "forbidden")
        assert (await api.delete(f"/keys/{made['keyId']}")).status_code == 204
        assert_problem(await api.get("/keys", key=made["key"]), 401, "unauthenticated")
        assert_problem(await api.delete(f"/keys/{uuid4()}"), 404, "key_not_found")


async def test_the_last_use_is_shown(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        await api.get("/workspaces", key=tenant.viewer)
        await api.state.authenticator.settled()
        listed = (await api.get(f"/workspaces/{tenant.id}/keys")).json()["items"]
        used = {each["role"]: each["lastUsedAt"] for each in listed}
        assert used["VIEWER"] is not None
        assert used["EDITOR"] is None
