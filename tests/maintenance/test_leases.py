"""Who is judged dead, and who is not because the judge may have been blind itself."""

import asyncio

from tests.maintenance.kit import place
from tests.queue.lines import line_up, workspace

from riven.maintenance.leases import Judge

TTL = 0.6


async def watch(judge: Judge, seconds: float = TTL + 0.3):
    """Look each third of the lease, as maintenance does; answers who was found dead meanwhile."""
    found = []
    for _ in range(round(seconds / (TTL / 3)) + 1):
        found += await judge.judge()
        await asyncio.sleep(TTL / 3)
    return found


async def test_a_silent_process_is_judged_once_the_judge_has_looked_for_a_whole_lease(database_url):
    async with place(database_url) as here:
        worker = await here.worker()
        await here.silence(worker)
        judge = Judge(here.database, here.announcer, TTL)
        assert await judge.judge() == []
        assert [each.id for each in await watch(judge)] == [worker.id]
        assert await watch(judge, TTL) == []


async def test_a_process_that_gives_its_sign_is_not_judged(database_url):
    async with place(database_url) as here:
        await here.worker()
        judge = Judge(here.database, here.announcer, 30.0)
        judge._since -= 60
        judge._last = await here.value("SELECT extract(epoch FROM clock_timestamp())::float8")
        judge._server = await here.value("SELECT extract(epoch FROM pg_postmaster_start_time())::float8")
        assert await judge.judge() == []


async def test_a_judge_that_did_not_look_for_a_while_judges_nobody_for_a_lease(database_url):
    """The machine stood still, or the database was away: the others could give no sign either."""
    async with place(database_url) as here:
        judge = Judge(here.database, here.announcer, TTL)
        await watch(judge)  # it is ready to judge now
        worker = await here.worker()
        await asyncio.sleep(TTL)
        await here.silence(worker)
        assert await judge.judge() == []
        assert [each.id for each in await watch(judge)] == [worker.id]


async def test_a_server_that_was_started_again_begins_a_new_lease(database_url):
    async with place(database_url) as here:
        judge = Judge(here.database, here.announcer, TTL)
        await watch(judge)
        worker = await here.worker()
        await here.silence(worker)
        judge._server -= 1  # as it was before the restart
        assert await judge.judge() == []


async def test_what_the_dead_held_is_in_line_at_once(database_url, caplog):
    async with place(database_url) as here:
        at = await workspace(here.database, tier="PRO")
        await line_up(here.database, at, 2)
        worker = await here.worker()
        await here.claim(worker, 2)
        await here.silence(worker)
        judge = Judge(here.database, here.announcer, TTL)
        for _ in range(6):
            await judge.perform()
            await asyncio.sleep(TTL / 3)
        assert await here.value("SELECT count(*) FROM execution_queue WHERE status = 'PENDING' AND due") == 2
        assert await here.value("SELECT count(*) FROM workflow_executions WHERE status = 'RUNNING'") == 2
        (dead,) = [record for record in caplog.records if record.message == "process_dead"]
        assert (dead.processId, dead.role, dead.label) == (str(worker.id), "worker", "w")
        assert [record.reason for record in caplog.records if record.message == "items_recovered"] == [
            "owner_dead"
        ]


async def test_what_was_claimed_long_ago_by_a_living_process_is_left_to_the_sweep(database_url):
    async with place(database_url) as here:
        at = await workspace(here.database)
        await line_up(here.database, at, 1)
        await here.claim(await here.worker(), settled=False)
        await here.execute("UPDATE execution_queue SET claimed_at = now() - interval '1 day'")
        await Judge(here.database, here.announcer, TTL).perform()
        assert await here.value("SELECT status FROM execution_queue") == "CLAIMED"
