import pytest
from tests.maintenance.kit import place, refuse
from tests.queue.lines import line_up, workspace

from riven.db.engine import Database
from riven.maintenance.deadlines import end_overdue

PAST = "UPDATE workflow_executions SET deadline_at = now() - interval '1 second' WHERE id = $1"


@pytest.mark.parametrize("status", ["PENDING", "WAITING", "PAUSED"])
async def test_a_run_at_rest_whose_time_is_up_has_failed_without_taking_a_slot(database_url, status, caplog):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        await here.execute("UPDATE workflow_executions SET status = $2 WHERE id = $1", execution_id, status)
        await end_overdue(here.database, here.announcer)
        assert (await here.execution(execution_id))["status"] == status
        await here.execute(PAST, execution_id)
        await end_overdue(here.database, here.announcer)
        execution = await here.execution(execution_id)
        assert (execution["status"], execution["error_type"], execution["token"]) == ("FAILED", "TIMEOUT", 0)
        assert (await here.item(execution_id))["status"] == "FAILED"
        assert "deadline_passed" in [record.message for record in caplog.records]


async def test_a_run_in_line_again_after_its_owner_died_ends_too(database_url):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        await here.claim(await here.worker())
        await here.execute(PAST, execution_id)
        await end_overdue(here.database, here.announcer)
        assert (await here.execution(execution_id))["status"] == "RUNNING"  # its worker has a timer for it
        await here.execute(
            "UPDATE execution_queue SET status = 'PENDING', owner_id = NULL, holds_slot = true"
        )
        await end_overdue(here.database, here.announcer)
        assert (await here.execution(execution_id))["status"] == "FAILED"


async def test_its_place_is_announced(database_url):
    async with place(database_url) as here:
        at = await workspace(here.database)
        (execution_id,) = await line_up(here.database, at, 1)
        await here.execute("UPDATE workspaces SET at_capacity = true")
        await here.execute(PAST, execution_id)
        await end_overdue(here.database, here.announcer)
        await here.announcer.close()
        assert not await here.value("SELECT at_capacity FROM workspaces")


async def test_one_that_cannot_be_ended_stands_in_nobody_s_way(database_url, caplog):
    async with place(database_url) as here:
        poisoned, other = await line_up(here.database, await workspace(here.database), 2)
        await refuse(here.database, "workflow_executions", f"NEW.id = '{poisoned}' AND NEW.status = 'FAILED'")
        await here.execute(PAST, poisoned)
        await here.execute(PAST, other)
        await here.execute("UPDATE workflow_executions SET deadline_at = 'epoch' WHERE id = $1", poisoned)
        await end_overdue(here.database, here.announcer)
        assert (await here.execution(poisoned))["status"] == "PENDING"
        assert (await here.execution(other))["status"] == "FAILED"
        (told,) = [record for record in caplog.records if record.message == "repair_failed"]
        assert (told.executionId, told.levelname) == (str(poisoned), "ERROR")


async def test_one_that_somebody_holds_stands_in_nobody_s_way(database_url, caplog):
    async with place(database_url) as here:
        held, other = await line_up(here.database, await workspace(here.database), 2)
        await here.execute("UPDATE workflow_executions SET deadline_at = 'epoch'")
        impatient = Database(database_url, statement_timeout=0.3)
        async with here.database.transaction() as holder:
            await holder.fetch("SELECT FROM workflow_executions WHERE id = $1 FOR UPDATE", held)
            await end_overdue(impatient, here.announcer)
            assert (await here.execution(other))["status"] == "FAILED"
        assert "repair_failed" in caplog.messages
        await end_overdue(impatient, here.announcer)
        assert (await here.execution(held))["status"] == "FAILED"
        await impatient.close()
