import asyncio

import pytest
from tests.maintenance.kit import place, refuse
from tests.queue.lines import line_up, workspace

from riven.maintenance.stale import recover_items
from riven.queue.recover import LAST_RECOVERY


async def test_an_item_that_was_claimed_too_long_ago_is_in_line_again(database_url, caplog):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        await here.claim(await here.worker(), settled=False)
        await recover_items(here.database, here.announcer, stale_after=300)
        assert (await here.item(execution_id))["status"] == "CLAIMED"
        await here.execute("UPDATE execution_queue SET claimed_at = now() - interval '301 seconds'")
        await recover_items(here.database, here.announcer, stale_after=300)
        item = await here.item(execution_id)
        assert (item["status"], item["due"], item["holds_slot"]) == ("PENDING", True, True)
        assert [record.reason for record in caplog.records if record.message == "items_recovered"] == [
            "stale"
        ]


async def test_a_run_whose_fifth_worker_dies_has_failed_and_the_others_of_that_worker_go_on(
    database_url, caplog
):
    async with place(database_url) as here:
        at = await workspace(here.database, tier="PRO")
        doomed, other = await line_up(here.database, at, 2)
        await here.claim(await here.worker(), 2)
        await here.execute(
            "UPDATE workflow_executions SET recoveries = $2, suspect = true WHERE id = $1",
            doomed,
            LAST_RECOVERY - 1,
        )
        await here.execute("UPDATE processes SET dead = true")
        await recover_items(here.database, here.announcer, stale_after=300)
        execution = await here.execution(doomed)
        assert (execution["status"], execution["error_type"]) == ("FAILED", "WORKER_LOST")
        assert execution["error_message"].startswith("5 workers died while they drove this run")
        item = await here.item(doomed)
        assert (item["status"], item["owner_id"]) == ("FAILED", None)
        assert item["last_error"].startswith("WORKER_LOST: ")
        assert (await here.execution(other))["status"] == "RUNNING"
        assert (await here.item(other))["status"] == "PENDING"
        assert [record.executionId for record in caplog.records if record.message == "worker_lost"] == [
            str(doomed)
        ]


async def test_a_run_that_was_to_be_canceled_when_its_worker_died_needs_no_other_worker(database_url):
    async with place(database_url) as here:
        canceled, other = await line_up(here.database, await workspace(here.database, limit=2), 2)
        await here.claim(await here.worker(), 2)
        ask = "INSERT INTO signals (execution_id, kind, run, void) VALUES ($1, 'CANCEL', 1, $2 = 'void')"
        await here.execute(ask, canceled, "")
        await here.execute(ask, other, "void")
        await here.execute("UPDATE processes SET dead = true")
        await recover_items(here.database, here.announcer, stale_after=300)
        assert (await here.execution(canceled))["status"] == "CANCELED"
        assert await here.item(canceled) is None
        assert (await here.execution(other))["status"] == "RUNNING"


async def test_one_that_somebody_holds_keeps_no_other_from_coming_back(database_url):
    async with place(database_url) as here:
        executions = await line_up(here.database, await workspace(here.database, limit=3), 3)
        await here.claim(await here.worker(), 3)
        await here.execute("UPDATE processes SET dead = true")
        async with here.database.transaction() as holder:
            await holder.fetch("SELECT FROM workflow_executions WHERE id = $1 FOR UPDATE", executions[0])
            await holder.fetch(
                "SELECT FROM execution_queue WHERE execution_id = $1 FOR UPDATE", executions[1]
            )
            async with asyncio.timeout(10):
                await recover_items(here.database, here.announcer, stale_after=300)
            rows = [(await here.item(each))["status"] for each in executions]
            assert rows == ["PENDING", "DISPATCHED", "PENDING"]
        await recover_items(here.database, here.announcer, stale_after=300)
        assert (await here.item(executions[1]))["status"] == "PENDING"


async def test_its_slot_is_free_then(database_url):
    async with place(database_url) as here:
        at = await workspace(here.database, limit=1)
        first, second = await line_up(here.database, at, 2)
        await here.claim(await here.worker())
        await here.execute(
            "UPDATE workflow_executions SET recoveries = $1 WHERE status = 'RUNNING'", LAST_RECOVERY - 1
        )
        await here.execute("UPDATE processes SET dead = true")
        await recover_items(here.database, here.announcer, stale_after=300)
        await here.announcer.close()
        claimed = await here.claim(await here.worker())
        assert {each.execution_id for each in claimed} < {first, second}
        assert len(claimed) == 1


async def test_one_whose_end_cannot_be_written_keeps_no_other_from_coming_back(database_url, caplog):
    async with place(database_url) as here:
        at = await workspace(here.database, limit=3)
        executions = await line_up(here.database, at, 3)
        await here.claim(await here.worker(), 3)
        poisoned, _, other = executions
        await here.execute(
            "UPDATE workflow_executions SET recoveries = $1 WHERE id <> $2", LAST_RECOVERY - 1, other
        )
        await refuse(here.database, "workflow_executions", f"NEW.id = '{poisoned}' AND NEW.status = 'FAILED'")
        await here.execute("UPDATE processes SET dead = true")
        await recover_items(here.database, here.announcer, stale_after=300)
        statuses = [(await here.execution(each))["status"] for each in executions]
        assert statuses == ["RUNNING", "FAILED", "RUNNING"]
        assert [(await here.item(each))["status"] for each in executions] == ["PENDING", "FAILED", "PENDING"]
        (told,) = [record for record in caplog.records if record.message == "repair_failed"]
        assert told.executionId == str(poisoned)


@pytest.mark.slow
async def test_more_than_one_statement_moves_all_come_back_in_one_round(database_url):
    async with place(database_url) as here:
        at = await workspace(here.database, limit=2_000)
        await line_up(here.database, at, 1_200)
        worker = await here.worker()
        while await here.claim(worker, 500):
            pass
        await here.execute("UPDATE processes SET dead = true")
        await recover_items(here.database, here.announcer, stale_after=300)
        assert await here.value("SELECT count(*) FROM execution_queue WHERE status = 'PENDING'") == 1_200
