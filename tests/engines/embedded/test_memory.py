import asyncio
import contextlib
import logging
import threading
from collections import Counter
from typing import ClassVar

import orjson
import pytest
from riven.documents.load import LoadedDocument
from tests.effects.kit import Free, FreeConfig
from tests.effects.manual import START
from tests.engines.embedded.kit import Running, Stuck, by_path, settle, statuses

from riven.core.errors import ErrorClass, InvalidDocumentError, RivenError
from riven.core.graph import Edge, Graph, Node, RetryPolicy
from riven.core.ids import NodeKey
from riven.engines.embedded.engine import (
    ControlError,
    DecidedApprovalError,
    InvalidDecisionError,
    UnknownApprovalError,
)
from riven.engines.embedded.job import GRACE
from riven.engines.embedded.journal import ExecutionChange
from riven.nodes.contract import NodeContext, NodeError, NodeResult
from riven.nodes.function import function
from riven.wire.document import Document, NodeDocument

LINEAR = """
name: linear
nodes:
  a: {type: echo, name: First, with: {value: {n: "{{ input.n }}"}}}
  b: {type: echo, needs: [a], with: {value: "{{ steps.a.output.n + 1 }}"}}
output: {sum: "{{ steps.b.output }}"}
"""


class Failing(Free):
    """Fails twice, then gives its attempt."""

    type = "failing"

    async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
        if context.attempt < 3:
            raise NodeError(ErrorClass.NETWORK_ERROR, f"away {context.attempt}")
        return NodeResult(context.attempt)


# ---- the object --------------------------------------------------------------------------------------------------------


async def test_the_whole_object_of_a_run():
    running = Running()
    result = await running.run(LINEAR, {"n": 1}, execution_id="e-1")

    at = "2026-11-19T08:00:00.000Z"
    ended = {
        "status": "COMPLETED",
        "outcome": "success",
        "attempt": 1,
        "attempts": [
            {
                "attempt": 1,
                "status": "COMPLETED",
                "startedAt": at,
                "finishedAt": at,
                "error": None,
                "nextRetryAt": None,
            }
        ],
        "startedAt": at,
        "finishedAt": at,
        "durationMs": 0,
        "error": None,
        "skipReason": None,
    }
    assert result == {
        "executionId": "e-1",
        "workflow": {"name": "linear"},
        "status": "COMPLETED",
        "phase": "COMPLETED",
        "input": {"n": 1},
        "output": {"sum": 2},
        "error": None,
        "createdAt": at,
        "startedAt": at,
        "finishedAt": at,
        "durationMs": 0,
        "labels": {},
        "correlationId": None,
        "waiting": None,
        "nodes": [
            {
                "path": "a",
                "type": "echo",
                "name": "First",
                "input": {"value": {"n": 1}},
                "output": {"n": 1},
                **ended,
            },
            {"path": "b", "type": "echo", "name": None, "input": {"value": 2}, "output": 2, **ended},
        ],
    }
    assert orjson.dumps(result)


async def test_an_execution_without_a_name_gets_a_uuid_of_its_own():
    first = await Running().run("name: x\nnodes: {}")
    second = await Running(seed=2).run("name: x\nnodes: {}")

    assert first["executionId"] != second["executionId"]
    assert first["executionId"][14] == "7"
    assert first["status"] == "COMPLETED"
    assert first["output"] is None


async def test_nodes_are_listed_in_document_order_with_those_that_never_started():
    result = await Running().run(
        """
        name: order
        nodes:
          last: {type: echo, needs: [each]}
          each:
            type: for_each
            needs: [{node: choose, outcome: "true"}]
            with: {items: [1, 2], concurrency: 1}
            body:
              nodes:
                second: {type: echo, needs: [first]}
                first: {type: echo}
          never:
            type: for_each
            needs: [{node: choose, outcome: "false"}]
            with: {items: [1]}
            body: {nodes: {inner: {type: echo}}}
          choose: {type: condition, with: {if: "true"}}
        """
    )

    assert [node["path"] for node in result["nodes"]] == [
        "last",
        "each",
        "each[0].second",
        "each[0].first",
        "each[1].second",
        "each[1].first",
        "never",
        "choose",
    ]
    never = by_path(result)["never"]
    assert (never["status"], never["skipReason"]) == ("SKIPPED", "not_chosen")
    assert (never["attempt"], never["attempts"], never["startedAt"], never["finishedAt"]) == (
        0,
        [],
        None,
        None,
    )


async def test_items_are_listed_by_their_number():
    result = await Running().run(
        """
        name: many
        nodes:
          each:
            type: for_each
            with: {items: "{{ input.list }}"}
            body: {nodes: {a: {type: echo, with: {value: "{{ index }}"}}}, output: "{{ steps.a.output }}"}
        output: "{{ steps.each.output }}"
        """,
        {"list": list(range(12))},
    )

    assert [node["path"] for node in result["nodes"]][1:] == [f"each[{n}].a" for n in range(12)]
    assert result["output"] == list(range(12))


async def test_branches_loops_calls_and_an_approval_in_one_document():
    running = Running()
    running.on_change = lambda change: (
        running.engine.approve(change.path, "approved", comment="fine", data={"sum": 3}, by="Ann")
        if change.waiting is not None and change.waiting.kind == "approval"
        else None
    )
    document = running.load(
        """
        name: whole
        input: {type: object, properties: {list: {type: array}, extra: {default: 5}}}
        nodes:
          large: {type: condition, with: {if: "size(input.list) > 1"}}
          ask:
            type: approval
            needs: [{node: large, outcome: "true"}]
            with: {title: "Send {{ size(input.list) }}?", form: {type: object, required: [sum]}}
          small: {type: echo, needs: [{node: large, outcome: "false"}]}
          each:
            type: for_each
            needs: [{node: ask, outcome: approved}]
            with: {items: "{{ input.list }}"}
            body:
              nodes: {sub: {type: call, with: {workflow: double, input: {n: "{{ item }}"}}}}
              output: "{{ steps.sub.output }}"
          poll:
            type: repeat
            needs: [each]
            with: {until: "iteration.previous >= 2", maxIterations: 5}
            body: {nodes: {a: {type: echo, with: {value: "{{ iteration.index }}"}}}, output: "{{ steps.a.output }}"}
          end: {type: echo, needs: [poll, small], join: any, with: {value: "{{ steps.ask.output }}"}}
        output: ["{{ steps.each.output }}", "{{ steps.poll.output }}", "{{ input.extra }}", "{{ steps.end.output.by }}"]
        """,
        double="name: double\nnodes: {a: {type: echo, with: {value: '{{ input.n * 2 }}'}}}\noutput: '{{ steps.a.output }}'",
    )
    result = await running.run(document, {"list": [4, 5]})

    assert result["error"] is None
    assert result["output"] == [[8, 10], 2, 5, "Ann"]
    assert statuses(result) == {
        "large": "COMPLETED",
        "ask": "COMPLETED",
        "small": "SKIPPED",
        "each": "COMPLETED",
        "each[0].sub": "COMPLETED",
        "each[0].sub.a": "COMPLETED",
        "each[1].sub": "COMPLETED",
        "each[1].sub.a": "COMPLETED",
        "poll": "COMPLETED",
        "poll[0].a": "COMPLETED",
        "poll[1].a": "COMPLETED",
        "poll[2].a": "COMPLETED",
        "end": "COMPLETED",
    }
    ask = by_path(result)["ask"]
    assert ask["outcome"] == "approved"
    assert ask["input"]["title"] == "Send 2?"
    assert ask["output"] == {
        "decision": "approved",
        "by": "Ann",
        "at": "2026-11-19T08:00:00.000Z",
        "comment": "fine",
        "data": {"sum": 3},
    }


async def test_the_input_is_checked_and_its_defaults_filled_in():
    running = Running()
    document = running.load(
        "name: x\ninput: {type: object, required: [n], properties: {n: {type: integer}, m: {default: 3}}}\nnodes: {}\n"
        "output: '{{ input.m }}'"
    )
    result = await running.run(document, {"n": 1})
    assert (result["input"], result["output"]) == ({"n": 1, "m": 3}, 3)

    with pytest.raises(InvalidDocumentError, match=r"input\.n"):
        await running.engine.run(document, {"n": "one"})


async def test_a_document_that_is_not_valid_does_not_start():
    running = Running()
    with pytest.raises(InvalidDocumentError):
        await running.engine.run(LoadedDocument(document=None, graph=None, problems=()), {})


async def test_one_engine_runs_one_document_at_a_time():
    running = Running(Stuck)
    task = running.start("name: x\nnodes: {a: {type: stuck}}")
    await settle()
    with pytest.raises(RivenError, match="already"):
        await running.engine.run(running.load("name: y\nnodes: {}"), {})
    running.engine.cancel()

    assert (await task)["status"] == "CANCELED"
    assert (await running.run("name: y\nnodes: {}"))["status"] == "COMPLETED"


# ---- parallelism -------------------------------------------------------------------------------------------------------


class Meeting(Free):
    """Ends when two of them are there."""

    type = "meeting"
    met: ClassVar[asyncio.Barrier]

    async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
        await self.met.wait()
        return NodeResult()


async def test_two_branches_run_at_the_same_time():
    Meeting.met = asyncio.Barrier(2)
    result = await Running(Meeting).run("name: x\nnodes: {a: {type: meeting}, b: {type: meeting}}")

    assert result["status"] == "COMPLETED"


async def test_what_follows_a_fast_node_does_not_wait_for_its_slow_sibling():
    """The slow one ends only when the fast one's successor has run."""
    successor_ran = asyncio.Event()

    class Slow(Free):
        type = "slow"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            await successor_ran.wait()
            return NodeResult()

    class Successor(Free):
        type = "successor"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            successor_ran.set()
            return NodeResult()

    result = await Running(Slow, Successor).run(
        "name: x\nnodes: {slow: {type: slow}, fast: {type: noop}, after: {type: successor, needs: [fast]}}"
    )

    assert result["status"] == "COMPLETED"


class Crowd(Free):
    """Counts how many are under way; ends when `wanted` have been so at once, or nothing more comes."""

    type = "crowd"
    now: ClassVar[int] = 0
    most: ClassVar[int] = 0
    wanted: ClassVar[int] = 0
    enough: ClassVar[asyncio.Event]

    async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
        Crowd.now += 1
        Crowd.most = max(Crowd.most, Crowd.now)
        if Crowd.now >= Crowd.wanted:
            Crowd.enough.set()
        await self.enough.wait()
        Crowd.now -= 1
        return NodeResult()


@pytest.mark.parametrize(("limit", "most"), [(100, 100), (10_000, 5_000)])
async def test_thousands_of_nodes_in_flight_are_bounded_by_the_limit(limit: int, most: int):
    Crowd.now, Crowd.most, Crowd.wanted, Crowd.enough = 0, 0, most, asyncio.Event()
    running = Running(Crowd, max_in_flight=limit)
    document = running.load(
        "name: x\nnodes: {each: {type: for_each, with: {items: '{{ input.list }}', concurrency: 5000},"
        " body: {nodes: {a: {type: crowd}}}}}"
    )
    result = await running.engine.run(document, {"list": list(range(5_000))})

    assert result["status"] == "COMPLETED"
    assert Counter(statuses(result).values()) == {"COMPLETED": 5_001}
    assert Crowd.most == most


async def test_nodes_that_wait_for_time_take_no_place():
    result = await Running(max_in_flight=1).run(
        "name: x\nnodes: {w: {type: wait, with: {for: 1h}}, a: {type: echo}, b: {type: echo, needs: [a, w]}}"
    )

    assert result["status"] == "COMPLETED"
    assert result["durationMs"] == 3_600_000


# ---- failures ----------------------------------------------------------------------------------------------------------


async def test_a_failed_attempt_is_tried_again_by_the_schedule_and_every_attempt_is_told():
    running = Running(Failing)
    result = await running.run(
        "name: x\nnodes: {a: {type: failing}, b: {type: echo, needs: [a], with: {value: '{{ steps.a.attempts }}'}}}"
    )

    node = by_path(result)["a"]
    assert (node["status"], node["attempt"], node["output"], node["error"]) == ("COMPLETED", 3, 3, None)
    assert [
        (a["startedAt"][17:], a["status"], a["error"] and a["error"]["message"]) for a in node["attempts"]
    ] == [
        ("00.000Z", "FAILED", "away 1"),
        ("01.000Z", "FAILED", "away 2"),
        ("03.000Z", "COMPLETED", None),
    ]
    assert [a["nextRetryAt"] and a["nextRetryAt"][17:] for a in node["attempts"]] == [
        "01.000Z",
        "03.000Z",
        None,
    ]
    assert node["durationMs"] == result["durationMs"] == 3_000
    assert by_path(result)["b"]["output"] == 3
    assert [c.status for c in running.changes if c.path == "a"] == [
        "RUNNING",
        "RETRYING",
        "RUNNING",
        "RETRYING",
        "RUNNING",
        "COMPLETED",
    ]


async def test_when_no_attempt_is_left_the_last_error_counts():
    result = await Running(Failing).run("name: x\nnodes: {a: {type: failing, retry: {maxAttempts: 2}}}")

    assert result["status"] == "FAILED"
    assert result["error"] == {"node": "a", "type": "NETWORK_ERROR", "message": "away 2"}
    node = by_path(result)["a"]
    assert node["error"] == {"type": "NETWORK_ERROR", "message": "away 2"}
    assert node["outcome"] is None
    assert node["attempts"][1]["nextRetryAt"] is None


async def test_the_delay_varies_by_the_jitter_and_alike_for_one_seed():
    async def delay(seed: int) -> str:
        running = Running(Failing, seed=seed, retry=RetryPolicy(jitter=0.5))
        result = await running.run("name: x\nnodes: {a: {type: failing}}")
        return str(by_path(result)["a"]["attempts"][0]["nextRetryAt"])

    assert await delay(1) == await delay(1)
    assert await delay(1) != await delay(2)


async def test_an_exception_in_a_node_type_is_a_failed_node_and_nothing_worse():
    class Broken(Free):
        type = "broken"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            raise ZeroDivisionError("by nobody")

    result = await Running(Broken).run(
        "name: x\nnodes: {a: {type: broken, continueOnError: true}, b: {type: echo, needs: [a], with: {value: '{{ steps.a.error.message }}'}}}"
    )

    assert result["status"] == "COMPLETED"
    assert by_path(result)["b"]["output"] == "ZeroDivisionError: by nobody"
    assert by_path(result)["a"]["attempt"] == 3


async def test_an_output_that_cannot_be_built_fails_the_execution():
    result = await Running().run("name: x\nnodes: {a: {type: echo}}\noutput: {n: '{{ input.nope }}'}")

    assert result["status"] == "FAILED"
    assert (result["error"]["node"], result["error"]["type"]) == ("output", "TEMPLATE_ERROR")
    assert result["error"]["message"].startswith("output.n: ")
    assert statuses(result) == {"a": "COMPLETED"}


async def test_a_node_that_takes_too_long_times_out():
    result = await Running(Stuck).run(
        "name: x\nnodes: {a: {type: stuck, timeout: 2s, retry: {maxAttempts: 2, initialInterval: 1s}}}"
    )

    assert result["error"]["type"] == "TIMEOUT"
    assert by_path(result)["a"]["durationMs"] == 5_000


async def test_a_broken_graph_ends_the_run_and_names_the_nodes():
    keys = ("a", "b", "c")
    nodes = {key: NodeDocument(key=key, type="noop") for key in keys}
    graph = Graph(
        tuple(Node(key=NodeKey(key), type="noop") for key in keys),
        (Edge(NodeKey("b"), NodeKey("c")), Edge(NodeKey("c"), NodeKey("b"))),
    )
    loaded = LoadedDocument(document=Document(name="cycle", nodes=nodes), graph=graph, problems=())
    result = await Running().run(loaded)

    assert (result["status"], result["phase"]) == ("FAILED", "FAILED")
    assert result["error"]["type"] == "INTERNAL_ERROR"
    assert result["error"]["node"] is None
    assert "b, c" in result["error"]["message"]
    assert statuses(result) == {"a": "COMPLETED", "b": "CANCELED", "c": "CANCELED"}


# ---- cancel, timeout, pause: and nothing is left behind (every test here checks that) -------------------------------------


async def test_a_canceled_run_leaves_nothing_running():
    running = Running(Stuck)
    task = running.start(
        """
        name: x
        nodes:
          done: {type: echo}
          a: {type: stuck, needs: [done]}
          each: {type: for_each, with: {items: [1, 2, 3]}, body: {nodes: {s: {type: stuck}, t: {type: echo, needs: [s]}}}}
          w: {type: wait, with: {for: 1d}}
          s: {type: signal, with: {name: never}}
          later: {type: echo, needs: [a]}
        """
    )
    await settle()
    running.engine.cancel()
    result = await task

    assert (result["status"], result["phase"], result["error"]) == ("CANCELED", "CANCELED", None)
    found = statuses(result)
    assert found.pop("done") == "COMPLETED"
    assert set(found.values()) == {"CANCELED"}
    assert len(found) == 11
    assert by_path(result)["a"]["attempts"][0]["status"] == "CANCELED"
    assert by_path(result)["later"]["attempts"] == []
    assert running.time.due == []


async def test_a_run_that_takes_too_long_is_ended():
    running = Running(Stuck)
    result = await running.run(
        "name: x\ntimeout: 10m\nnodes: {a: {type: stuck}, w: {type: wait, with: {for: 1d}}}"
    )

    assert (result["status"], result["durationMs"]) == ("FAILED", 600_000)
    assert result["error"]["type"] == "TIMEOUT"
    assert result["error"]["node"] is None
    assert statuses(result) == {"a": "CANCELED", "w": "CANCELED"}
    assert running.time.due == []


@pytest.mark.parametrize(("own", "given", "expected"), [("10m", 30.0, 30_000), ("10s", 30.0, 10_000)])
async def test_the_shorter_timeout_counts(own: str, given: float, expected: int):
    result = await Running(Stuck).run(
        f"name: x\ntimeout: {own}\nnodes: {{a: {{type: stuck}}}}", timeout=given
    )

    assert result["durationMs"] == expected


async def test_a_cancel_before_the_start_ends_the_run_at_once():
    running = Running(Stuck)
    running.engine.cancel()
    result = await running.run("name: x\nnodes: {a: {type: stuck}}")

    assert result["status"] == "CANCELED"


async def test_a_loop_that_never_waits_can_be_canceled():
    running = Running()
    task = running.start(
        """
        name: x
        nodes:
          outer:
            type: repeat
            with: {while: "true", maxIterations: 1000000}
            body: {nodes: {inner: {type: repeat, with: {while: "false"}, body: {nodes: {a: {type: noop}}}}}}
        """
    )
    await settle()
    running.engine.cancel()
    result = await task

    assert result["status"] == "CANCELED"
    assert 10 < len(result["nodes"]) < 100_000


async def test_nodes_in_line_are_canceled_without_having_begun():
    running = Running(Stuck, max_in_flight=2)
    task = running.start(
        "name: x\nnodes: {a: {type: stuck}, b: {type: stuck}, c: {type: stuck}, d: {type: stuck}}"
    )
    await settle()
    running.engine.cancel()
    result = await task

    assert set(statuses(result).values()) == {"CANCELED"}
    assert [len(node["attempts"]) for node in result["nodes"]] == [1, 1, 0, 0]


async def test_an_attempt_that_refuses_to_end_is_abandoned():
    release = asyncio.Event()
    refused = asyncio.Event()

    class Refusing(Free):
        type = "refusing"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    refused.set()
            return NodeResult("too late")

    running = Running(Refusing, max_in_flight=1)
    task = running.start(
        "name: x\nnodes: {a: {type: refusing}, b: {type: echo, needs: [{node: a, outcome: always}]}}"
    )
    await settle()
    running.engine.cancel()
    await refused.wait()
    assert not task.done()
    running.time.advance(GRACE)
    result = await task

    assert (result["status"], statuses(result)) == ("CANCELED", {"a": "CANCELED", "b": "CANCELED"})
    release.set()
    await settle()


async def test_an_attempt_that_refuses_its_timeout_frees_its_place():
    release = asyncio.Event()

    class Refusing(Free):
        type = "refusing"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            while not release.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await release.wait()
            return NodeResult("too late")

    running = Running(Refusing, max_in_flight=1)
    result = await running.run(
        "name: x\nnodes: {a: {type: refusing, timeout: 1s, retry: {maxAttempts: 1}, continueOnError: true},"
        " b: {type: echo, needs: [a]}}"
    )

    assert statuses(result) == {"a": "FAILED", "b": "COMPLETED"}
    assert by_path(result)["a"]["error"]["type"] == "TIMEOUT"
    assert result["durationMs"] == 1_000 + GRACE
    release.set()
    await settle()


async def test_a_plain_function_that_takes_too_long_is_abandoned():
    go_on = threading.Event()

    @function(name="tests.block")
    def block() -> str:
        go_on.wait(30)
        return "too late"

    running = Running(functions=[block])
    task = running.start(
        "name: x\nnodes: {a: {type: python, with: {function: tests.block}, timeout: 1s, retry: {maxAttempts: 1}}}"
    )
    while not running.pool.busy:  # noqa: ASYNC110 - a thread starts
        await asyncio.sleep(0.001)
    result = await running.finish(task)

    assert result["error"]["type"] == "TIMEOUT"
    assert running.pool.abandoned == 1
    go_on.set()
    while running.pool.busy:  # noqa: ASYNC110 - and ends
        await asyncio.sleep(0.001)
    running.pool.stop()


async def test_a_paused_run_starts_nothing_and_fires_no_timer():
    gate = asyncio.Event()

    class Gate(Free):
        type = "gate"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            await gate.wait()
            return NodeResult()

    running = Running(Gate)
    task = running.start(
        "name: x\nnodes: {a: {type: gate}, b: {type: echo, needs: [a]}, w: {type: wait, with: {for: 1m}}, c: {type: echo, needs: [w]}}"
    )
    await settle()
    running.engine.pause()
    gate.set()
    await settle()
    running.time.advance(120_000)
    await settle()
    latest = {change.path: change.status for change in running.changes if change.path}
    assert latest == {"a": "COMPLETED", "w": "WAITING"}

    running.engine.resume()
    result = await task
    assert result["status"] == "COMPLETED"
    assert result["durationMs"] == 120_000


# ---- signals and approvals ---------------------------------------------------------------------------------------------


TWO_SIGNALS = """
name: x
nodes:
  one: {type: signal, with: {name: go}}
  two: {type: signal, needs: [one], with: {name: go}}
output: ["{{ steps.one.output }}", "{{ steps.two.output }}"]
"""


async def test_signals_are_kept_for_their_nodes_in_order():
    running = Running()
    running.engine.signal("go", {"n": 1})
    running.engine.signal("other", 0)
    running.engine.signal("go", None)

    assert (await running.run(TWO_SIGNALS))["output"] == [{"n": 1}, None]


async def test_a_signal_wakes_the_node_that_waits():
    running = Running()
    task = running.start(TWO_SIGNALS)
    await settle()
    waiting = [change for change in running.changes if change.status == "WAITING"]
    assert [(c.path, c.waiting and c.waiting.name) for c in waiting] == [("one", "go")]
    running.engine.signal("go", 1)
    running.engine.signal("go", 2)

    assert (await task)["output"] == [1, 2]


async def test_a_signal_that_crosses_with_the_end_of_its_node_is_for_the_next():
    running = Running()
    document = """
    name: x
    nodes:
      one: {type: signal, with: {name: go, timeout: 1s}}
      two: {type: signal, needs: [one], with: {name: go}}
    output: ["{{ steps.one.outcome }}", "{{ steps.one.output }}", "{{ steps.two.output }}"]
    """
    task = running.start(document)
    await settle()
    running.time.advance(1_000)
    running.engine.signal("go", "late")

    assert (await task)["output"] == ["expired", None, "late"]


async def test_a_payload_that_is_no_json_is_refused():
    running = Running()
    task = running.start(TWO_SIGNALS)
    await settle()
    with pytest.raises(ControlError, match="payload"):
        running.engine.signal("go", {1, 2})
    running.engine.cancel()
    await task


APPROVAL = """
name: x
nodes:
  ask: {type: approval, with: {title: "Pay?", form: {type: object, required: [sum], properties: {sum: {type: number}}}, timeout: 3d}}
  yes: {type: echo, needs: [{node: ask, outcome: approved}]}
  no: {type: echo, needs: [{node: ask, outcome: rejected}]}
  late: {type: echo, needs: [{node: ask, outcome: expired}]}
"""


async def test_an_approval_takes_one_decision_that_fits_its_form():
    running = Running()
    with pytest.raises(UnknownApprovalError):
        running.engine.approve("ask", "approved")
    task = running.start(APPROVAL)
    await settle()
    (change,) = [change for change in running.changes if change.status == "WAITING"]
    assert change.waiting is not None
    assert (change.waiting.kind, change.waiting.until) == ("approval", START + 3 * 86_400_000)
    assert change.waiting.config["title"] == "Pay?"

    with pytest.raises(UnknownApprovalError):
        running.engine.approve("yes", "approved")
    with pytest.raises(InvalidDecisionError, match=r"data\.sum|data"):
        running.engine.approve("ask", "approved", data={"sum": "much"})
    with pytest.raises(InvalidDecisionError, match="data"):
        running.engine.approve("ask", "approved")
    with pytest.raises(InvalidDecisionError, match="decision"):
        running.engine.approve("ask", "expired")  # type: ignore[arg-type]
    running.engine.approve("ask", "rejected", comment="no money")
    with pytest.raises(DecidedApprovalError):
        running.engine.approve("ask", "approved", data={"sum": 1})
    result = await task

    assert statuses(result) == {"ask": "COMPLETED", "yes": "SKIPPED", "no": "COMPLETED", "late": "SKIPPED"}
    assert by_path(result)["ask"]["output"]["comment"] == "no money"


async def test_an_approval_that_nobody_decides_expires():
    result = await Running().run(APPROVAL)

    assert statuses(result)["late"] == "COMPLETED"
    assert by_path(result)["ask"]["output"]["decision"] == "expired"
    assert result["durationMs"] == 3 * 86_400_000


# ---- secrets, listeners, logs --------------------------------------------------------------------------------------------


async def test_secrets_are_nowhere_in_what_is_told(caplog: pytest.LogCaptureFixture):
    secret = 'p@ss"wörd/with+all'

    class Leaking(Free):
        type = "leaking"

        class Config(FreeConfig):
            token: str = ""

        config = Config

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            raise NodeError(ErrorClass.HTTP_CLIENT_ERROR, f"refused: {config.token}")  # type: ignore[attr-defined]

    caplog.set_level(logging.DEBUG)
    running = Running(Leaking)
    result = await running.run(
        """
        name: x
        nodes:
          a: {type: echo, with: {value: {auth: "Bearer {{ secrets.token }}", list: ["{{ secrets.token }}"]}}}
          b: {type: log, needs: [a], with: {message: "it is {{ secrets.token }}", data: {t: "{{ secrets.token }}"}}}
          c: {type: leaking, with: {token: "{{ secrets.token }}"}, continueOnError: true}
          d: {type: echo, needs: [a, c], with: {value: "{{ steps.a.output.auth + steps.c.error.message }}"}}
        output: "{{ steps.d.output }}"
        """,
        {"hint": f"starts like {secret}"},
        secrets={"token": secret, "unused": "COMPLETED"},
    )

    assert result["status"] == "COMPLETED"
    assert result["output"] == "Bearer ***refused: ***"
    everything = str(result) + orjson.dumps(result).decode() + str(running.changes)
    everything += str([record.__dict__ for record in caplog.records])
    assert "p@ss" not in everything
    assert "it is ***" in [record.getMessage() for record in caplog.records]


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
