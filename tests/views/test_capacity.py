from tests.tenancy.tenants import make_workspace, scope

from riven.db.engine import Database
from riven.db.identity import new_id
from riven.views.capacity import _CAPACITY, Capacity, get_capacity

INSERT = """
INSERT INTO workflow_executions
    (id, workspace_id, workflow_definition_id, workflow_definition_version_id, workflow_name, version, principal,
     status, finished_at)
SELECT id, $2, $2, $2, 'w', 1, 'key:1', $3, CASE WHEN $3 = 'COMPLETED' THEN now() END
FROM unnest($1::uuid[]) AS id
"""


async def test_capacity_is_found_by_partial_indexes_however_much_has_finished(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    async with database.transaction() as connection:
        for status, count in (
            ("COMPLETED", 20_000),
            ("RUNNING", 3),
            ("PENDING", 2_000),
            ("COMPLETED", 2_000),
        ):
            await connection.execute(INSERT, [new_id() for _ in range(count)], workspace, status)
    async with database.transaction() as connection:
        await connection.execute("ANALYZE workflow_executions")
        found = await get_capacity(connection, scope(workspace))
        oldest = await connection.fetch_value(
            "SELECT created_at FROM workflow_executions WHERE status = 'PENDING' ORDER BY id LIMIT 1"
        )
        plan = await connection.fetch(f"EXPLAIN (ANALYZE, COSTS OFF) {_CAPACITY}", workspace)
    await database.close()
    assert found == Capacity(5, 3, 2_000, oldest, 1_000_000)
    text = "\n".join(row[0] for row in plan)
    assert text.count("workflow_executions_pending_idx") == 2
    assert text.count("workflow_executions_running_idx") == 1
    assert "Seq Scan on workflow_executions" not in text
    assert "workflow_executions_pkey" not in text
    assert "Sort" not in text
