from tests.api.harness import assert_problem, serving

from riven.db.identity import new_id

INSERT = """
INSERT INTO workflow_executions
    (id, workspace_id, workflow_definition_id, workflow_definition_version_id, workflow_name, version, principal,
     status, finished_at, created_at)
VALUES ($1, $2, $1, $1, 'w', 1, 'key:1', $3,
        CASE WHEN $3 IN ('COMPLETED', 'FAILED', 'CANCELED') THEN now() END, $4::timestamptz)
"""


async def test_capacity_counts_what_runs_and_what_waits(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant, other = await api.workspace("a", "PRO"), await api.workspace("b", "PRO")
        empty = (await api.get(f"/workspaces/{tenant.id}/capacity", key=tenant.viewer)).json()
        assert empty == {
            "limit": 5,
            "inUse": 0,
            "waiting": 0,
            "oldestWaitingSince": None,
            "queuedLimit": 1_000_000,
        }
        async with api.database.transaction() as connection:
            now = await connection.fetch_value("SELECT timestamptz '2026-11-19 08:30:00.125+00'")
            for status in (
                "RUNNING",
                "RUNNING",
                "PENDING",
                "PENDING",
                "WAITING",
                "PAUSED",
                "COMPLETED",
                "FAILED",
            ):
                await connection.execute(INSERT, new_id(), tenant.id, status, now)
            await connection.execute(INSERT, new_id(), other.id, "RUNNING", now)
        full = (await api.get(f"/workspaces/{tenant.id}/capacity", key=tenant.viewer)).json()
        assert (full["inUse"], full["waiting"]) == (2, 2)
        assert full["oldestWaitingSince"] == "2026-11-19T08:30:00.125Z"
        await api.patch(f"/workspaces/{tenant.id}", {"limits": {"running": 1, "queued": 3}})
        lowered = (await api.get(f"/workspaces/{tenant.id}/capacity")).json()
        assert (lowered["limit"], lowered["inUse"], lowered["queuedLimit"]) == (1, 2, 3)


async def test_strangers_see_no_capacity(database_url: str) -> None:
    async with serving(database_url) as api:
        here, there = await api.workspace("a"), await api.workspace("b")
        answer = await api.get(f"/workspaces/{here.id}/capacity", key=there.admin)
        assert_problem(answer, 403, "foreign_workspace")
