"""Retry, as a move of rows; what a retried run keeps is tested with the engine."""

import pytest
from tests.engines.embedded.workers import installation, worker
from tests.intake.steering import Stage, Steering

from riven.core.messages import ExecutionStatus
from riven.tenancy.errors import WrongStateError

FAILS = "name: f\nnodes: {a: {type: fail}}"


async def test_a_failed_execution_is_in_line_again(database_url):
    async with installation(database_url) as here:
        async with worker(here):
            execution_id = await here.start(FAILS)
            before = await here.until(execution_id, "FAILED")
        dead = await here.row("SELECT * FROM execution_queue")
        assert dead["status"] == "FAILED"
        answer = await Steering(here).retry(execution_id)
        assert (answer.status, answer.already) == (ExecutionStatus.PENDING, False)
        row = await here.execution(execution_id)
        assert (row["status"], row["phase"], row["run"]) == ("PENDING", "EXECUTING_NODES", 2)
        assert (row["error_type"], row["finished_at"], row["duration_ms"]) == (None, None, None)
        assert (row["started_at"], row["token"]) == (before["started_at"], before["token"])
        item = await here.row("SELECT * FROM execution_queue")
        assert (item["id"], item["status"], item["attempts"], item["due"], item["last_error"]) == (
            dead["id"], "PENDING", 0, True, None,
        )  # fmt: skip
        told = await here.rows("SELECT action, actor, subject FROM activity")
        assert [tuple(each) for each in told] == [
            ("execution.retried", "key:k1", f"execution:{execution_id}")
        ]


async def test_a_canceled_one_gets_a_new_item(database_url):
    async with installation(database_url) as here:
        steering = Steering(here)
        execution_id = await here.start(FAILS)
        await steering.cancel(execution_id)
        assert await here.row("SELECT * FROM execution_queue") is None
        await steering.retry(execution_id)
        item = await here.row("SELECT * FROM execution_queue")
        assert (item["execution_id"], item["status"], item["due"]) == (execution_id, "PENDING", True)
        row = await here.execution(execution_id)
        assert (row["phase"], row["run"]) == ("INITIALIZING", 2)
        async with worker(here):
            await here.until(execution_id, "FAILED")


async def test_what_was_asked_of_the_run_before_reaches_no_other(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here:
        async with worker(here):
            execution_id = await here.start(FAILS)
            await here.until(execution_id, "FAILED")
        await here.row(
            "INSERT INTO signals (execution_id, kind, run) VALUES ($1, 'CANCEL', 1), ($1, 'PAUSE', 1) RETURNING id",
            execution_id,
        )
        await Steering(here).retry(execution_id)
        asked = {row["kind"]: row["void"] for row in await here.rows("SELECT kind, void FROM signals")}
        assert asked == {
            "CANCEL": False,
            "PAUSE": True,
        }  # the cancel is for an engine that may have the first run
        async with worker(here):
            await here.until(execution_id, "FAILED")
        assert {row["run"] for row in (await here.nodes(execution_id)).values()} == {1, 2}


@pytest.mark.parametrize(
    "text", ["name: n\nnodes: {}", "name: s\nnodes: {s: {type: signal, with: {name: go}}}"]
)
async def test_what_neither_failed_nor_was_canceled_is_not_retried(database_url, text):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(text)
        await here.until(execution_id, "COMPLETED", "WAITING")
        with pytest.raises(WrongStateError):
            await Steering(here).retry(execution_id)
        assert (await here.execution(execution_id))["run"] == 1


async def test_retried_twice_at_once_it_runs_once_more(database_url):
    async with installation(database_url) as here:
        async with worker(here):
            execution_id = await here.start(FAILS)
            await here.until(execution_id, "FAILED")
        await Steering(here).retry(execution_id)
        with pytest.raises(WrongStateError):
            await Steering(here).retry(execution_id)
        assert (await here.execution(execution_id))["run"] == 2
