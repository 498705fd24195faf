"""A run that its owners died of is forgiven by the outcome of a node, and by nothing less."""

import asyncio

from tests.engines.embedded.workers import eventually, installation, worker

from riven.nodes.function import function
from riven.nodes.functions import Functions

ACCUSE = "UPDATE workflow_executions SET recoveries = 3, suspect = true"


async def test_a_started_node_is_no_progress_and_its_outcome_is(database_url):
    gates = {"a": asyncio.Event(), "b": asyncio.Event()}

    @function(name="test.gate")
    async def gate(name: str) -> str:
        await gates[name].wait()
        return name

    text = """
    name: g
    nodes:
      each: {type: for_each, with: {items: [1], concurrency: 1}, body: {nodes: {
        a: {type: python, with: {function: test.gate, args: {name: a}}}}}}
      b: {type: python, needs: [each], with: {function: test.gate, args: {name: b}}}
    """
    async with installation(database_url, functions=Functions(gate)) as here:
        execution_id = await here.start(text)
        async with here.database.transaction() as connection:
            await connection.execute(ACCUSE)
        async with worker(here) as one:
            async with asyncio.timeout(10):
                while ("each[0].a", 1) not in await here.nodes(execution_id):  # noqa: ASYNC110 - told of, because it lasts
                    await asyncio.sleep(0.01)
            row = await here.execution(execution_id)
            assert (row["recoveries"], row["suspect"], one.engine.drives_suspect) == (3, True, True)
            gates["a"].set()
            await eventually(lambda: not one.engine.drives_suspect)
            async with asyncio.timeout(10):
                while (row := await here.execution(execution_id))["recoveries"]:  # noqa: ASYNC110 - a row tells
                    await asyncio.sleep(0.01)
            assert not row["suspect"]
            gates["b"].set()
            await here.until(execution_id, "COMPLETED")


async def test_an_end_is_progress_too_so_that_a_later_run_begins_without_blame(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start("{name: n, nodes: {}}")
        async with here.database.transaction() as connection:
            await connection.execute(ACCUSE)
        async with worker(here):
            row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["recoveries"], row["suspect"]) == ("COMPLETED", 0, False)
