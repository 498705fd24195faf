"""Rows that somebody deletes or changes by hand, at any time: a warning, a reason, and everybody else goes on."""

import asyncio

import pytest
from tests.engines.embedded.workers import eventually, installation, worker
from tests.intake.steering import Steering

from riven.db.identity import new_id
from riven.maintenance.reconcile import Reconciler
from riven.nodes.function import function
from riven.nodes.functions import Functions
from riven.queue.wake import Announcer
from riven.views.invariants import check_invariants
from riven.views.nodes import list_nodes

HELD = """
name: held
nodes:
  a: {type: python, with: {function: test.gate}}
  b: {type: python, needs: [a], with: {function: riven.echo, args: {n: 1}}}
output: "{{ steps.b.output.n }}"
"""
QUICK = "{name: quick, nodes: {a: {type: python, with: {function: riven.echo, args: {n: 1}}}}}"


class Gate:
    """A function that lasts until it is opened."""

    def __init__(self) -> None:
        self.open = asyncio.Event()
        self.entered = 0

        @function(name="test.gate")
        async def gate() -> None:
            self.entered += 1
            await self.open.wait()

        self.functions = Functions(gate)


async def run(here, statement: str, *values: object) -> None:
    async with here.database.transaction() as connection:
        await connection.execute(statement, *values)


async def under_way(here, gate: Gate):
    """An execution whose first node has begun."""
    before = gate.entered
    execution_id = await here.start(HELD)
    await eventually(lambda: gate.entered > before)
    return execution_id


async def others_go_on(here) -> None:
    assert (await here.until(await here.start(QUICK), "COMPLETED"))["status"] == "COMPLETED"


def said(caplog, event: str) -> int:
    return sum(record.message == event for record in caplog.records)


async def all_is_well(here) -> None:
    async with here.database.read() as connection:
        for each in await check_invariants(connection, 15):
            assert each.violations == 0, each.name


async def test_the_item_of_a_run_that_is_driven(database_url, caplog):
    gate = Gate()
    async with installation(database_url, functions=gate.functions) as here, worker(here):
        execution_id = await under_way(here, gate)
        await run(here, "DELETE FROM execution_queue")
        gate.open.set()
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["output"], row["token"]) == ("COMPLETED", 1, 1)
        assert said(caplog, "queue_item_missing_at_completion") == 1
        await others_go_on(here)
        await all_is_well(here)


async def test_the_item_of_a_run_that_is_driven_does_not_free_its_slot(database_url):
    gate = Gate()
    async with installation(database_url, functions=gate.functions) as here, worker(here) as working:
        await run(here, "UPDATE workspaces SET running_limit = 1")
        await under_way(here, gate)
        await run(here, "DELETE FROM execution_queue")
        waiting = await here.start(QUICK)
        working.loop.wake()
        await asyncio.sleep(0.3)
        assert (await here.execution(waiting))["status"] == "PENDING"
        gate.open.set()
        await here.until(waiting, "COMPLETED")


async def test_the_execution_of_a_run_that_is_driven(database_url, caplog):
    gate = Gate()
    async with installation(database_url, functions=gate.functions) as here, worker(here) as working:
        execution_id = await under_way(here, gate)
        await run(here, "DELETE FROM workflow_executions WHERE id = $1", execution_id)
        gate.open.set()
        await eventually(lambda: not working.engine.running)
        assert said(caplog, "execution_missing_at_completion") >= 1
        assert await here.nodes(execution_id) == {}, "what would be recorded is dropped"
        announcer = Announcer(here.database, new_id())
        await Reconciler(here.database, announcer).perform()
        await announcer.close()
        item = await here.row("SELECT status, last_error FROM execution_queue")
        assert tuple(item) == ("FAILED", "the execution is gone")
        await others_go_on(here)
        await all_is_well(here)


async def test_the_execution_of_an_item_in_line(database_url, caplog):
    async with installation(database_url) as here:
        execution_id = await here.start(QUICK)
        other = await here.start(QUICK)
        await run(here, "DELETE FROM workflow_executions WHERE id = $1", execution_id)
        async with worker(here):
            await here.until(other, "COMPLETED")
            await here.until_true("SELECT status = 'FAILED' FROM execution_queue")
        assert said(caplog, "execution_not_found_for_retry") == 1
        await all_is_well(here)


async def test_nodes_of_a_run_that_is_driven(database_url):
    """What was recorded is gone; what goes on is recorded, and the run ends."""
    gate = Gate()
    text = HELD.replace("a: {type", "z: {type: noop}\n  a: {needs: [z], type")
    async with installation(database_url, functions=gate.functions) as here, worker(here):
        execution_id = await here.start(text)
        await here.until_node(execution_id, "z", "COMPLETED")
        await eventually(lambda: gate.entered)
        await run(here, "DELETE FROM workflow_execution_nodes")
        gate.open.set()
        assert (await here.until(execution_id, "COMPLETED", "FAILED"))["status"] == "COMPLETED"
        assert {path for path, _ in await here.nodes(execution_id)} == {"a", "b"}


async def test_a_workspace_that_is_disabled_while_its_executions_wait(database_url):
    gate = Gate()
    async with installation(database_url, functions=gate.functions) as here, worker(here) as working:
        await run(here, "UPDATE workspaces SET running_limit = 1")
        running = await under_way(here, gate)
        waiting = await here.start(QUICK)
        await run(here, "UPDATE workspaces SET disabled = true")
        gate.open.set()
        assert (await here.until(running, "COMPLETED"))["status"] == "COMPLETED", "what runs goes on"
        working.loop.wake()
        await asyncio.sleep(0.3)
        assert (await here.execution(waiting))["status"] == "PENDING"
        assert (await here.row("SELECT status, attempts FROM execution_queue"))["attempts"] == 0
        await run(here, "UPDATE workspaces SET disabled = false, idle = false, at_capacity = false")
        await here.until(waiting, "COMPLETED")


async def test_everything_of_a_workspace_but_its_items(database_url, caplog):
    async with installation(database_url) as here:
        for _ in range(3):
            await here.start(QUICK)
        await run(here, "TRUNCATE workspaces CASCADE")
        assert await here.row("SELECT * FROM workflow_executions") is None
        async with worker(here):
            announcer = Announcer(here.database, new_id())
            await Reconciler(here.database, announcer).perform()
            await announcer.close()
        items = await here.rows("SELECT DISTINCT status, last_error FROM execution_queue")
        assert [tuple(item) for item in items] == [("FAILED", "workspace_not_found")]
        assert said(caplog, "workspace_not_found") == 3


async def test_a_process_row(database_url):
    """Its runs are put back in line by the next sweep, and whoever comes first drives them on."""
    gate = Gate()
    async with installation(database_url, functions=gate.functions) as here, worker(here):
        execution_id = await under_way(here, gate)
        assert len(await here.recover()) == 1
        await here.until_true("SELECT token = 2 FROM workflow_executions WHERE id = $1", execution_id)
        gate.open.set()
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["token"]) == ("COMPLETED", 2)
        await all_is_well(here)


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        ("DELETE FROM workflow_definition_versions", "DISPATCH_FAILED"),
        ("UPDATE workflow_definition_versions SET document = '{}'", "VALIDATION_ERROR"),
    ],
)
async def test_the_version_of_a_run_that_waits(database_url, damage, error):
    """It fails with the reason when it is woken, and nothing of it looks as if it still went on."""
    text = "{name: s, nodes: {a: {type: noop}, hear: {type: signal, needs: [a], with: {name: go}}}}"
    async with installation(database_url) as here:
        async with worker(here):
            execution_id = await here.start(text)
            await here.until(execution_id, "WAITING")
        await run(here, damage)
        async with worker(here):
            await Steering(here).signal(execution_id, "go")
            row = await here.until(execution_id, "FAILED", "COMPLETED")
        assert (row["status"], row["error_type"]) == ("FAILED", error)
        assert (await here.row("SELECT status FROM execution_queue"))["status"] == "FAILED"
        async with here.database.read() as connection:
            page = await list_nodes(connection, execution_id, "FAILED", None, after=None, limit=10)
        assert [(node["path"], node["status"]) for node in page.items] == [
            ("a", "COMPLETED"),
            ("hear", "CANCELED"),
        ]
        assert [attempt["status"] for attempt in page.items[1]["attempts"]] == ["CANCELED"]
        await all_is_well(here)
