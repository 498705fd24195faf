"""Processes of the Temporal engine, as operators start and end them."""

import json
import signal

import pytest
from tests.dispatch.distant import server, until
from tests.engines.embedded.workers import installation
from tests.main.running import host

from riven.db.identity import new_id
from riven.nodes.functions import Functions

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

DEED = """
name: deed
nodes:
  a: {type: python, with: {function: test.deed, args: {name: a, seconds: 0.1}}}
"""
LASTS = """
name: lasts
nodes:
  a: {type: python, with: {function: test.deed, args: {name: a, seconds: 2}}}
  b: {type: python, needs: [a], with: {function: test.deed, args: {name: b}}}
"""


def settings(address: str) -> dict[str, str]:
    return {
        "ENGINE": "temporal",
        "TEMPORAL_ADDRESS": address,
        "TEMPORAL_TASK_QUEUE": f"processes-{new_id()}",
        "TEMPORAL_STICKY_TIMEOUT": "500ms",
    }


async def test_everything_in_one_process_runs_what_is_in_line_and_ends_in_order(
    database_url, temporal_server, tmp_path
):
    functions = Functions()
    async with host(database_url, tmp_path) as on, installation(database_url, functions=functions) as here:
        functions.load(str(on.functions))
        own = settings(temporal_server.address)
        everything = await on.start("all", "--port", "0", "--functions", str(on.functions), **own)
        execution_id = await here.start(DEED)
        await here.until(execution_id, "COMPLETED", within=30)
        roles = {row["role"]: row["engine"] for row in await here.rows("SELECT role, engine FROM processes")}
        assert roles == {"dispatcher": "temporal", "worker": "temporal", "maintenance": "temporal"}
        everything.send(signal.SIGTERM)
        assert await everything.ended() == 0
        assert await here.rows("SELECT * FROM processes") == []
        for line in everything.output:
            json.loads(line)  # and nothing beside the log


async def test_a_worker_that_is_asked_to_end_lets_its_attempts_end(database_url, temporal_server, tmp_path):
    functions = Functions()
    async with host(database_url, tmp_path) as on, installation(database_url, functions=functions) as here:
        functions.load(str(on.functions))
        own = settings(temporal_server.address)
        async with server(temporal_server.address):
            dispatcher = await on.start("dispatcher", **own)
        worker = await on.start("worker", "--functions", str(on.functions), **own)
        execution_id = await here.start(LASTS)
        await on.until_deed("begun a")
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
        assert on.deeds == ["begun a", "done a"]
        await on.start("worker", "--functions", str(on.functions), **own)
        row = await here.until(execution_id, "COMPLETED", within=60)
        assert row["recoveries"] == 0
        assert on.deeds == ["begun a", "done a", "begun b", "done b"]
        dispatcher.send(signal.SIGTERM)
        assert await dispatcher.ended() == 0


async def test_what_does_not_end_in_time_is_left_to_another_worker(database_url, temporal_server, tmp_path):
    functions = Functions()
    async with host(database_url, tmp_path) as on, installation(database_url, functions=functions) as here:
        functions.load(str(on.functions))
        own = settings(temporal_server.address)
        async with server(temporal_server.address):
            await on.start("dispatcher", **own)
        worker = await on.start("worker", "--functions", str(on.functions), **own, DRAIN_TIMEOUT="0s")
        execution_id = await here.start(LASTS)
        await on.until_deed("begun a")
        worker.send(signal.SIGTERM)
        assert await worker.ended() == 0
        await on.start("worker", "--functions", str(on.functions), **own)
        await here.until(execution_id, "COMPLETED", within=60)
        nodes = await here.nodes(execution_id)
        assert set(nodes) == {("a", 1), ("b", 1)}
        assert on.deeds == ["begun a", "begun a", "done a", "begun b", "done b"]


async def test_without_a_temporal_processes_start_wait_and_end_in_order(database_url, tmp_path):
    functions = Functions()
    async with host(database_url, tmp_path) as on, installation(database_url, functions=functions) as here:
        own = settings("127.0.0.1:1")
        processes = [await on.start(name, **own) for name in ("dispatcher", "worker", "maintenance")]

        async def told() -> bool:
            row = await here.row(
                "SELECT count(*) AS n FROM processes WHERE engine_error IS NOT NULL AND role <> 'maintenance'"
            )
            return row["n"] == 2

        await until(told, 60)
        for process in processes:
            process.send(signal.SIGTERM)
        assert [await process.ended() for process in processes] == [0, 0, 0]
