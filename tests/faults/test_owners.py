"""Owners that are deaf, cut off or overtaken: who drives is whoever holds the token, and the others change nothing."""

import asyncio
import signal

from tests.engines.embedded.workers import Installation, Worker, eventually, installation, worker
from tests.intake.steering import Steering
from tests.main.running import host

from riven.core.messages import ExecutionStatus
from riven.db.identity import new_id
from riven.maintenance.leases import Judge
from riven.nodes.function import function
from riven.nodes.functions import Functions
from riven.queue.recover import hand_back
from riven.queue.wake import Announcer
from riven.views.invariants import check_invariants

TWO = """
name: two
nodes:
  a: {type: python, with: {function: test.call}}
  b: {type: set, needs: [a], with: {value: "{{ steps.a.output }}"}}
output: "{{ steps.b.output }}"
"""
SLOW = """
CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(1); RETURN NEW; END $$;
CREATE TRIGGER slow BEFORE UPDATE ON workflow_executions FOR EACH ROW WHEN (NEW.status = 'RUNNING') EXECUTE FUNCTION slow();
"""
SLEEPS = (
    "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
)
QUICK = "{name: quick, nodes: {a: {type: python, with: {function: riven.echo, args: {n: 1}}}}}"


class Calls:
    """A function whose first call lasts until it is let go; the others return at once. Each returns its number."""

    def __init__(self) -> None:
        self.begun = 0
        self.canceled = 0
        self.first = asyncio.Event()

        @function(name="test.call")
        async def call() -> int:
            self.begun += 1
            number = self.begun
            try:
                if number == 1:
                    await self.first.wait()
            except asyncio.CancelledError:
                self.canceled += 1
                raise
            return number

        self.functions = Functions(call)


async def give_up(here: Installation, owner: Worker) -> None:
    """What is done with the runs of a process that is taken for dead."""
    async with here.database.transaction() as connection:
        await hand_back(connection, owner.process.id)


async def as_they_are(here: Installation):
    tables = ("workflow_executions", "workflow_execution_nodes", "execution_queue", "outbox")
    return [await here.rows(f"SELECT * FROM {table} ORDER BY 1, 2") for table in tables]


async def all_is_well(here: Installation) -> None:
    async with here.database.read() as connection:
        for each in await check_invariants(connection, 15):
            assert each.violations == 0, each.name


async def test_a_worker_whose_loop_is_stuck_is_dead_whatever_else_it_does(database_url, caplog):
    calls, ttl = Calls(), 0.9
    async with installation(database_url, functions=calls.functions) as here:
        stuck = Worker(here, lease_ttl=ttl)
        await stuck.loop.registered.wait()
        start, gate, reached = stuck.engine.start, asyncio.Event(), asyncio.Event()

        async def never(request):
            reached.set()
            await gate.wait()
            return await start(request)

        stuck.engine.start = never
        driven = await here.start(QUICK)
        await reached.wait()
        announcer = Announcer(here.database, new_id())
        judge = Judge(here.database, announcer, ttl)
        async with asyncio.timeout(20):
            while "process_dead" not in caplog.messages:
                await judge.perform()
                await asyncio.sleep(ttl / 4)
        assert (await here.row("SELECT status FROM execution_queue"))["status"] == "PENDING"
        async with worker(here):
            row = await here.until(driven, "COMPLETED", "FAILED")
            assert (row["status"], row["token"]) == ("COMPLETED", 2)
            before = await as_they_are(here)
            stuck.engine.start = start
            gate.set()
            await eventually(lambda: "process_judged_dead" in caplog.messages)
            await eventually(lambda: not stuck.engine.running)
            assert await as_they_are(here) == before, "its start came too late"
        again = await here.start(QUICK)
        await here.until(again, "COMPLETED")
        await announcer.close()
        await stuck.stop()
        await all_is_well(here)


async def test_a_worker_that_was_cut_off_takes_its_own_run_up_again_and_drops_what_it_had(database_url):
    calls = Calls()
    async with installation(database_url, functions=calls.functions) as here, worker(here) as owner:
        execution_id = await here.start(TWO)
        await eventually(lambda: calls.begun)
        await give_up(here, owner)
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["token"], row["output"]) == ("COMPLETED", 2, 2)
        assert (calls.begun, calls.canceled) == (2, 1)
        await all_is_well(here)


async def test_what_a_frozen_owner_still_does_reaches_no_later_run(database_url):
    """Its run was ended and retried meanwhile; the new run is over when it comes back."""
    calls = Calls()
    async with installation(database_url, functions=calls.functions) as here:
        steering, frozen = Steering(here), Worker(here)
        execution_id = await here.start(TWO)
        await here.until_node(execution_id, "a")
        frozen.loop.stop()
        await frozen.task
        await give_up(here, frozen)
        assert (await steering.cancel(execution_id)).status is ExecutionStatus.CANCELED
        await steering.retry(execution_id)
        async with worker(here):
            row = await here.until(execution_id, "COMPLETED", "FAILED")
            assert (row["status"], row["run"], row["output"]) == ("COMPLETED", 2, 2)
            before = await as_they_are(here)
            calls.first.set()
            await eventually(lambda: not frozen.engine.running)
            assert await as_they_are(here) == before
            await all_is_well(here)
        await frozen.stop()


async def test_what_a_frozen_owner_still_does_does_not_disturb_a_later_run_under_way(database_url):
    calls = Calls()
    text = TWO.replace("  b:", "  go: {type: signal, needs: [a], with: {name: go}}\n  b:").replace(
        "b: {type: set, needs: [a]", "b: {type: set, needs: [go]"
    )
    async with installation(database_url, functions=calls.functions) as here:
        steering, frozen = Steering(here), Worker(here)
        execution_id = await here.start(text)
        await here.until_node(execution_id, "a")
        frozen.loop.stop()
        await frozen.task
        await give_up(here, frozen)
        await steering.cancel(execution_id)
        await steering.retry(execution_id)
        async with worker(here):
            await here.until(execution_id, "WAITING")
            before = await as_they_are(here)
            calls.first.set()  # and now the old one comes to its signal, too
            await eventually(lambda: not frozen.engine.running)
            assert await as_they_are(here) == before
            await steering.signal(execution_id, "go")
            row = await here.until(execution_id, "COMPLETED", "FAILED")
            assert (row["status"], row["run"], row["output"]) == ("COMPLETED", 2, 2)
            await all_is_well(here)
        await frozen.stop()


async def test_a_worker_that_is_frozen_inside_a_transaction_soon_holds_no_lock_any_more(
    database_url, tmp_path
):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        frozen = await on.worker()
        async with here.database.transaction() as connection:
            await connection.execute(SLOW)
        execution_id = await here.start(QUICK)
        await here.until_true(SLEEPS)
        frozen.send(signal.SIGSTOP)
        async with asyncio.timeout(15), here.database.transaction() as connection:
            await connection.execute(
                "DROP TRIGGER slow ON workflow_executions"
            )  # it waits for the claim to be undone
        await on.worker()
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["token"]) == ("COMPLETED", 1)
        frozen.send(signal.SIGCONT)
        await frozen.logs("dispatch_turn_failed")
        await all_is_well(here)
