"""Runs that nobody drives, ended by their rows."""

import logging

import pytest
from tests.engines.embedded.workers import Worker, eventually, installation, worker
from tests.intake.steering import Stage

from riven.completion.undriven import end_undriven, hold_run, overdue
from riven.core.errors import ErrorClass
from riven.core.messages import ExecutionStatus
from riven.db.identity import new_id
from riven.queue.recover import hand_back

RICH = """
name: rich
timeout: 1h
nodes:
  done: {type: noop}
  each:
    type: for_each
    needs: [done]
    with: {items: [1, 2, 3], concurrency: 2}
    body: {nodes: {s: {type: signal, with: {name: "s{{ item }}"}}, after: {type: noop, needs: [s]}}}
  later: {type: noop, needs: [each]}
"""


async def end(here, execution_id, status=ExecutionStatus.FAILED, *error) -> bool:
    async with here.database.transaction() as connection:
        return await end_undriven(connection, execution_id, status, *error)


async def test_its_nodes_end_as_a_driver_would_have_ended_them(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(RICH)
        await here.until(execution_id, "WAITING")
        assert await end(here, execution_id, ExecutionStatus.FAILED, ErrorClass.TIMEOUT, "too long")
        found = {
            key: row["settled"] or row["status"] for key, row in (await here.nodes(execution_id)).items()
        }
        assert found == {
            ("done", 1): "COMPLETED", ("each", 1): "CANCELED", ("later", 0): "CANCELED",
            ("each[0].s", 1): "CANCELED", ("each[0].after", 0): "CANCELED",
            ("each[1].s", 1): "CANCELED", ("each[1].after", 0): "CANCELED",
        }  # fmt: skip
        row = await here.execution(execution_id)
        assert (row["status"], row["phase"], row["error_type"], row["error_message"]) == (
            "FAILED", "FAILED", "TIMEOUT", "too long",
        )  # fmt: skip
        assert (row["waiting_kind"], row["owner_id"], row["duration_ms"] >= 0) == (None, None, True)
        revisions = [node["revision"] for node in (await here.nodes(execution_id)).values()]
        assert len(set(revisions)) == len(revisions)
        assert row["revision"] > max(revisions)
        item = await here.row("SELECT * FROM execution_queue")
        assert (item["status"], item["last_error"]) == ("FAILED", "TIMEOUT: too long")
        assert len(await here.rows("SELECT * FROM outbox")) == 1


async def test_it_is_ended_once(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(RICH)
        assert await end(here, execution_id, ExecutionStatus.CANCELED)
        assert not await end(here, execution_id, ExecutionStatus.FAILED, ErrorClass.TIMEOUT, "x")
        assert (await here.execution(execution_id))["status"] == "CANCELED"
        assert not await end(here, new_id())


async def test_what_somebody_drives_is_left_to_him(database_url):
    stage = Stage()
    text = "name: h\nnodes: {a: {type: python, with: {function: test.hold, args: {name: a}}}}"
    async with installation(database_url, functions=stage.functions) as here:
        owner = Worker(here)
        execution_id = await here.start(text)
        await eventually(lambda: stage.calls)
        assert not await end(here, execution_id)
        await owner.freeze()
        assert not await end(here, execution_id)  # nobody has judged the owner yet
        async with here.database.transaction() as connection:
            await hand_back(connection, owner.process.id)
            held = await hold_run(connection, execution_id)
        assert (held.status, held.driven) == ("RUNNING", False)
        assert await end(here, execution_id, ExecutionStatus.FAILED, ErrorClass.WORKER_LOST, "x")


async def test_an_owner_that_comes_back_writes_nothing_any_more(database_url):
    stage = Stage()
    text = "name: h\nnodes: {a: {type: python, with: {function: test.hold, args: {name: a}}}}"
    async with installation(database_url, functions=stage.functions) as here:
        owner = Worker(here)
        execution_id = await here.start(text)
        await eventually(lambda: stage.calls)
        owner.loop.stop()
        await owner.task
        async with here.database.transaction() as connection:
            await hand_back(connection, owner.process.id)
        assert await end(here, execution_id, ExecutionStatus.CANCELED)
        stage.gate.set()
        await eventually(lambda: not owner.engine.running)
        assert (await here.execution(execution_id))["status"] == "CANCELED"
        assert {row["status"] for row in (await here.nodes(execution_id)).values()} <= {"CANCELED"}
        await owner.stop()


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM workflow_definition_versions",
        "UPDATE workflow_definition_versions SET document = '{}'",
        """UPDATE workflow_definition_versions SET document = '"\\ud800"'""",
    ],
)
async def test_a_version_that_is_gone_or_damaged_is_no_reason_to_go_on(database_url, damage):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(RICH)
        await here.until(execution_id, "WAITING")
        async with here.database.transaction() as connection:
            await connection.execute(damage)
        assert await end(here, execution_id, ExecutionStatus.CANCELED)
        assert (await here.execution(execution_id))["status"] == "CANCELED"


async def test_an_item_that_is_gone_is_a_warning(database_url, caplog):
    async with installation(database_url) as here:
        execution_id = await here.start(RICH)
        await here.row("DELETE FROM execution_queue RETURNING id")
        with caplog.at_level(logging.INFO, "riven.completion"):
            assert await end(here, execution_id, ExecutionStatus.CANCELED)
        assert [each.message for each in caplog.records] == [
            "queue_item_missing_at_completion",
            "execution_finished",
        ]


async def test_runs_whose_time_is_up_are_found_unless_somebody_drives_them(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(RICH)
        await here.until(execution_id, "WAITING")
        async with here.database.transaction() as connection:
            assert await overdue(connection, 10) == []
            await connection.execute("UPDATE workflow_executions SET deadline_at = now() - interval '1 s'")
            assert await overdue(connection, 10) == [(execution_id, here.workspace_id)]
            await connection.execute("UPDATE workflow_executions SET status = 'RUNNING'")
            await connection.execute("UPDATE execution_queue SET status = 'DISPATCHED', due = true")
            assert await overdue(connection, 10) == []
            await connection.execute("UPDATE execution_queue SET status = 'PENDING'")
            assert await overdue(connection, 10) == [(execution_id, here.workspace_id)]
