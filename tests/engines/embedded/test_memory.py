import asyncio
import logging

import orjson
import pytest
from tests.effects.kit import Free, FreeConfig
from tests.engines.embedded.kit import Running, Stuck, by_path, settle, statuses

from riven.core.errors import ErrorClass, InvalidDocumentError, RivenError
from riven.core.graph import Edge, Graph, Node, RetryPolicy
from riven.core.ids import NodeKey
from riven.documents.load import LoadedDocument
from riven.nodes.contract import NodeContext, NodeError, NodeResult
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


async def test_templates_see_a_run_without_an_installation():
    document = "name: x\nnodes: {}\noutput: '{{ workspace.id }} {{ execution.version }} {{ trigger.type }} {{ execution.id }}'"

    assert (await Running().run(document, execution_id="e-1"))["output"] == "local 0 manual e-1"


async def test_a_run_whose_task_is_ended_leaves_nothing_running():
    running = Running(Stuck)
    task = running.start(
        "name: x\nnodes: {a: {type: stuck}, b: {type: stuck}, w: {type: wait, with: {for: 1h}}}"
    )
    await settle()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert running.time.due == []


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
