"""The plans of the statements that every start runs: indexes alone, whatever there is besides."""

from tests.catalog.kit import Shop, opened

from riven.catalog.repository import _GET, _LIST, _NAMED
from riven.catalog.resolve import _RESOLVE
from riven.intake.idempotency import _FIND
from riven.intake.quotas import _COUNT
from riven.tenancy.activity import LAST_ID

SEED = (
    "INSERT INTO workspaces (id, name, tier) SELECT gen_random_uuid(), 'w', 'FREE' FROM generate_series(1, 5000)",
    """
    INSERT INTO workflow_definitions (workspace_id, name, source, etag, latest_version, status, archived_at)
    SELECT id, 'w' || n, '', '', 1, CASE WHEN n > 5 THEN 'ARCHIVED' ELSE 'PUBLISHED' END, CASE WHEN n > 5 THEN now() END
    FROM workspaces, generate_series(1, 10) n
    """,
    """
    INSERT INTO workflow_definition_versions (workflow_definition_id, workspace_id, version, source, document, created_by)
    SELECT id, workspace_id, n, '', '{}', 'x'
    FROM (SELECT * FROM workflow_definitions LIMIT 20) d, generate_series(1, 500) n
    """,
    """
    INSERT INTO workflow_executions (workspace_id, workflow_definition_id, workflow_definition_version_id, workflow_name,
                                     version, principal, status, finished_at)
    SELECT w.id, w.id, w.id, 'w', 1, 'x', CASE WHEN n > 2 THEN 'COMPLETED' ELSE 'PENDING' END,
           CASE WHEN n > 2 THEN now() END
    FROM workspaces w, generate_series(1, 8) n
    """,
    """
    INSERT INTO idempotency_keys (workspace_id, key, request_hash, response)
    SELECT id, n::text, '', '[]' FROM workspaces, generate_series(1, 8) n
    """,
    "ANALYZE",
)


async def seeded(shop: Shop) -> list:
    for statement in SEED:
        await shop.execute(statement)
    return [row["id"] for row in await shop.rows("SELECT id FROM workspaces LIMIT 20")]


async def plan(shop: Shop, statement: str, *values: object) -> str:
    async with shop.database.transaction() as connection:
        await connection.execute("SET LOCAL plan_cache_mode = force_generic_plan")
        rows = await connection.fetch(f"EXPLAIN (ANALYZE, COSTS OFF) {statement}", *values)
    text = "\n".join(row[0] for row in rows)
    assert "Seq Scan" not in text, text
    return text


async def test_starts_are_resolved_by_indexes(database_url: str) -> None:
    async with opened(database_url) as shop:
        workspaces = await seeded(shop)
        many = len(workspaces)
        text = await plan(shop, _RESOLVE, workspaces, [None] * many, ["w1"] * many, [None] * many)
        assert "Rows Removed" not in text, text
        assert "Join Filter" not in text, text


async def test_keys_and_executions_in_line_are_found_by_indexes(database_url: str) -> None:
    async with opened(database_url) as shop:
        workspaces = await seeded(shop)
        await plan(shop, _FIND, workspaces, ["7"] * len(workspaces))
        text = await plan(shop, _COUNT, workspaces, 100)
        assert "workflow_executions_pending_idx" in text, text


async def test_workflows_are_found_and_listed_by_indexes(database_url: str) -> None:
    async with opened(database_url) as shop:
        workspace, *_ = await seeded(shop)
        await plan(shop, _GET, workspace, "w1")
        await plan(shop, _NAMED, workspace, "w7")
        assert "Sort" not in await plan(shop, _LIST, workspace, LAST_ID, 50)
