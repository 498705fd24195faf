from tests.api.harness import assert_problem, serving

from riven.views.invariants import INVARIANTS


async def test_the_platform_is_told_of_every_invariant(database_url: str) -> None:
    async with serving(database_url) as api:
        answer = await api.get("/admin/invariants")
        assert answer.status_code == 200
        assert answer.json() == {
            "invariants": [
                {"name": each.name, "violations": 0, "description": each.description} for each in INVARIANTS
            ]
        }


async def test_nobody_else_is(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        assert_problem(await api.get("/admin/invariants", key=tenant.admin), 403, "forbidden")
        assert_problem(await api.get("/admin/invariants", key=None), 401, "unauthenticated")
