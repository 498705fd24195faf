"""Pause and resume, of runs in line, under way, parked and left behind by a dead owner."""

import asyncio

import pytest
from tests.engines.embedded.workers import Worker, eventually, installation, worker
from tests.intake.steering import Stage, Steering

from riven.core.messages import ExecutionStatus
from riven.db.identity import new_id
from riven.queue.claim import claim_executions
from riven.queue.lease import Process, register
from riven.queue.recover import hand_back
from riven.queue.settle import Drive, release_to_pending
from riven.tenancy.errors import WrongStateError

HELD = "name: h\nnodes: {a: {type: python, with: {function: test.hold, args: {name: a}}}, b: {type: noop, needs: [a]}}"
SIGNAL = "name: s\nnodes: {s: {type: signal, with: {name: go}}}\noutput: '{{ steps.s.output }}'"


async def item(here):
    return await here.row("SELECT *, available_at > now() AS later FROM execution_queue")


async def test_what_waits_in_line_is_held_back_and_let_go(database_url):
    async with installation(database_url) as here:
        steering = Steering(here)
        execution_id = await here.start("name: n\nnodes: {a: {type: noop}}")
        answer = await steering.pause(execution_id)
        assert (answer.status, answer.already) == (ExecutionStatus.PAUSED, False)
        assert (await steering.pause(execution_id)).already
        row = await item(here)
        assert (row["status"], row["due"], row["available_at"]) == ("PENDING", False, None)
        async with worker(here) as at_work:
            at_work.loop.wake()
            answer = await steering.resume(execution_id)
            assert (answer.status, answer.already) == (ExecutionStatus.PENDING, False)
            await here.until(execution_id, "COMPLETED")


async def test_a_paused_run_is_not_claimed(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start("name: n\nnodes: {a: {type: noop}}")
        await Steering(here).pause(execution_id)
        claim = await claim_executions(here.database, new_id(), 10)
        assert (claim.claimed, claim.strays) == ([], [])
        assert (await here.execution(execution_id))["status"] == "PAUSED"


async def test_what_was_scheduled_comes_due_at_its_time(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(SIGNAL)
        due = await here.row(
            "UPDATE execution_queue SET due = false, available_at = now() + interval '1 h' RETURNING available_at"
        )
        steering = Steering(here)
        await steering.pause(execution_id)
        await steering.resume(execution_id)
        row = await item(here)
        assert (row["available_at"], row["due"]) == (due["available_at"], False)


async def test_a_refused_start_is_tried_again_when_it_was_to_be(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(SIGNAL)
        process = Process(new_id(), "worker", "w")
        await register(here.database, process, 10)
        (claimed,) = (await claim_executions(here.database, process.id, 5)).claimed
        drive = Drive(execution_id, claimed.run, claimed.token)
        await release_to_pending(
            here.database, drive, counted=True, delay=60, error="no", kind="dispatch_retry"
        )
        due = (await item(here))["available_at"]
        steering = Steering(here)
        await steering.pause(execution_id)
        await steering.resume(execution_id)
        row = await item(here)
        assert (row["available_at"], row["waiting_kind"], row["attempts"]) == (due, "dispatch_retry", 1)


async def test_a_run_under_way_starts_nothing_more_and_gives_back_its_slot(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(HELD)
        await eventually(lambda: stage.calls)
        answer = await steering.pause(execution_id)
        assert (answer.status, answer.already) == (ExecutionStatus.RUNNING, False)
        await here.until_true("SELECT seq IS NOT NULL FROM signals WHERE kind = 'PAUSE'")
        stage.gate.set()
        row = await here.until(execution_id, "PAUSED", within=5)
        assert row["owner_id"] is None
        nodes = await here.nodes(execution_id)
        assert nodes["a", 1]["status"] == "COMPLETED"
        assert ("b", 1) not in nodes
        await steering.resume(execution_id)
        await here.until(execution_id, "COMPLETED", within=5)


async def test_a_pause_that_is_taken_back_while_a_node_runs_changes_nothing(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(HELD)
        await eventually(lambda: stage.calls)
        await steering.pause(execution_id)
        answer = await steering.resume(execution_id)
        assert (answer.status, answer.already) == (ExecutionStatus.RUNNING, False)
        assert (await steering.resume(execution_id)).already
        stage.gate.set()
        row = await here.until(execution_id, "COMPLETED", "PAUSED", within=5)
        assert row["status"] == "COMPLETED"


async def test_a_parked_run_keeps_signals_while_it_is_paused(database_url):
    async with installation(database_url) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(SIGNAL)
        await here.until(execution_id, "WAITING")
        assert (await steering.pause(execution_id)).status is ExecutionStatus.PAUSED
        answer = await steering.signal(execution_id, "go", 5)
        assert answer.status is ExecutionStatus.PAUSED
        assert not (await item(here))["due"]
        await steering.resume(execution_id)
        row = await here.until(execution_id, "COMPLETED")
        assert row["output"] == 5


async def test_a_parked_timer_keeps_its_time_over_a_pause_and_signals_wake_it_afterwards(database_url):
    text = "name: t\nnodes: {nap: {type: wait, with: {for: 3h}}, s: {type: signal, with: {name: go}}, cancel: {type: fail, needs: [s]}}"
    async with installation(database_url) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(text)
        await here.until(execution_id, "WAITING")
        due = (await item(here))["available_at"]
        await steering.pause(execution_id)
        answer = await steering.resume(execution_id)
        assert answer.status is ExecutionStatus.PENDING
        row = await item(here)
        assert (row["available_at"], row["later"], row["due"]) == (due, True, False)
        await steering.signal(execution_id, "go")
        await here.until(execution_id, "FAILED")


async def test_timers_that_came_due_during_a_pause_fire_after_it(database_url):
    text = "name: t\nnodes: {nap: {type: wait, with: {for: 300ms}}}"
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(text)
        await here.until_node(execution_id, "nap", "WAITING")
        await steering.pause(execution_id)
        await here.until(execution_id, "PAUSED", within=5)
        await here.until_true("SELECT bool_and(due_at < now()) FROM workflow_execution_nodes")
        assert (await here.execution(execution_id))["status"] == "PAUSED"
        await steering.resume(execution_id)
        await here.until(execution_id, "COMPLETED", within=5)


async def test_a_run_whose_owner_is_dead_is_paused_at_once_and_gives_back_its_slot(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here:
        owner = Worker(here)
        steering = Steering(here)
        execution_id = await here.start(HELD)
        await eventually(lambda: stage.calls)
        await owner.freeze()
        async with here.database.transaction() as connection:
            await hand_back(connection, owner.process.id)
        assert (await item(here))["holds_slot"]
        assert (await steering.pause(execution_id)).status is ExecutionStatus.PAUSED
        row = await item(here)
        assert (row["holds_slot"], row["due"]) == (False, False)
        await steering.resume(execution_id)
        stage.gate.set()
        async with worker(here):
            await here.until(execution_id, "COMPLETED", within=5)


async def test_what_is_not_paused_is_resumed_already(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(SIGNAL)
        answer = await Steering(here).resume(execution_id)
        assert (answer.status, answer.already) == (ExecutionStatus.PENDING, True)
        assert await here.rows("SELECT * FROM signals") == []


async def test_an_item_that_was_deleted_is_made_anew(database_url):
    async with installation(database_url) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(SIGNAL)
        await here.until(execution_id, "WAITING")
        await steering.pause(execution_id)
        await here.row("DELETE FROM execution_queue RETURNING id")
        await steering.signal(execution_id, "go", 1)
        await steering.resume(execution_id)
        await here.until(execution_id, "COMPLETED")


@pytest.mark.parametrize("call", ["pause", "resume"])
async def test_what_is_over_cannot_be_paused_or_resumed(database_url, call):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start("name: n\nnodes: {}")
        await here.until(execution_id, "COMPLETED")
        with pytest.raises(WrongStateError):
            await getattr(Steering(here), call)(execution_id)


async def test_a_paused_approval_can_be_decided_and_the_run_goes_on_with_it_afterwards(database_url):
    text = "name: p\nnodes: {ask: {type: approval}}\noutput: '{{ steps.ask.outcome }}'"
    async with installation(database_url) as here, worker(here) as at_work:
        steering = Steering(here)
        execution_id = await here.start(text)
        await here.until(execution_id, "WAITING")
        await steering.pause(execution_id)
        assert (await steering.decide(execution_id, "ask", "approved")).status is ExecutionStatus.PAUSED
        at_work.loop.wake()
        await asyncio.sleep(0.2)
        assert (await here.execution(execution_id))["status"] == "PAUSED"
        await steering.resume(execution_id)
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["output"]) == ("COMPLETED", "approved")
