"""Random graphs that validation lets pass: any shape, label, join, failure handling and nesting."""

from hypothesis import strategies as st

from riven.core.graph import (
    ALWAYS,
    CONTAINERS,
    DONE,
    FAILURE,
    SUCCESS,
    Edge,
    Graph,
    Join,
    JoinRule,
    Node,
    NodeKind,
    OnFailure,
    OnItemFailure,
    RetryOverride,
)
from riven.core.ids import NodeKey

LABELS = {
    NodeKind.ACTION: [(SUCCESS,), (SUCCESS,), ("true", "false"), ("red", "green", "blue")],
    NodeKind.FOR_EACH: [(SUCCESS,)],
    NodeKind.REPEAT: [(SUCCESS, "exhausted")],
    NodeKind.CALL: [(SUCCESS,)],
    NodeKind.WAIT: [(SUCCESS,)],
    NodeKind.SIGNAL: [("received", "expired"), ("approved", "rejected", "expired")],
}
SIMPLE = [NodeKind.ACTION] * 8 + [NodeKind.WAIT, NodeKind.SIGNAL]
NESTING = [NodeKind.ACTION] * 4 + [NodeKind.WAIT, NodeKind.SIGNAL, *sorted(CONTAINERS)]
MOMENT = 100_000
"""Durations are multiples of it plus a number of their own, so that a due time says what it is of."""


@st.composite
def graphs(
    draw: st.DrawFn, *, least: int = 0, most: int = 7, depth: int = 0, deepest: int = 2, number: int = 0
) -> Graph:
    """A graph of `least` to `most` nodes; `number` keeps the durations of nested graphs apart."""
    count = draw(st.integers(least, most))
    nodes: list[Node] = []
    edges: list[Edge] = []
    for place in range(count):
        key = NodeKey(f"n{place}")
        incoming = draw(st.lists(_edges(nodes, key), max_size=4, unique=True)) if nodes else []
        edges += incoming
        nodes.append(draw(_nodes(key, incoming, depth, deepest, number * 8 + place)))
    return Graph(
        tuple(nodes),
        tuple(edges),
        on_failure=draw(st.sampled_from(OnFailure)),
        timeout=draw(st.sampled_from([None, None, None, MOMENT * 7_000])) if depth == 0 else None,
        has_output=draw(st.booleans()),
    )


@st.composite
def _edges(draw: st.DrawFn, sources: list[Node], target: NodeKey) -> Edge:
    source = draw(st.sampled_from(sources))
    outcome = draw(st.sampled_from([None, None, None, *source.labels, FAILURE, DONE, ALWAYS]))
    return Edge(source.key, target, outcome)


@st.composite
def _joins(draw: st.DrawFn, incoming: list[Edge]) -> Join:
    sources = {edge.source for edge in incoming}
    rules = list(JoinRule)
    if len(sources) < len(incoming):
        rules.remove(JoinRule.ALL)  # two outcomes of one node are never both taken
    if not incoming:
        rules.remove(JoinRule.AT_LEAST)
    rule = draw(st.sampled_from(rules))
    return Join(rule, draw(st.integers(1, len(sources))) if rule is JoinRule.AT_LEAST else 0)


@st.composite
def _nodes(
    draw: st.DrawFn, key: NodeKey, incoming: list[Edge], depth: int, deepest: int, number: int
) -> Node:
    kind = draw(st.sampled_from(NESTING if depth < deepest else SIMPLE))
    inside = kind in CONTAINERS
    return Node(
        key=key,
        type="scripted",
        kind=kind,
        labels=draw(st.sampled_from(LABELS[kind])),
        join=draw(_joins(incoming)),
        pure=kind is NodeKind.ACTION and draw(st.sampled_from([False, False, True])),
        retry=draw(st.one_of(st.none(), _retries())) if kind is NodeKind.ACTION else None,
        timeout=draw(st.sampled_from([None, None, MOMENT * (2 * number + 11)])) if inside else None,
        continue_on_error=draw(st.sampled_from([False, False, False, True])),
        body=draw(graphs(least=1, most=3, depth=depth + 1, deepest=deepest, number=number + 1))
        if inside
        else None,
        concurrency=draw(st.integers(1, 3)),
        on_item_failure=draw(st.sampled_from(OnItemFailure)),
        max_iterations=draw(st.integers(1, 3)),
        delay=draw(st.sampled_from([0, MOMENT * (2 * number + 10)])) if kind is NodeKind.REPEAT else 0,
        check_first=draw(st.booleans()),
    )


def _retries() -> st.SearchStrategy[RetryOverride]:
    return st.builds(
        RetryOverride,
        max_attempts=st.sampled_from([None, 1, 2, 4]),
        initial_interval=st.sampled_from([None, 0, 10, 5_000]),
        multiplier=st.sampled_from([None, 1.0, 3.0]),
        max_interval=st.sampled_from([None, 7, 40_000]),
        jitter=st.sampled_from([None, 0.0, 0.5]),
        max_duration=st.sampled_from([None, None, 500, 30_000]),
    )
