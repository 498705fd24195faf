"""A graph that no validation would let through, fed to a worker all the same: FAILED, with the nodes, never a hanging run.

So it may happen with a defect of the validation, or with a version that somebody damages under a running worker.
"""

from dataclasses import replace

import pytest
from tests.engines.embedded.workers import installation, worker
from tests.engines.temporal.workers import driving

from riven.core.graph import Edge, Graph
from riven.views.invariants import check_invariants

TEXT = """
name: chain
nodes:
  a: {type: python, with: {function: riven.echo, args: {n: 1}}}
  b: {type: python, needs: [a], with: {function: riven.echo, args: {n: 1}}}
  c: {type: python, needs: [b], with: {function: riven.echo, args: {n: 1}}}
"""


def with_a_cycle(graph: Graph) -> Graph:
    """`b` waits for `c`, which waits for `b`."""
    return replace(graph, edges=(*graph.edges, Edge("c", "b")))


def without_a_start(graph: Graph) -> Graph:
    """Nothing is ready at the beginning."""
    return replace(graph, edges=(*graph.edges, Edge("c", "a")))


def with_an_edge_to_nowhere(graph: Graph) -> Graph:
    return replace(graph, edges=(*graph.edges, Edge("a", "gone")))


@pytest.fixture(params=["embedded", "temporal"])
def at_work(request):
    """Makes a worker of either engine on an installation."""
    if request.param == "embedded":
        return worker
    server = request.getfixturevalue("temporal_server")
    return lambda here: driving(here, server.address)


async def ends_with(database_url, caplog, at_work, damage):
    """A run of the damaged graph, among others of which nothing is wrong."""
    async with installation(database_url) as here, at_work(here) as working:
        published = await here.publish(TEXT)
        preparing = working.preparing
        prepared = await preparing.prepare(published[1])
        preparing._prepared[published[1]] = replace(prepared, graph=damage(prepared.graph))
        broken = await here.start_version(published)
        well = await here.start(TEXT)
        row = await here.until(broken, "FAILED", "COMPLETED")
        assert (await here.until(well, "FAILED", "COMPLETED"))["status"] == "COMPLETED"
        assert not working.engine.running
        assert (row["status"], row["error_type"], row["owner_id"]) == ("FAILED", "INTERNAL_ERROR", None)
        ends = [record for record in caplog.records if record.message == "execution_finished"]
        assert [record.levelname for record in ends if record.executionId == str(broken)] == ["ERROR"]
        async with here.database.read() as connection:
            for each in await check_invariants(connection, 15):
                assert each.violations == 0, each.name
        return row["error_message"], await here.nodes(broken)


async def test_a_deadlock_ends_and_names_the_nodes(database_url, caplog, at_work):
    message, nodes = await ends_with(database_url, caplog, at_work, with_a_cycle)
    assert "b" in message
    assert "c" in message
    assert nodes["a", 1]["status"] == "COMPLETED", "what was done stays"


async def test_a_deadlock_at_the_beginning_ends(database_url, caplog, at_work):
    message, _ = await ends_with(database_url, caplog, at_work, without_a_start)
    assert all(name in message for name in "abc")


async def test_an_edge_to_a_node_that_is_not_there_ends(database_url, caplog, at_work):
    message, _ = await ends_with(database_url, caplog, at_work, with_an_edge_to_nowhere)
    assert "gone" in message


STARTED = "UPDATE workflow_definition_versions SET document = replace(document::text, $1, $2)::json"


async def stored_as(database_url, at_work, old: str, new: str):
    """A run of a version whose row was changed like that: how it ended, and its nodes."""
    async with installation(database_url) as here, at_work(here):
        published = await here.publish(TEXT)
        async with here.database.transaction() as connection:
            assert await connection.execute(STARTED, old, new) == 1
        execution_id = await here.start_version(published)
        row = await here.until(execution_id, "FAILED", "COMPLETED")
        assert (await here.row("SELECT status FROM execution_queue"))["status"] == "FAILED"
        async with here.database.read() as connection:
            for each in await check_invariants(connection, 15):
                assert each.violations == 0, each.name
        return row["error_type"], row["error_message"], await here.nodes(execution_id)


async def test_a_type_that_the_worker_lacks_ends_a_run_before_any_node(database_url, at_work):
    error, message, nodes = await stored_as(database_url, at_work, '"python"', '"cobol"')
    assert error == "VALIDATION_ERROR"
    assert all(f"nodes.{name}" in message for name in "abc"), "all of it is told"
    assert "cobol" in message
    assert nodes == {}


async def test_a_cycle_in_a_version_ends_a_run_before_any_node(database_url, at_work):
    error, message, nodes = await stored_as(
        database_url, at_work, '{"from":"a","to":"b"', '{"from":"c","to":"b"'
    )
    assert error == "VALIDATION_ERROR"
    assert "c → b → c" in message
    assert nodes == {}
