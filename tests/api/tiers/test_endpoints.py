import pytest
from tests.api.harness import assert_problem, serving


async def test_tiers_are_listed_with_their_limits(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        answer = await api.get("/workspace-tiers", key=tenant.viewer)
        assert answer.json() == {
            "items": [
                {"name": "FREE", "limits": {"running": 1, "queued": 100_000}},
                {"name": "PRO", "limits": {"running": 5, "queued": 1_000_000}},
                {"name": "ENTERPRISE", "limits": {"running": 20, "queued": None}},
            ],
            "nextCursor": None,
        }


async def test_a_changed_tier_holds_at_once_where_no_limit_of_its_own_is_set(database_url: str) -> None:
    async with serving(database_url) as api:
        plain = await api.workspace("a", "PRO")
        own = await api.workspace("b", "PRO", {"running": 3})
        answer = await api.put("/workspace-tiers/PRO", {"running": 7, "queued": 70})
        assert answer.json() == {"name": "PRO", "limits": {"running": 7, "queued": 70}}
        assert (await api.get(f"/workspaces/{plain.id}")).json()["limits"]["running"] == 7
        assert (await api.get(f"/workspaces/{own.id}")).json()["limits"] == {
            "running": 3,
            "queued": 70,
            "maxAttempts": 3,
        }
        made = await api.put("/workspace-tiers/TEAM_2", {"running": 9})
        assert made.json() == {"name": "TEAM_2", "limits": {"running": 9, "queued": None}}
        assert (await api.post("/workspaces", {"name": "c", "tier": "TEAM_2"})).status_code == 201


async def test_a_name_that_is_none_is_not_there(database_url: str, subtests: pytest.Subtests) -> None:
    async with serving(database_url) as api:
        for name in ["pro", "1A", "A-B", "A" * 64]:
            with subtests.test(name=name):
                assert_problem(await api.put(f"/workspace-tiers/{name}", {"running": 1}), 404, "not_found")


async def test_tiers_are_changed_by_the_platform_alone(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        answer = await api.put("/workspace-tiers/FREE", {"running": 99}, key=tenant.admin)
        assert_problem(answer, 403, "forbidden")
        wrong = await api.put("/workspace-tiers/FREE", {"running": None, "queue": 1})
        assert_problem(wrong, 422, "invalid_request", "running", "queue")
