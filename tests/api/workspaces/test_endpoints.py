import asyncio
import re
from uuid import uuid4

import pytest
from tests.api.harness import assert_problem, serving

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def test_a_workspace_is_made_with_the_limits_of_its_tier(database_url: str) -> None:
    async with serving(database_url) as api:
        answer = await api.post("/workspaces", {"name": "acme", "tier": "PRO"})
        assert answer.status_code == 201
        body = answer.json()
        assert {name: body[name] for name in ("name", "tier", "limits", "weight", "disabled")} == {
            "name": "acme",
            "tier": "PRO",
            "limits": {"running": 5, "queued": 1_000_000, "maxAttempts": 3},
            "weight": 1,
            "disabled": False,
        }
        assert TIME.fullmatch(body["createdAt"])
        assert body == (await api.get(f"/workspaces/{body['workspaceId']}")).json()
        assert body == (await api.get(answer.headers["location"])).json()


async def test_limits_of_its_own_override_the_tier(database_url: str) -> None:
    async with serving(database_url) as api:
        limits = {"running": 0, "queued": 7, "maxAttempts": 5}
        answer = await api.post("/workspaces", {"name": "a", "tier": "ENTERPRISE", "limits": limits})
        assert answer.json()["limits"] == limits
        some = await api.post("/workspaces", {"name": "a", "tier": "ENTERPRISE", "limits": {"running": 40}})
        assert some.json()["limits"] == {"running": 40, "queued": None, "maxAttempts": 3}


async def test_a_workspace_that_cannot_be_is_refused_and_not_made(
    database_url: str, subtests: pytest.Subtests
) -> None:
    async with serving(database_url) as api:
        for body, path in [
            ({"tier": "PRO"}, "name"),
            ({"name": "a"}, "tier"),
            ({"name": "a", "tier": "GOLD"}, "tier"),
            ({"name": "a", "tier": None}, "tier"),
            ({"name": "a" * 201, "tier": "PRO"}, "name"),
            ({"name": "a", "tier": "PRO", "limits": {"running": -1}}, "limits.running"),
            ({"name": "a", "tier": "PRO", "limits": {"running": 2**40}}, "limits.running"),
            ({"name": "a", "tier": "PRO", "limits": {"queued": 2**62}}, "limits.queued"),
            ({"name": "a", "tier": "PRO", "limits": {"maxAttempts": 0}}, "limits.maxAttempts"),
            ({"name": "a", "tier": "PRO", "limits": {"runing": 1}}, "limits.runing"),
            ({"name": "a", "tier": "PRO", "weight": 0}, "weight"),
            ({"name": "a", "tier": "PRO", "disabled": True}, "disabled"),
        ]:
            with subtests.test(body=body):
                assert_problem(await api.post("/workspaces", body), 422, "invalid_request", path)
                assert (await api.get("/workspaces")).json() == {"items": [], "nextCursor": None}


async def test_a_patch_changes_what_it_names(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace("acme", "PRO")
        path = f"/workspaces/{tenant.id}"
        before = (await api.get(path)).json()
        for patch, changed in [
            ({"name": "b"}, {"name": "b"}),
            ({"limits": {"running": 8}}, {"limits": {"running": 8, "queued": 1_000_000, "maxAttempts": 3}}),
            ({"limits": {"queued": 9}}, {"limits": {"running": 8, "queued": 9, "maxAttempts": 3}}),
            ({"tier": "FREE"}, {"tier": "FREE"}),
            (
                {"limits": {"running": None, "queued": None}},
                {"limits": {"running": 1, "queued": 100_000, "maxAttempts": 3}},
            ),
            ({"weight": 4, "disabled": True}, {"weight": 4, "disabled": True}),
            ({"disabled": False}, {"disabled": False}),
            ({}, {}),
        ]:
            answer = await api.patch(path, patch)
            assert answer.status_code == 200, answer.text
            before = {**before, **changed}
            assert {**answer.json(), "updatedAt": ""} == {**before, "updatedAt": ""}


async def test_a_patch_that_cannot_be_changes_nothing(database_url: str, subtests: pytest.Subtests) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        for patch, path in [
            ({"name": None}, "name"),
            ({"name": ""}, "name"),
            ({"tier": "pro"}, "tier"),
            ({"weight": None}, "weight"),
            ({"disabled": "yes"}, "disabled"),
            ({"limits": None}, "limits"),
            ({"limits": {"running": "8"}}, "limits.running"),
            ({"workspaceId": str(uuid4())}, "workspaceId"),
        ]:
            with subtests.test(patch=patch):
                before = (await api.get(f"/workspaces/{tenant.id}")).json()
                answer = await api.patch(f"/workspaces/{tenant.id}", {"weight": 9, **patch})
                assert_problem(answer, 422, "invalid_request", path)
                assert (await api.get(f"/workspaces/{tenant.id}")).json() == before


async def test_tiers_and_limits_are_the_platforms(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace("acme", "FREE")
        for key in (tenant.viewer, tenant.operator, tenant.editor, tenant.admin):
            patch = {"limits": {"running": 1_000}}
            assert_problem(await api.patch(f"/workspaces/{tenant.id}", patch, key=key), 403, "forbidden")
            made = await api.post("/workspaces", {"name": "mine", "tier": "ENTERPRISE"}, key=key)
            assert_problem(made, 403, "forbidden")
        assert_problem(await api.patch(f"/workspaces/{uuid4()}", {"name": "x"}), 404, "workspace_not_found")


async def test_everybody_lists_what_is_his(database_url: str) -> None:
    async with serving(database_url) as api:
        a, b = await api.workspace("a"), await api.workspace("b")

        async def names(key: str) -> list[str]:
            return [each["name"] for each in (await api.get("/workspaces", key=key)).json()["items"]]

        assert await names(api.platform) == ["b", "a"]
        assert await names(a.viewer) == ["a"]
        assert await names(b.admin) == ["b"]


async def test_a_changed_workspace_is_announced_after_the_commit(database_url: str) -> None:
    """A raised limit must not wait for the poll."""
    async with serving(database_url) as api:
        tenant = await api.workspace("acme", "FREE")
        async with api.database.transaction() as connection:
            await connection.execute("UPDATE workspaces SET idle = false, at_capacity = true")
        woken = asyncio.Event()
        api.state.announcer.listen(woken.set)
        await api.patch(f"/workspaces/{tenant.id}", {"limits": {"running": 2}})
        await asyncio.wait_for(woken.wait(), 5)
        async with api.database.read() as connection:
            assert await connection.fetch_value("SELECT at_capacity FROM workspaces") is False
