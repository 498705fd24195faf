"""Worker and maintenance as real processes: they end in order, die, freeze, and nothing is lost, doubled or held."""

import asyncio
import signal

import pytest
from tests.engines.embedded.workers import Installation, installation
from tests.main.running import host

from riven.views.invariants import check_invariants

pytestmark = pytest.mark.slow


async def settled(here: Installation) -> None:
    """No invariant is violated, and nobody holds a slot."""
    async with here.database.read() as connection:
        for each in await check_invariants(connection, 1.5):
            assert each.violations == 0, each.name
    assert (await here.row("SELECT count(*) FROM workflow_executions WHERE status = 'RUNNING'"))[0] == 0


TWO = """
name: two
nodes:
  a: {type: python, with: {function: test.deed, args: {name: a}}}
  b: {type: python, needs: [a], with: {function: test.deed, args: {name: b, seconds: "{{ input.seconds }}"}}}
output: "{{ steps.b.output }}"
"""
HELD = """
name: held
nodes:
  a: {type: python, with: {function: test.deed, args: {name: a}}}
  b: {type: python, needs: [a], with: {function: test.until, args: {name: b, file: "{{ input.file }}"}}}
  c: {type: python, needs: [b], with: {function: test.deed, args: {name: c}}}
output: "{{ steps.c.output }}"
"""
KILLER = "{name: killer, nodes: {k: {type: python, retry: {maxAttempts: 1}, with: {function: test.kill}}}}"


async def test_asked_to_end_it_leaves_no_trace(database_url, tmp_path):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        worker = await on.worker()
        assert (await here.row("SELECT role FROM processes"))["role"] == "worker"
        execution_id = await here.start(TWO, input={"seconds": 0})
        await here.until(execution_id, "COMPLETED")
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
        assert await here.row("SELECT * FROM processes") is None
        assert [line["event"] for line in worker.lines[-3:]] == [
            "process_stopping", "runs_handed_back", "process_stopped",
        ]  # fmt: skip
        await settled(here)


async def test_what_ends_in_time_ends_and_nothing_new_is_claimed(database_url, tmp_path):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        worker = await on.worker()
        running = await here.start(TWO, input={"seconds": 1.0})
        await on.until_deed("begun b")
        worker.send(signal.SIGTERM)
        await worker.logs("process_stopping")
        waiting = await here.start(TWO, input={"seconds": 0})
        assert await worker.ended() == 0
        assert (await here.execution(running))["status"] == "COMPLETED"
        assert (await here.execution(waiting))["status"] == "PENDING"


async def test_what_does_not_is_handed_back_at_once_and_goes_on_elsewhere(database_url, tmp_path):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        worker = await on.worker(DRAIN_TIMEOUT="300ms", LEASE_TTL="10m")
        file = tmp_path / "open"
        execution_id = await here.start(HELD, input={"file": str(file)})
        await on.until_deed("begun b")
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
        assert worker.events("runs_handed_back")[0]["count"] == 1
        item = await here.row("SELECT * FROM execution_queue")
        assert (item["status"], item["due"], item["holds_slot"]) == ("PENDING", True, True)
        row = await here.execution(execution_id)
        assert (row["status"], row["recoveries"]) == ("RUNNING", 0)
        file.touch()
        await on.worker(LEASE_TTL="10m")
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["output"]) == ("COMPLETED", "c")
        assert on.deeds == ["begun a", "done a", "begun b", "begun b", "done b", "begun c", "done c"]
        await settled(here)


async def test_asked_a_second_time_it_waits_for_nothing(database_url, tmp_path):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        worker = await on.worker(DRAIN_TIMEOUT="10m")
        await here.start(HELD, input={"file": str(tmp_path / "never")})
        await on.until_deed("begun b")
        worker.send(signal.SIGINT)
        await worker.logs("process_stopping")
        worker.send(signal.SIGINT)
        assert await worker.ended() == 0
        assert worker.events("runs_handed_back")[0]["count"] == 1


async def test_during_a_long_drain_it_is_not_taken_for_dead(database_url, tmp_path):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        maintenance = await on.maintenance(LEASE_TTL="1s")
        worker = await on.worker(LEASE_TTL="1s", DRAIN_TIMEOUT="1m")
        execution_id = await here.start(TWO, input={"seconds": 3})
        await on.until_deed("begun b")
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
        row = await here.execution(execution_id)
        assert (row["status"], row["token"]) == ("COMPLETED", 1)
        assert not maintenance.events("process_dead")


async def test_killed_its_runs_come_back_after_its_lease_and_what_was_completed_is_not_repeated(
    database_url, tmp_path
):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        maintenance = await on.maintenance()
        worker = await on.worker()
        file = tmp_path / "open"
        execution_id = await here.start(HELD, input={"file": str(file)})
        await on.until_deed("begun b")
        worker.send(signal.SIGKILL)
        await worker.ended()
        file.touch()
        await on.worker()
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["output"], row["token"]) == ("COMPLETED", "c", 2)
        assert on.deeds == ["begun a", "done a", "begun b", "begun b", "done b", "begun c", "done c"]
        (dead,) = await maintenance.logs("process_dead")
        assert dead["role"] == "worker"
        await settled(here)


async def test_frozen_past_its_lease_and_back_it_writes_nothing_and_then_works_again(database_url, tmp_path):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        await on.maintenance()
        frozen = await on.worker()
        file = tmp_path / "open"
        execution_id = await here.start(HELD, input={"file": str(file)})
        await on.until_deed("begun b")
        frozen.send(signal.SIGSTOP)
        other = await on.worker()
        await other.logs("dispatched")
        file.touch()
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        nodes = await here.rows("SELECT * FROM workflow_execution_nodes ORDER BY path, attempt")
        frozen.send(signal.SIGCONT)
        await frozen.logs("process_judged_dead")
        await frozen.logs("run_lost")
        assert (row["status"], row["token"]) == ("COMPLETED", 2)
        assert await here.execution(execution_id) == row
        assert await here.rows("SELECT * FROM workflow_execution_nodes ORDER BY path, attempt") == nodes
        other.send(signal.SIGKILL)
        await other.ended()
        again = await here.start(TWO, input={"seconds": 0})
        await here.until(again, "COMPLETED")
        await settled(here)


async def test_a_node_that_kills_its_worker_every_time_ends_and_the_others_go_on(database_url, tmp_path):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        await on.maintenance(LEASE_TTL="600ms")
        killer = await here.start(KILLER)
        file = tmp_path / "open"
        other = await here.start(HELD, input={"file": str(file)})

        over = False

        async def keep_one_alive() -> None:
            while not over:
                worker = await on.start(
                    "worker", "--functions", str(on.functions), LEASE_TTL="600ms", ready=False
                )
                await worker.ended(patience=120)

        keeper = asyncio.create_task(keep_one_alive())
        try:
            row = await here.until(killer, "FAILED", "COMPLETED", within=90)
            file.touch()
            survived = await here.until(other, "FAILED", "COMPLETED", within=60)
        finally:
            over = True
            on.started[-1].send(signal.SIGKILL)
            await keeper
        assert (row["status"], row["error_type"]) == ("FAILED", "WORKER_LOST")
        assert on.deeds.count("begun kill") == 5
        assert (survived["status"], survived["output"]) == ("COMPLETED", "c")
        assert (await here.row("SELECT status FROM execution_queue WHERE execution_id = $1", killer))[
            "status"
        ] == "FAILED"


async def test_started_before_the_database_is_migrated_it_waits_for_that(empty_database_url, tmp_path):
    async with host(empty_database_url, tmp_path) as on:
        worker = await on.start("worker", ready=False)
        (told,) = await worker.logs("schema_not_current")
        assert told["advice"] == "run 'riven migrate'"
        migrated = await on.start("migrate", ready=False)
        assert await migrated.ended() == 0
        await worker.logs("process_started")
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0


async def test_a_switched_off_engine_finishes_what_runs_and_claims_nothing(database_url, tmp_path):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        off = await on.worker(WORKFLOW_ENGINE_ENABLED="false")
        execution_id = await here.start(TWO, input={"seconds": 0})
        off.send(signal.SIGTERM)
        assert await off.ended() == 0
        assert (await here.execution(execution_id))["status"] == "PENDING"
        assert not off.events("dispatching")
