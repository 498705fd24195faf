"""Cancel, in every status that an execution can have."""

import asyncio
import contextlib

import pytest
from tests.engines.embedded.workers import Worker, eventually, installation, worker
from tests.intake.steering import Stage, Steering, operator

from riven.core.messages import ExecutionStatus
from riven.db.identity import new_id
from riven.intake.control import Controls
from riven.queue.claim import claim_executions
from riven.queue.recover import hand_back
from riven.tenancy.errors import ForeignWorkspaceError, WrongStateError
from riven.views.errors import ExecutionNotFoundError

HELD = "name: h\nnodes: {a: {type: python, with: {function: test.hold, args: {name: a}}}, b: {type: noop, needs: [a]}}"
SIGNAL = "name: s\nnodes: {before: {type: noop}, s: {type: signal, needs: [before], with: {name: go}}, after: {type: noop, needs: [s]}}"


async def statuses(here, execution_id):
    return {
        path: row["settled"] or row["status"] for (path, _), row in (await here.nodes(execution_id)).items()
    }


async def test_what_waits_in_line_ends_at_once_and_leaves_the_line(database_url):
    async with installation(database_url) as here:
        steering = Steering(here)
        execution_id = await here.start(HELD)
        answer = await steering.cancel(execution_id)
        assert (answer.status, answer.already) == (ExecutionStatus.CANCELED, False)
        row = await here.execution(execution_id)
        assert (row["status"], row["phase"], row["duration_ms"]) == ("CANCELED", "CANCELED", None)
        assert await here.row("SELECT * FROM execution_queue") is None
        assert await here.nodes(execution_id) == {}
        told = await here.row("SELECT kind, payload FROM outbox")
        assert told["payload"] == {"executionId": str(execution_id), "status": "CANCELED"}
        again = await steering.cancel(execution_id)
        assert (again.status, again.already) == (ExecutionStatus.CANCELED, True)


async def test_a_run_that_waits_ends_at_once_with_its_nodes(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(SIGNAL)
        await here.until(execution_id, "WAITING")
        answer = await Steering(here).cancel(execution_id)
        assert answer.status is ExecutionStatus.CANCELED
        row = await here.execution(execution_id)
        assert (row["status"], row["waiting_kind"], row["duration_ms"] >= 0) == ("CANCELED", None, True)
        assert await statuses(here, execution_id) == {
            "before": "COMPLETED",
            "s": "CANCELED",
            "after": "CANCELED",
        }
        assert await here.row("SELECT * FROM execution_queue") is None


async def test_the_owner_of_a_run_ends_it(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here, worker(here):
        execution_id = await here.start(HELD)
        await eventually(lambda: stage.calls)
        answer = await Steering(here).cancel(execution_id)
        assert (answer.status, answer.already) == (ExecutionStatus.RUNNING, False)
        row = await here.until(execution_id, "CANCELED", within=2.0)  # by a word, not by the poll
        assert row["error_type"] is None
        assert await statuses(here, execution_id) == {"a": "CANCELED", "b": "CANCELED"}
        asked = await here.row("SELECT kind, seq IS NOT NULL AS read, principal FROM signals")
        assert tuple(asked) == ("CANCEL", True, "key:k1")


async def test_asking_twice_writes_once(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here:
        owner = Worker(here)
        execution_id = await here.start(HELD)
        await eventually(lambda: stage.calls)
        await owner.freeze()  # it reads nothing any more
        for _ in range(2):
            answer = await Steering(here).cancel(execution_id)
            assert (answer.status, answer.already) == (ExecutionStatus.RUNNING, False)
        assert len(await here.rows("SELECT * FROM signals")) == 1


async def test_a_word_that_is_lost_is_made_up_for_by_looking(database_url):
    stage = Stage()
    async with (
        installation(database_url, functions=stage.functions) as here,
        worker(here, control_poll=0.05) as owner,
    ):
        await owner.listener.stop()
        execution_id = await here.start(HELD)
        await eventually(lambda: stage.calls)
        await Steering(here).cancel(execution_id)
        await here.until(execution_id, "CANCELED", within=5.0)


@pytest.mark.parametrize("when", ["before the start", "after the start"])
async def test_a_run_that_was_claimed_and_is_not_yet_driven_ends(database_url, when):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here:
        execution_id = await here.start(HELD)
        async with worker(here, enabled=False) as owner:
            await owner.listener.listening.wait()
            claim = await claim_executions(here.database, owner.process.id, 10)
            (item,) = await here.rows("SELECT status FROM execution_queue")
            assert item["status"] == "CLAIMED"
            answer = await Steering(here).cancel(execution_id)
            assert answer.status is ExecutionStatus.RUNNING
            if when == "before the start":
                await eventually(lambda: owner.control.asked(execution_id))
            await owner.loop._start(claim)
            await here.until(execution_id, "CANCELED", within=2.0)
        assert stage.calls == ([] if when == "before the start" else stage.calls)


async def test_a_run_whose_owner_is_dead_ends_at_once(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here:
        owner = Worker(here)
        execution_id = await here.start(HELD)
        await eventually(lambda: stage.calls)
        await here.until_node(execution_id, "a")
        await owner.freeze()
        async with here.database.transaction() as connection:
            await hand_back(connection, owner.process.id)
        answer = await Steering(here).cancel(execution_id)
        assert answer.status is ExecutionStatus.CANCELED
        assert await statuses(here, execution_id) == {"a": "CANCELED", "b": "CANCELED"}
        assert await here.row("SELECT * FROM execution_queue") is None


async def test_a_paused_run_ends_at_once(database_url):
    async with installation(database_url) as here:
        steering = Steering(here)
        execution_id = await here.start(HELD)
        await steering.pause(execution_id)
        assert (await steering.cancel(execution_id)).status is ExecutionStatus.CANCELED


async def test_the_slot_of_what_was_canceled_is_free_for_the_next(database_url):
    async with installation(database_url) as here, worker(here):
        await here.row("UPDATE workspaces SET running_limit = 1 RETURNING id")
        stage_free = await here.start(SIGNAL)
        await here.until(stage_free, "WAITING")
        await Steering(here).cancel(stage_free)
        following = await here.start("name: n\nnodes: {a: {type: noop}}")
        await here.until(following, "COMPLETED")


@pytest.mark.parametrize("text", ["name: n\nnodes: {}", "name: f\nnodes: {a: {type: fail}}"])
async def test_what_is_over_cannot_be_canceled(database_url, text):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(text)
        await here.until(execution_id, "COMPLETED", "FAILED")
        with pytest.raises(WrongStateError):
            await Steering(here).cancel(execution_id)


async def test_others_cannot_even_see_it(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(HELD)
        controls = Controls(here.database, lambda _: None)
        with pytest.raises(ForeignWorkspaceError):
            await controls.cancel(operator(new_id()), execution_id)
        with pytest.raises(ExecutionNotFoundError):
            await controls.cancel(operator(here.workspace_id), new_id())
        assert (await here.execution(execution_id))["status"] == "PENDING"


async def test_a_cancel_that_meets_the_end_reaches_no_later_run(database_url):
    """It is written while the run ends; whichever of the two is first, the retried run is not canceled by it."""
    stage = Stage()
    text = "name: f\nnodes: {a: {type: python, retry: {maxAttempts: 1}, with: {function: test.do, args: {name: a}}}}"
    async with installation(database_url, functions=stage.functions) as here, worker(here):
        steering = Steering(here)
        for _ in range(30):
            stage.failing = {"a"}
            execution_id = await here.start(text)
            await here.until(execution_id, "RUNNING", "FAILED")
            with contextlib.suppress(WrongStateError):
                await steering.cancel(execution_id)
            await here.until(execution_id, "FAILED", "CANCELED")
            stage.failing = set()
            await steering.retry(execution_id)
            assert (await here.until(execution_id, "COMPLETED", "FAILED", "CANCELED"))[
                "status"
            ] == "COMPLETED"


async def test_cancels_and_ends_that_meet_leave_one_end(database_url):
    async with installation(database_url) as here, worker(here):
        started = [await here.start(SIGNAL) for _ in range(10)]
        for execution_id in started:
            await here.until(execution_id, "WAITING")
        steering = [Steering(here) for _ in range(2)]
        calls = [steering[0].cancel(each) for each in started] + [
            steering[1].signal(each, "go") for each in started
        ]
        await asyncio.gather(*calls, return_exceptions=True)
        for execution_id in started:
            await here.until(execution_id, "CANCELED", "COMPLETED")
        ends = await here.rows("SELECT execution_id, count(*) AS ends FROM outbox GROUP BY 1")
        assert [row["ends"] for row in ends] == [1] * 10
