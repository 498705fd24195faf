from dataclasses import replace

import pytest
from tests.documents.loading import REGISTRY, load, nodes
from tests.documents.test_load import REFUND

from riven.core.errors import InvalidDocumentError
from riven.core.graph import (
    Edge,
    Join,
    JoinRule,
    NodeKind,
    OnFailure,
    OnItemFailure,
    RetryOverride,
)
from riven.core.ids import NodeKey
from riven.documents.normalise import build_graph
from riven.nodes.registry import Registry
from riven.wire.document import BodyDocument, Document, EdgeDocument, NodeDocument, from_json, to_json

EVERYTHING = """\
name: everything
timeout: 1h
onFailure: finish_branches
nodes:
  a:
    type: http_request
    name: Fetch
    with: {url: 'http://x'}
    retry: {maxAttempts: 4, jitter: 0}
    timeout: 20s
    continueOnError: true
  each:
    type: for_each
    needs: [a]
    with: {items: [1], concurrency: 3, onItemFailure: collect}
    body:
      nodes:
        again:
          type: repeat
          with: {while: 'iteration.index < 2', maxIterations: 7, delay: 250ms}
          timeout: 1m
          body: {nodes: {b: {type: noop}, c: {type: log, with: {message: m}, needs: [b]}}, output: 1}
  gate: {type: approval, needs: [each]}
  last: {type: noop, needs: [a], join: {atLeast: 1}, when: false}
edges:
  - {from: gate, to: last, outcome: approved}
"""


def test_everything_that_is_written_is_in_the_document() -> None:
    document = load(EVERYTHING).document
    assert document is not None
    assert (document.name, document.timeout, document.on_failure) == (
        "everything",
        3_600_000,
        "finish_branches",
    )
    a, each, _, last = document.nodes.values()
    assert (a.name, a.timeout, a.continue_on_error) == ("Fetch", 20_000, True)
    assert a.retry is not None
    assert (a.retry.max_attempts, a.retry.jitter, a.retry.multiplier) == (4, 0, None)
    assert (last.join, last.at_least, last.when) == ("atLeast", 1, False)
    assert each.body is not None
    assert each.body.nodes["again"].body is not None
    assert each.body.nodes["again"].body.has_output
    assert document.edges == (
        EdgeDocument("a", "each"),
        EdgeDocument("each", "gate"),
        EdgeDocument("a", "last"),
        EdgeDocument("gate", "last", "approved"),
    )


def test_the_graph_has_what_the_core_decides_by_and_nothing_else() -> None:
    graph = load(EVERYTHING).graph
    assert graph is not None
    assert (graph.timeout, graph.on_failure, graph.has_output) == (
        3_600_000,
        OnFailure.FINISH_BRANCHES,
        False,
    )
    a, each, gate, last = graph.nodes
    assert (a.kind, a.pure, a.timeout, a.continue_on_error) == (NodeKind.ACTION, False, 20_000, True)
    assert a.retry == RetryOverride(max_attempts=4, jitter=0)
    assert (each.kind, each.concurrency, each.on_item_failure) == (
        NodeKind.FOR_EACH,
        3,
        OnItemFailure.COLLECT,
    )
    assert each.body is not None
    assert (each.body.on_failure, each.body.timeout) == (OnFailure.FINISH_BRANCHES, None)
    [again] = each.body.nodes
    assert (again.kind, again.max_iterations, again.delay, again.check_first, again.timeout) == (
        NodeKind.REPEAT,
        7,
        250,
        True,
        60_000,
    )
    assert again.labels == ("success", "exhausted")
    assert again.body is not None
    assert again.body.has_output
    assert again.body.edges == (Edge(NodeKey("b"), NodeKey("c")),)
    assert again.body.nodes[0].pure
    assert (gate.kind, gate.labels) == (NodeKind.SIGNAL, ("approved", "rejected", "expired"))
    assert last.join == Join(JoinRule.AT_LEAST, 1)


@pytest.mark.parametrize("text", [REFUND, EVERYTHING, "name: empty"])
def test_the_stored_document_gives_the_same_graph_again(text: str) -> None:
    loaded = load(text)
    assert loaded.document is not None
    assert build_graph(from_json(to_json(loaded.document)), REGISTRY) == loaded.graph


def damaged(document: Document, registry: Registry = REGISTRY) -> list[tuple[str, str]]:
    with pytest.raises(InvalidDocumentError) as caught:
        build_graph(document, registry)
    return [(problem.path, problem.code) for problem in caught.value.problems]


def test_a_type_that_this_worker_lacks_is_told_with_all_else() -> None:
    inner = BodyDocument(nodes={"b": NodeDocument(key="b", type="gone")})
    document = Document(
        name="x",
        nodes={
            "a": NodeDocument(key="a", type="gone", config={"cases": 3}),
            "each": NodeDocument(key="each", type="for_each", body=inner),
        },
        edges=(EdgeDocument("a", "z"), EdgeDocument("a", "each", "whatever")),
    )
    assert damaged(document) == [
        ("nodes.a.type", "unknown_type"),
        ("nodes.each.body.nodes.b.type", "unknown_type"),
        ("edges[0].to", "unknown_node"),
    ]


def node(type: str = "for_each", **config: object) -> Document:
    body = BodyDocument(nodes={"b": NodeDocument(key="b", type="noop")})
    return Document(name="x", nodes={"a": NodeDocument(key="a", type=type, config=config, body=body)})


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (node(concurrency=0), "nodes.a.with.concurrency"),
        (node(concurrency="{{ x }}"), "nodes.a.with.concurrency"),
        (node(concurrency=True), "nodes.a.with.concurrency"),
        (node(onItemFailure=["x"]), "nodes.a.with.onItemFailure"),
        (node("repeat", maxIterations=None), "nodes.a.with.maxIterations"),
        (node("repeat", delay="soon"), "nodes.a.with.delay"),
        (node("repeat", delay=[1]), "nodes.a.with.delay"),
        (replace(node(), on_failure="stop"), "onFailure"),
    ],
)
def test_a_damaged_row_names_its_place(document: Document, path: str) -> None:
    assert path in [each for each, _ in damaged(document)]


def test_calls_in_a_damaged_row_that_are_missing_or_in_a_circle_are_told() -> None:
    call = {"a": NodeDocument(key="a", type="call", config={"workflow": "y"})}
    assert damaged(Document(name="x", nodes=call)) == [("nodes.a.with.workflow", "unresolved_call")]
    again = Document(name="x", nodes=call, calls={"y": Document(name="y", nodes=call)})
    assert ("nodes.a.body.nodes.a.with.workflow", "call_recursion") in damaged(again)
    odd = {"a": NodeDocument(key="a", type="call", config={"workflow": ["y"], "version": {}})}
    assert damaged(Document(name="x", nodes=odd)) == [("nodes.a.with.workflow", "unresolved_call")]


def test_warnings_do_not_keep_a_stored_document_from_running() -> None:
    loaded = load(nodes("  a: {type: noop, join: any}"))
    assert [problem.code for problem in loaded.problems] == ["unused_join"]
    assert loaded.document is not None
    assert build_graph(loaded.document, REGISTRY) == loaded.graph
