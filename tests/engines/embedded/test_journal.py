import logging

import pytest
from tests.engines.embedded.kit import Running

from riven.engines.embedded.journal import ExecutionChange

LINEAR = """
name: linear
nodes:
  a: {type: echo, name: First, with: {value: {n: "{{ input.n }}"}}}
  b: {type: echo, needs: [a], with: {value: "{{ steps.a.output.n + 1 }}"}}
output: {sum: "{{ steps.b.output }}"}
"""


async def test_a_listener_that_breaks_does_not_break_the_run(caplog: pytest.LogCaptureFixture):
    running = Running()

    def break_down(_: ExecutionChange) -> None:
        raise RuntimeError("no screen")

    running.on_change = break_down
    result = await running.run(LINEAR, {"n": 1})

    assert result["status"] == "COMPLETED"
    assert len(running.changes) == 1
    assert [record.message for record in caplog.records] == ["listener_broke"]


async def test_the_listener_hears_of_every_change_in_order():
    running = Running()
    await running.run(
        "name: x\nnodes: {a: {type: echo}, b: {type: echo, needs: [{node: a, outcome: failure}]}, "
        "each: {type: for_each, with: {items: [1, 2]}, body: {nodes: {c: {type: noop}}}}}"
    )

    assert [(change.path, change.status.value) for change in running.changes] == [
        ("", "RUNNING"),
        ("each", "RUNNING"),
        ("each", "RUNNING"),
        ("a", "RUNNING"),
        ("each[0].c", "RUNNING"),
        ("each[1].c", "RUNNING"),
        ("a", "COMPLETED"),
        ("each[0].c", "COMPLETED"),
        ("each[1].c", "COMPLETED"),
        ("b", "SKIPPED"),
        ("each", "COMPLETED"),
        ("", "COMPLETED"),
    ]
    assert {change.items for change in running.changes if change.path == "each"} == {None, 2}


async def test_the_log_tells_the_events_that_operators_know(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "riven.engine")
    await Running().run(
        "name: x\nnodes: {a: {type: noop}, b: {type: noop}, c: {type: fail, needs: [a]}}", execution_id="e-1"
    )

    told = [(r.message, r.__dict__.get("count"), r.__dict__.get("nodePath")) for r in caplog.records]
    assert told == [
        ("execution_started", None, None),
        ("nodes_ready", 2, None),
        ("nodes_ready", 1, None),
        ("node_failed", None, "c"),
        ("execution_finished", None, None),
    ]
    assert {record.__dict__["executionId"] for record in caplog.records} == {"e-1"}
    assert caplog.records[-1].__dict__["status"] == "FAILED"
