"""What is cleared away when its time is up, and what stays."""

from tests.maintenance.kit import place
from tests.queue.lines import line_up, workspace

from riven.db.identity import new_id
from riven.maintenance.prune import in_batches, prune

FINISH = """
UPDATE workflow_executions SET status = $2, finished_at = now() - make_interval(days => $3) WHERE id = $1
"""
BELONGINGS = """
WITH n AS (INSERT INTO workflow_execution_nodes (execution_id, path, attempt, run, type, status)
           VALUES ($1, 'a', 1, 1, 'noop', 'COMPLETED')),
     s AS (INSERT INTO workflow_execution_scopes (execution_id, path, run) VALUES ($1, 'each[0]', 1)),
     g AS (INSERT INTO signals (execution_id, kind, name, run) VALUES ($1, 'SIGNAL', 'x', 1))
INSERT INTO blobs (execution_id, data) VALUES ($1, 'x')
"""
TABLES = (
    "workflow_executions", "workflow_execution_nodes", "workflow_execution_scopes", "signals", "blobs", "execution_queue"
)  # fmt: skip


async def counts(here) -> dict[str, int]:
    return {table: await here.value(f"SELECT count(*) FROM {table}") for table in TABLES}


async def finished(here, status="COMPLETED", days=10):
    (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
    await here.execute(FINISH, execution_id, status, days)
    await here.execute(BELONGINGS, execution_id)
    if status == "FAILED":
        await here.execute(
            "UPDATE execution_queue SET status = 'FAILED', failed_at = now() WHERE execution_id = $1",
            execution_id,
        )
    else:
        await here.execute("DELETE FROM execution_queue WHERE execution_id = $1", execution_id)
    return execution_id


async def test_by_default_executions_are_kept_for_ever(database_url):
    async with place(database_url) as here:
        await finished(here, days=5_000)
        await prune(here.database, history_retention=0)
        assert (await counts(here))["workflow_executions"] == 1


async def test_after_the_retention_an_execution_goes_with_everything_that_is_its_own(database_url, caplog):
    async with place(database_url) as here:
        caplog.set_level("INFO", "riven.maintenance")
        await finished(here, days=10)
        await finished(here, status="FAILED", days=10)
        kept = await finished(here, days=1)
        unfinished = (await line_up(here.database, await workspace(here.database), 1))[0]
        await here.execute("UPDATE workflow_executions SET created_at = now() - interval '99 days'")
        await prune(here.database, history_retention=7 * 86_400)
        assert await counts(here) == {**dict.fromkeys(TABLES, 1), "workflow_executions": 2}
        assert {kept, unfinished} == {
            row["id"] for row in await rows(here, "SELECT id FROM workflow_executions")
        }
        assert [(r.kind, r.count) for r in caplog.records if r.message == "rows_pruned"] == [
            ("executions", 2)
        ]


async def rows(here, statement):
    async with here.database.read() as connection:
        return await connection.fetch(statement)


async def test_dead_letters_leave_after_a_week_and_their_executions_stay(database_url):
    async with place(database_url) as here:
        old, young = await finished(here, status="FAILED"), await finished(here, status="FAILED")
        await here.execute(
            "UPDATE execution_queue SET failed_at = now() - interval '8 days' WHERE execution_id = $1", old
        )
        await prune(here.database, history_retention=0)
        assert await here.item(old) is None
        assert await here.item(young) is not None
        assert await here.value("SELECT count(*) FROM workflow_executions") == 2


async def test_idempotency_keys_are_kept_for_a_day_at_least(database_url):
    async with place(database_url) as here:
        at = await workspace(here.database)
        for key, hours in (("old", 26), ("young", 24)):
            await here.execute(
                "INSERT INTO idempotency_keys (workspace_id, key, request_hash, response, created_at)"
                " VALUES ($1, $2, '', '{}', now() - make_interval(hours => $3))",
                at, key, hours,
            )  # fmt: skip
        await prune(here.database, history_retention=0)
        assert [row["key"] for row in await rows(here, "SELECT key FROM idempotency_keys")] == ["young"]


async def test_rows_of_dead_processes_go_once_they_hold_nothing(database_url):
    async with place(database_url) as here:
        living, dead, holding = await here.worker(), await here.worker(), await here.worker()
        await line_up(here.database, await workspace(here.database), 1)
        await here.claim(holding)
        for each in (dead, holding):
            await here.silence(each, 2 * 86_400)
            await here.execute("UPDATE processes SET dead = true WHERE id = $1", each.id)
        await prune(here.database, history_retention=0)
        assert {row["id"] for row in await rows(here, "SELECT id FROM processes")} == {living.id, holding.id}


async def test_as_many_batches_are_removed_as_it_takes(database_url):
    async with place(database_url) as here:
        left, asked = 25, []

        async def remove(_connection, most: int) -> int:
            nonlocal left
            asked.append(most)
            count = min(most, left)
            left -= count
            return count

        await in_batches(here.database, "things", remove, batch=10)
        assert (left, asked) == (0, [10, 10, 10])


async def test_locks_of_duties_that_nobody_has_any_more_go(database_url):
    async with place(database_url) as here:
        for name, days in (("old", 3), ("young", 0)):
            await here.execute(
                "INSERT INTO locks (name, owner_id, until) VALUES ($1, $2, now() - make_interval(days => $3))",
                name, new_id(), days,
            )  # fmt: skip
        await prune(here.database, history_retention=0)
        assert [row["name"] for row in await rows(here, "SELECT name FROM locks")] == ["young"]
