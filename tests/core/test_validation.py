from collections.abc import Sequence
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.core.errors import Problem, Severity
from riven.core.graph import (
    Edge,
    Graph,
    Join,
    JoinRule,
    Node,
    NodeKind,
    RetryOverride,
)
from riven.core.ids import NodeKey
from riven.core.joins import End, resolve_edge
from riven.core.messages import NodeStatus
from riven.core.plan import topological_order
from riven.core.validation import MAX_LEVELS, MAX_NODES, GraphCode, validate


def node(key: str, **fields: object) -> Node:
    return Node(**{"key": NodeKey(key), "type": "noop", **fields})  # type: ignore[arg-type]


def edge(source: str, target: str, outcome: str | None = None) -> Edge:
    return Edge(NodeKey(source), NodeKey(target), outcome)


def found(problems: Sequence[Problem]) -> list[tuple[str, str]]:
    return [(problem.path, problem.code) for problem in problems]


CONDITION = {"type": "condition", "labels": ("true", "false")}


def test_a_graph_without_faults_has_no_problems() -> None:
    graph = Graph.of(["a", "b", "c", "lonely"], [("a", "b"), ("a", "c"), ("b", "c")])
    assert validate(graph) == []
    assert validate(Graph()) == []


def test_edges_to_unknown_nodes_are_found_at_either_end() -> None:
    graph = Graph.of(["a"], [("a", "b"), ("c", "a"), ("d", "e")])
    assert found(validate(graph)) == [
        ("edges[0].to", "unknown_node"),
        ("edges[1].from", "unknown_node"),
        ("edges[2].from", "unknown_node"),
        ("edges[2].to", "unknown_node"),
    ]


def test_an_edge_to_its_own_node_is_one_problem_and_no_cycle() -> None:
    assert found(validate(Graph.of(["a"], [("a", "a")]))) == [("edges[0]", "self_edge")]


def test_an_edge_is_twice_when_both_ends_and_the_outcome_agree() -> None:
    graph = Graph(
        (node("a", **CONDITION), node("b")),
        (edge("a", "b"), edge("a", "b", "true"), edge("a", "b", "true"), edge("a", "b")),
    )
    assert found(validate(graph)) == [("edges[2]", "duplicate_edge"), ("edges[3]", "duplicate_edge")]


def test_a_cycle_names_its_nodes_in_order_from_its_first_edge() -> None:
    graph = Graph.of(list("xabcy"), [("x", "b"), ("c", "a"), ("a", "b"), ("b", "c"), ("c", "y")])
    [problem] = validate(graph)
    assert (problem.path, problem.code) == ("edges[1]", "cycle")
    assert "c → a → b → c" in problem.message


def test_every_group_of_nodes_in_a_circle_gets_one_problem() -> None:
    edges = [("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "c"), ("d", "c"), ("e", "f")]
    assert found(validate(Graph.of(list("abcdef"), edges))) == [("edges[0]", "cycle"), ("edges[3]", "cycle")]


def test_a_long_cycle_is_told_shortly() -> None:
    keys = [f"n{index}" for index in range(MAX_NODES)]
    [problem] = validate(Graph.of(keys, [*pairwise(keys), (keys[-1], keys[0])]))
    assert problem.message.startswith("these nodes wait for each other in a circle: n0 → n1 → n2")
    assert len(problem.message) < 400


@given(
    st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=20).map(
        lambda pairs: list(dict.fromkeys((a, b) for a, b in pairs if a != b))
    )
)
def test_cycles_are_found_exactly_where_no_order_exists(pairs: list[tuple[int, int]]) -> None:
    graph = Graph.of([f"n{index}" for index in range(8)], [(f"n{a}", f"n{b}") for a, b in pairs])
    problems = validate(graph)
    assert {problem.code for problem in problems} <= {"cycle"}
    assert bool(problems) == (len(topological_order(graph)) < 8)
    for problem in problems:
        way = problem.message.partition(": ")[2].partition(";")[0].split(" → ")
        assert way[0] == way[-1]
        assert len(set(way)) == len(way) - 1 > 1
        steps = list(pairwise(way))
        assert all((int(a[1:]), int(b[1:])) in pairs for a, b in steps)
        assert pairs.index((int(way[0][1:]), int(way[1][1:]))) == int(problem.path[6:-1])


def test_an_outcome_that_the_source_cannot_produce_lists_what_it_can() -> None:
    graph = Graph(
        (node("a", **CONDITION), node("b")),
        (edge("a", "b", "yes"), edge("a", "b", "skipped"), edge("b", "a", "success")),
    )
    first, second, *_ = validate(graph)
    assert (first.path, first.code) == ("edges[0].outcome", "unknown_outcome")
    assert "it leaves by true, false, or write failure, done or always" in first.message
    assert "`always` covers a skipped node" in second.message


@pytest.mark.parametrize("outcome", [None, "success", "failure", "done", "always"])
def test_every_node_can_be_followed_by_its_labels_and_the_words_for_all(outcome: str | None) -> None:
    assert validate(Graph((node("a"), node("b")), (edge("a", "b", outcome),))) == []


def test_nothing_is_said_of_outcomes_whose_labels_are_not_known() -> None:
    nodes = (node("a", labels=()), node("b", join=Join(JoinRule.ALL)))
    assert validate(Graph(nodes, (edge("a", "b", "x"), edge("a", "b", "y")))) == []


def test_labels_that_mean_something_else_or_stand_twice_are_refused() -> None:
    graph = Graph((node("s", labels=("big", "failure", "big", "default")), node("b")), (edge("s", "b"),))
    assert found(validate(graph)) == [("nodes.s", "reserved_label"), ("nodes.s", "duplicate_label")]


def test_a_condition_without_edges_is_a_warning() -> None:
    [problem] = validate(Graph((node("c", **CONDITION),)))
    assert (problem.path, problem.code, problem.severity) == ("nodes.c", "unused_condition", Severity.WARNING)


def test_a_switch_case_that_nobody_follows_is_a_warning() -> None:
    switch = node("s", type="switch", labels=("small", "big", "default"))
    [problem] = validate(Graph((switch, node("b")), (edge("s", "b", "small"),)))
    assert (problem.path, problem.code, problem.severity) == (
        "nodes.s.with.cases[1]",
        "unused_case",
        Severity.WARNING,
    )


@pytest.mark.parametrize("outcome", [None, "done", "always"])
def test_an_edge_for_all_outcomes_follows_every_case(outcome: str | None) -> None:
    switch = node("s", type="switch", labels=("small", "big", "default"))
    assert validate(Graph((switch, node("b")), (edge("s", "b", outcome),))) == []


@pytest.mark.parametrize(("count", "problem"), [(0, True), (1, False), (2, False), (3, True)])
def test_at_least_must_be_within_the_number_of_edges(count: int, problem: bool) -> None:  # noqa: FBT001 - a table
    target = node("c", join=Join(JoinRule.AT_LEAST, count))
    graph = Graph((node("a"), node("b"), target), (edge("a", "c"), edge("b", "c")))
    assert found(validate(graph)) == ([("nodes.c.join", "impossible_join")] if problem else [])


def test_a_repeated_edge_does_not_count_for_at_least() -> None:
    target = node("c", join=Join(JoinRule.AT_LEAST, 2))
    graph = Graph((node("a"), target), (edge("a", "c"), edge("a", "c")))
    assert [code for _, code in found(validate(graph))] == ["duplicate_edge", "impossible_join"]


def test_all_over_two_outcomes_of_one_node_never_holds() -> None:
    nodes = (node("a", **CONDITION), node("b", join=Join(JoinRule.ALL)))
    [problem] = validate(Graph(nodes, (edge("a", "b", "true"), edge("a", "b", "false"))))
    assert (problem.path, problem.code) == ("nodes.b.join", "impossible_join")
    assert "a cannot take all of its edges here at once" in problem.message


LABELS = ("x", "y")
OUTCOMES = (None, *LABELS, "failure", "done", "always")
ENDS = (
    *(End(NodeStatus.COMPLETED, label) for label in LABELS),
    End(NodeStatus.FAILED, handled=True),
    End(NodeStatus.SKIPPED),
)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(OUTCOMES)), min_size=1, unique=True, max_size=7),
    st.integers(0, 7),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_a_join_is_impossible_when_no_way_to_end_takes_enough_edges(
    incoming: list[tuple[int, str | None]], count: int, continues: tuple[bool, bool, bool]
) -> None:
    join = Join(JoinRule.AT_LEAST, count) if count else Join(JoinRule.ALL)
    sources = [node(f"n{index}", labels=LABELS, continue_on_error=continues[index]) for index in range(3)]
    graph = Graph((*sources, node("t", join=join)), tuple(edge(f"n{s}", "t", o) for s, o in incoming))
    best = max(
        sum(
            resolve_edge(
                outcome,
                End(ends[source].status, ends[source].outcome, None, ends[source].handled, continues[source]),
            )
            is None
            for source, outcome in incoming
        )
        for ends in product(ENDS, repeat=3)
    )
    assert ([problem.path for problem in validate(graph)] == ["nodes.t.join"]) == (
        best < (count or len(incoming))
    )


@pytest.mark.parametrize("rule", [JoinRule.ALL, JoinRule.ANY, JoinRule.ALL_DONE])
def test_a_join_where_no_edge_leads_is_a_warning(rule: JoinRule) -> None:
    [problem] = validate(Graph((node("a", join=Join(rule)),)))
    assert (problem.path, problem.code, problem.severity) == (
        "nodes.a.join",
        "unused_join",
        Severity.WARNING,
    )


@pytest.mark.parametrize("kind", [NodeKind.FOR_EACH, NodeKind.REPEAT])
@pytest.mark.parametrize("body", [None, Graph()])
def test_a_loop_needs_something_to_do(kind: NodeKind, body: Graph | None) -> None:
    assert found(validate(Graph((node("each", kind=kind, body=body),)))) == [
        ("nodes.each.body", "empty_body")
    ]


def test_a_call_needs_its_workflow_which_may_be_empty() -> None:
    assert found(validate(Graph((node("sub", kind=NodeKind.CALL),)))) == [
        ("nodes.sub.with.workflow", "unresolved_call")
    ]
    assert validate(Graph((node("sub", kind=NodeKind.CALL, body=Graph()),))) == []


def test_problems_of_bodies_have_the_way_down_in_their_path() -> None:
    inner = Graph.of(["a"], [("a", "b")])
    middle = Graph((node("again", kind=NodeKind.REPEAT, body=inner),))
    graph = Graph((node("each", kind=NodeKind.FOR_EACH, body=middle),))
    assert found(validate(graph)) == [("nodes.each.body.nodes.again.body.edges[0].to", "unknown_node")]


def nested(levels: int, kind: NodeKind = NodeKind.FOR_EACH) -> Graph:
    graph = Graph.of(["leaf"], [])
    for _ in range(levels):
        graph = Graph((node("in", kind=kind, body=graph),))
    return graph


@pytest.mark.parametrize("kind", [NodeKind.FOR_EACH, NodeKind.CALL])
def test_bodies_and_calls_go_eight_levels_deep(kind: NodeKind) -> None:
    assert validate(nested(MAX_LEVELS, kind)) == []
    [(path, code)] = found(validate(nested(MAX_LEVELS + 1, kind)))
    assert (path, code) == (".".join(["nodes.in.body"] * 9), "too_many_levels")


def test_a_graph_nested_far_too_deep_is_one_problem() -> None:
    assert [code for _, code in found(validate(nested(5_000)))] == ["too_many_levels"]


def test_workflows_that_call_each_other_many_times_are_checked_once() -> None:
    graph = Graph.of(["a", "b"], [("a", "b"), ("b", "c")])
    for _ in range(MAX_LEVELS):
        calls = [node(f"c{index}", kind=NodeKind.CALL, body=graph) for index in range(20)]
        graph = Graph(tuple(calls))
    assert [code for _, code in found(validate(graph))] == ["unknown_node"]


def test_a_document_has_at_most_ten_thousand_nodes_bodies_included() -> None:
    half = Graph.of([f"n{index}" for index in range(MAX_NODES // 2)], [])
    one_too_many = (node("each", kind=NodeKind.FOR_EACH, body=half), *half.nodes)
    assert found(validate(Graph(one_too_many))) == [("nodes", "too_many_nodes")]
    assert validate(Graph(one_too_many[:-1])) == []
    assert validate(Graph((node("sub", kind=NodeKind.CALL, body=half), *half.nodes))) == []


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"timeout": 0}, "nodes.a.timeout"),
        ({"concurrency": 0}, "nodes.a.with.concurrency"),
        ({"max_iterations": -1}, "nodes.a.with.maxIterations"),
        ({"delay": -1}, "nodes.a.with.delay"),
        ({"retry": RetryOverride(max_attempts=0)}, "nodes.a.retry.maxAttempts"),
        ({"retry": RetryOverride(multiplier=float("nan"))}, "nodes.a.retry.multiplier"),
        ({"retry": RetryOverride(jitter=1.5)}, "nodes.a.retry.jitter"),
        ({"retry": RetryOverride(max_duration=0)}, "nodes.a.retry.maxDuration"),
    ],
)
def test_settings_that_no_document_can_have_are_found_in_a_damaged_graph(
    fields: dict[str, object], path: str
) -> None:
    assert found(validate(Graph((node("a", **fields),)))) == [(path, "invalid_setting")]


def test_a_damaged_graph_with_one_key_twice_is_a_problem() -> None:
    assert found(validate(Graph((node("a"), node("a"))))) == [("nodes.a", "duplicate_node")]


def test_all_problems_are_told_at_once() -> None:
    graph = Graph(
        (
            node("a"),
            node("b"),
            node("c", join=Join(JoinRule.AT_LEAST, 5)),
            node("each", kind=NodeKind.FOR_EACH),
        ),
        (edge("a", "b"), edge("b", "a"), edge("a", "x"), edge("a", "c", "nope"), edge("c", "c")),
    )
    assert {code for _, code in found(validate(graph))} == {
        GraphCode.CYCLE,
        GraphCode.UNKNOWN_NODE,
        GraphCode.UNKNOWN_OUTCOME,
        GraphCode.SELF_EDGE,
        GraphCode.IMPOSSIBLE_JOIN,
        GraphCode.EMPTY_BODY,
    }
