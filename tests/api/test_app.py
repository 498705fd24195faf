from tests.api.harness import assert_problem, serving


async def test_a_workspace_is_made_and_read(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace("acme", "PRO")
        answer = await api.get(f"/workspaces/{tenant.id}", key=tenant.viewer)
        assert answer.status_code == 200
        body = answer.json()
        assert body["limits"] == {"running": 5, "queued": 1_000_000, "maxAttempts": 3}
        other = await api.workspace("other")
        assert_problem(await api.get(f"/workspaces/{tenant.id}", key=other.admin), 403, "foreign_workspace")
