"""What is said of a scope holds in every run of it: checked against the coordinator with random endings."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riven.core.coordinator import Coordinator
from riven.core.errors import ErrorClass
from riven.core.graph import SKIPPED, Edge, Graph, Join, JoinRule, Node, OnFailure
from riven.core.ids import NodeKey, NodePath
from riven.core.messages import (
    ExecutionStarted,
    ExecutionStatus,
    Finish,
    NodeCompleted,
    NodeFailed,
    SettleNode,
    StartNode,
)
from riven.documents.draft import DraftEdge
from riven.documents.flow import Flow, FlowNode


def node(key: str, *labels: str, join: JoinRule = JoinRule.NONE_FAILED, **fields: object) -> FlowNode:
    plain = {"at_least": 0, "may_skip": False, "continues": False}
    return FlowNode(key=key, labels=labels or ("success",), join=join, **(plain | fields))  # type: ignore[arg-type]


def edge(source: str, target: str, outcome: str | None = None) -> DraftEdge:
    return DraftEdge(source, target, outcome, ())


def flow_of(
    nodes: list[FlowNode], edges: list[DraftEdge], on_failure: OnFailure = OnFailure.FAIL_FAST
) -> Flow:
    keys = {each.key for each in nodes}
    asked = {key: keys - {key} for key in keys}
    return Flow({each.key: each for each in nodes}, edges, asked, on_failure, frozenset(keys))


def certain(flow: Flow, reader: str) -> set[str]:
    return {key for key in flow.nodes if flow.has_completed(key, reader)}


CHOICE = node("c", "true", "false")


def test_all_of_a_plain_chain_has_completed() -> None:
    flow = flow_of([node("a"), node("b"), node("d")], [edge("a", "b"), edge("b", "d")])
    assert certain(flow, "d") == {"a", "b"}
    assert all(map(flow.completes, "abd"))


def test_ancestors_are_those_with_a_way_to_the_reader() -> None:
    nodes = [node("a"), node("b"), node("d"), node("lonely")]
    flow = flow_of(nodes, [edge("a", "b"), edge("b", "d", "always")])
    assert {key for key in "abd" if flow.is_ancestor(key, "d")} == {"a", "b"}
    assert not flow.is_ancestor("d", "a")
    assert not flow.is_ancestor("lonely", "d")


def test_behind_a_condition_only_what_both_branches_have_in_common_is_certain() -> None:
    nodes = [node("first"), CHOICE, node("yes"), node("no"), node("end")]
    edges = [
        edge("first", "c"),
        edge("c", "yes", "true"),
        edge("c", "no", "false"),
        edge("yes", "end"),
        edge("no", "end"),
    ]
    flow = flow_of(nodes, edges)
    assert certain(flow, "yes") == {"first", "c"}
    assert certain(flow, "end") == {"first", "c"}
    assert [key for key in flow.nodes if flow.completes(key)] == ["first", "c", "end"]


def test_a_node_behind_all_branches_is_certain_for_those_that_wait_for_others_too() -> None:
    nodes = [CHOICE, node("yes"), node("no"), node("merge"), node("other"), node("end")]
    edges = [
        edge("c", "yes", "true"),
        edge("c", "no", "false"),
        edge("yes", "merge"),
        edge("no", "merge"),
        edge("merge", "end"),
        edge("other", "end"),
    ]
    assert certain(flow_of(nodes, edges), "end") == {"c", "merge", "other"}


def test_an_edge_from_the_condition_itself_does_not_make_its_branch_uncertain() -> None:
    nodes = [CHOICE, node("yes"), node("end")]
    edges = [edge("c", "yes", "true"), edge("yes", "end"), edge("c", "end", "true")]
    assert certain(flow_of(nodes, edges), "end") == {"c", "yes"}


def test_a_node_with_when_is_certain_for_its_only_followers_alone() -> None:
    nodes = [node("a", may_skip=True), node("b"), node("only"), node("both")]
    edges = [edge("a", "only"), edge("a", "both"), edge("b", "both")]
    flow = flow_of(nodes, edges)
    assert certain(flow, "only") == {"a"}
    assert certain(flow, "both") == {"b"}
    assert not flow.completes("a")


@pytest.mark.parametrize(
    ("outcome", "expected"), [("failure", set()), ("done", set()), ("always", set()), (None, {"a"})]
)
def test_a_failed_node_has_not_completed(outcome: str | None, expected: set[str]) -> None:
    flow = flow_of([node("a"), node("b")], [edge("a", "b", outcome)])
    assert certain(flow, "b") == expected


def test_a_node_that_goes_on_after_an_error_need_not_have_completed() -> None:
    flow = flow_of([node("a", continues=True), node("b")], [edge("a", "b")])
    assert certain(flow, "b") == set()
    assert not flow.completes("a")


def test_joins_say_which_edges_are_taken() -> None:
    edges = [edge("a", "t"), edge("b", "t")]
    expected = {
        JoinRule.ALL: {"a", "b"},
        JoinRule.ANY: set(),
        JoinRule.NONE_FAILED: {"b"},
        JoinRule.ALL_DONE: {"b"},
    }
    for join, keys in expected.items():
        nodes = [node("a", may_skip=True), node("b"), node("t", join=join)]
        assert certain(flow_of(nodes, edges), "t") == keys, join


def test_nothing_is_known_on_or_behind_a_cycle() -> None:
    flow = flow_of(
        [node("a"), node("b"), node("d"), node("e")],
        [edge("e", "a"), edge("a", "b"), edge("b", "a"), edge("b", "d")],
    )
    assert flow.ordered == {"e"}


# ---- against the coordinator ------------------------------------------------------------------------------------------

JOINS = [JoinRule.NONE_FAILED] * 3 + [JoinRule.ALL, JoinRule.ANY, JoinRule.ALL_DONE, JoinRule.AT_LEAST]


@st.composite
def scopes(draw: st.DrawFn) -> tuple[list[FlowNode], list[DraftEdge], OnFailure]:
    nodes: list[FlowNode] = []
    edges: list[DraftEdge] = []
    for place in range(draw(st.integers(1, 7))):
        key = f"n{place}"
        incoming = []
        for source in nodes:
            possible = st.sampled_from([None, None, *source.labels, "failure", "done", "always"])
            outcomes = draw(st.lists(possible, max_size=2, unique=True))
            incoming += [edge(source.key, key, outcome) for outcome in outcomes]
        join = draw(st.sampled_from(JOINS))
        nodes.append(
            node(
                key,
                *draw(st.sampled_from([("success",), ("success",), ("x", "y"), ("x", "y", "z")])),
                join=join,
                at_least=draw(st.integers(1, max(1, len(incoming)))) if join is JoinRule.AT_LEAST else 0,
                may_skip=draw(st.sampled_from([False, False, False, True])),
                continues=draw(st.sampled_from([False, False, False, True])),
            )
        )
        edges += incoming
    return nodes, edges, draw(st.sampled_from(OnFailure))


def run(
    nodes: list[FlowNode], edges: list[DraftEdge], on_failure: OnFailure, dice: Random
) -> tuple[list[tuple[str, frozenset[str]]], ExecutionStatus, set[str]]:
    """What had completed when each node started, how it ended, and what had completed in the end."""
    graph = Graph(
        tuple(
            Node(
                key=NodeKey(each.key),
                type="test",
                labels=each.labels,
                join=Join(each.join, each.at_least),
                continue_on_error=each.continues,
            )
            for each in nodes
        ),
        tuple(Edge(NodeKey(each.source), NodeKey(each.target), each.outcome) for each in edges),
        on_failure,
    )
    by_key = {each.key: each for each in nodes}
    coordinator = Coordinator(graph)
    todo = list(coordinator.receive(ExecutionStarted(0)))
    running: list[str] = []
    starts: list[tuple[str, frozenset[str]]] = []
    completed: set[str] = set()
    while True:
        for command in todo:
            if isinstance(command, StartNode):
                starts.append((command.path, frozenset(completed)))
                running.append(command.path)
            elif isinstance(command, Finish):
                return starts, command.status, completed
            else:
                assert not isinstance(command, SettleNode) or command.path not in completed
        key = running.pop(dice.randrange(len(running)))
        path = NodePath(key)
        if by_key[key].may_skip and dice.random() < 0.4:
            todo = coordinator.receive(NodeCompleted(path, 0, SKIPPED))
        elif dice.random() < 0.3:
            todo = coordinator.receive(NodeFailed(path, 0, ErrorClass.EXECUTION_ERROR))
        else:
            completed.add(key)
            todo = coordinator.receive(NodeCompleted(path, 0, dice.choice(by_key[key].labels)))


@given(scopes(), st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_what_is_certain_has_completed_in_every_run(
    scope: tuple[list[FlowNode], list[DraftEdge], OnFailure], seed: int
) -> None:
    nodes, edges, on_failure = scope
    flow = flow_of(nodes, edges, on_failure)
    dice = Random(seed)
    for _ in range(8):
        starts, status, completed = run(nodes, edges, on_failure, dice)
        for reader, before in starts:
            assert certain(flow, reader) <= before, reader
        if status is ExecutionStatus.COMPLETED:
            assert {key for key in flow.nodes if flow.completes(key)} <= completed


@given(scopes())
def test_certain_steps_are_ancestors(scope: tuple[list[FlowNode], list[DraftEdge], OnFailure]) -> None:
    flow = flow_of(*scope)
    assert flow.ordered == set(flow.nodes)
    for reader in flow.nodes:
        assert all(flow.is_ancestor(step, reader) for step in certain(flow, reader))
