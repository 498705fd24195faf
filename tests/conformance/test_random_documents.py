"""Random documents end, node by node, as the naive model of the rules says: text, graph, effects and engine together.

The documents finish their branches and let items fail one at a time: then nothing depends on the order in which nodes
end, and the model may take any.
"""

import asyncio
import json
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conformance.engines import EngineUnderTest
from tests.conformance.scenario import Scenario
from tests.core.graphs import graphs
from tests.core.naive import Model, NodeState

from riven.core.errors import ErrorClass
from riven.core.graph import (
    SKIPPED,
    Graph,
    Join,
    JoinRule,
    Node,
    NodeKind,
    OnFailure,
    OnItemFailure,
    RetryOverride,
)
from riven.core.ids import NodePath
from riven.core.messages import AGAIN, STOP, ExecutionStarted, NodeCompleted, NodeFailed, Step

MOST_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class Behaviour:
    """What a node does, wherever in the loops it stands."""

    runs: bool
    failures: int
    error_class: ErrorClass
    outcome: str
    count: int
    """Items of a for_each, rounds that a repeat wants."""


@dataclass
class Writer:
    """Writes a graph as a document, and remembers how its nodes behave."""

    dice: Random
    calls: dict[str, dict[str, Any]] = field(default_factory=dict)
    behaviour: dict[int, Behaviour] = field(default_factory=dict)
    """By id(): a node of the graph may stand in several places, as may its text."""

    def scope(self, graph: Graph) -> dict[str, Any]:
        edges = [
            {"from": edge.source, "to": edge.target}
            | ({} if edge.outcome is None else {"outcome": edge.outcome})
            for edge in graph.edges
        ]
        scope: dict[str, Any] = {"nodes": {node.key: self.node(node) for node in graph.nodes}, "edges": edges}
        return scope | ({"output": 1} if graph.has_output else {})

    def node(self, node: Node) -> dict[str, Any]:
        does = self.behaviour[id(node)] = Behaviour(
            runs=self.dice.random() < 0.9,
            failures=self.dice.choice([0, 0, 0, 0, 1, 2, 9]),
            error_class=self.dice.choice([ErrorClass.NETWORK_ERROR, ErrorClass.SECURITY_ERROR]),
            outcome=self.dice.choice(node.labels),
            count=self.dice.randrange(4),
        )
        written: dict[str, Any] = {"join": _join(node.join), "continueOnError": node.continue_on_error}
        if not does.runs:
            written["when"] = self.dice.choice([False, "1 == 2"])
        return written | self.of_kind(node, does)

    def of_kind(self, node: Node, does: Behaviour) -> dict[str, Any]:
        match node.kind:
            case NodeKind.ACTION:
                attempts = [{"fail": does.error_class}] * min(does.failures, MOST_ATTEMPTS)
                attempts.append({"outcome": does.outcome, "output": {"any": [1, "thing"]}})
                return {
                    "type": "scripted",
                    "with": {"labels": node.labels, "attempts": attempts},
                    "retry": {"maxAttempts": MOST_ATTEMPTS, "initialInterval": "1ms", "jitter": 0},
                }
            case NodeKind.WAIT:
                return {"type": "wait", "with": {"for": "1ms"}}
            case NodeKind.SIGNAL if "approved" in node.labels:
                return {"type": "approval", "with": {"title": "Well?", "timeout": "1ms"}}
            case NodeKind.SIGNAL:
                return {"type": "signal", "with": {"name": "never", "timeout": "1ms"}}
            case NodeKind.FOR_EACH:
                items = list(range(does.count))
                settings = {
                    "items": items,
                    "concurrency": node.concurrency,
                    "onItemFailure": node.on_item_failure,
                }
                return {"type": "for_each", "with": settings, "body": self.body(node)}
            case NodeKind.REPEAT:
                condition = (
                    {"while": f"iteration.index < {does.count}"}
                    if node.check_first
                    else {"until": f"iteration.index + 1 >= {does.count}"}
                )
                settings = {"maxIterations": node.max_iterations} | condition
                return {"type": "repeat", "with": settings, "body": self.body(node)}
            case NodeKind.CALL:
                name = f"called-{len(self.calls)}"
                self.calls[name] = {}
                self.calls[name] = self.body(node) | {"onFailure": "finish_branches"}
                return {"type": "call", "with": {"workflow": name}}

    def body(self, node: Node) -> dict[str, Any]:
        assert node.body is not None
        return self.scope(node.body)


def _join(join: Join) -> str | dict[str, int]:
    return {"atLeast": join.count} if join.rule is JoinRule.AT_LEAST else join.rule.value


def in_any_order(graph: Graph) -> Graph:
    """The graph without what would make its end depend on the order of events, or on the clock."""
    return replace(
        graph,
        on_failure=OnFailure.FINISH_BRANCHES,
        timeout=None,
        nodes=tuple(
            replace(
                node,
                pure=False,
                delay=0,
                timeout=None,
                concurrency=1 if node.on_item_failure is OnItemFailure.FAIL else node.concurrency,
                retry=RetryOverride(max_attempts=MOST_ATTEMPTS),
                body=None if node.body is None else in_any_order(node.body),
            )
            for node in graph.nodes
        ),
    )


def expected(graph: Graph, behaviour: dict[int, Behaviour]) -> Model:
    model = Model(graph)
    model.handle(ExecutionStarted(0))
    now = 0
    while model.end is None:
        now += 1
        if model.asks:
            path, (step, attempt) = next(iter(model.asks.items()))
            model.handle(_answer(model, behaviour, path, step, attempt, now))
        else:
            kind, path = min(model.timers, key=lambda key: model.timers[key])
            model.fire(kind, path, now)
    return model


def _answer(
    model: Model, behaviour: dict[int, Behaviour], path: NodePath, step: Step, attempt: int, now: int
) -> NodeCompleted | NodeFailed:
    if step is Step.CHECK:
        name, _, index = path.removesuffix("]").rpartition("[")
        state = model.find(NodePath(name))
        assert state is not None
        rounds = behaviour[id(state.node)].count
        again = int(index) < rounds if state.node.check_first else int(index) + 1 < rounds
        return NodeCompleted(path, now, AGAIN if again else STOP)
    if step is Step.OUTPUT:
        return NodeCompleted(path, now)
    state = model.find(path)
    assert state is not None
    does = behaviour[id(state.node)]
    if not does.runs:
        return NodeCompleted(path, now, SKIPPED)
    if state.node.kind is not NodeKind.ACTION:
        return NodeCompleted(path, now, fan_out=does.count, due=now)
    if attempt <= does.failures:
        return NodeFailed(path, now, does.error_class, retryable=does.error_class is ErrorClass.NETWORK_ERROR)
    return NodeCompleted(path, now, does.outcome)


def view(state: NodeState) -> tuple[str, str | None, str | None]:
    return state.status.value, state.outcome, state.reason and state.reason.value


@pytest.mark.slow
@given(graph=graphs(least=3, most=8), dice=st.integers(0, 2**32).map(Random))
@settings(deadline=None, max_examples=60, suppress_health_check=list(HealthCheck))
def test_a_random_document_ends_as_the_model_says(
    engine: EngineUnderTest, graph: Graph, dice: Random
) -> None:
    graph = in_any_order(graph)
    writer = Writer(dice)
    document = {"name": "random", "onFailure": "finish_branches"} | writer.scope(graph)
    scenario = Scenario(
        name="random",
        document=document,
        calls={called: json.dumps({"name": called} | body) for called, body in writer.calls.items()},
    )
    run = asyncio.run(engine.run(scenario))
    model = expected(graph, writer.behaviour)
    assert model.end is not None
    told = {node["path"]: (node["status"], node["outcome"], node["skipReason"]) for node in run["nodes"]}
    assert told == {state.path: view(state) for state in model.every_node()}
    assert run["status"] == model.end[0]
