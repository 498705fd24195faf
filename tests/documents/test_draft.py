from riven.documents.draft import NO_TYPE, DraftEdge, count_nodes, read_draft
from riven.documents.findings import Findings
from riven.documents.parse import parse
from riven.wire.document import Json

TEXT = """\
name: 3
nodes:
  a: {type: noop, needs: [b, 3, {node: c, outcome: false}, {nod: x}], timeout: soon}
  b: 5
  c:
    type: for_each
    with: {items: ['{{ input.x }}', 1]}
    body:
      nodes: {inner: {type: noop}}
      edges: [3]
      output: '{{ item }}'
edges:
  - {from: a, to: c, label: x}
  - {from: a}
"""


def test_what_is_right_is_kept_beside_what_is_wrong() -> None:
    tree = parse(TEXT).tree
    assert tree is not None
    findings = Findings(tree)
    draft = read_draft(tree.value, findings)
    assert draft.fields.name == "unnamed"
    scope = draft.scope
    assert list(scope.nodes) == ["a", "b", "c"]
    assert (scope.nodes["a"].fields.type, scope.nodes["a"].fields.timeout) == ("noop", None)
    assert (scope.nodes["b"].fields.type, scope.nodes["b"].config) == (NO_TYPE, {})
    assert [(edge.source, edge.target, edge.outcome) for edge in scope.edges] == [
        ("b", "a", None),
        ("c", "a", "false"),
        ("a", "c", None),
    ]
    assert scope.nodes["c"].templated == [(("items", 0), "{{ input.x }}")]
    body = scope.nodes["c"].body
    assert body is not None
    assert (list(body.nodes), body.output, body.outer, body.container) == (
        ["inner"],
        "{{ item }}",
        scope,
        scope.nodes["c"],
    )
    assert list(scope.every()) == [scope, body]
    assert [problem.path for problem in findings.problems()] == [
        "name",
        "nodes.a.needs[1]",
        "nodes.a.needs[3].nod",
        "nodes.a.timeout",
        "nodes.b",
        "nodes.c.body.edges[0]",
        "edges[0].label",
        "edges[1].to",
    ]


def test_the_ends_of_an_edge_stand_where_they_are_written() -> None:
    written = DraftEdge("a", "b", None, ("edges", 3))
    assert [written.place(end) for end in ("from", "to", "outcome")] == [
        ("edges", 3, "from"),
        ("edges", 3, "to"),
        ("edges", 3, "outcome"),
    ]
    need = ("nodes", "b", "needs", 0)
    short = DraftEdge("a", "b", None, need, is_need=True, is_text=True)
    assert {short.place(end) for end in ("from", "to", "outcome")} == {need}
    long = DraftEdge("a", "b", None, need, is_need=True)
    assert [long.place(end) for end in ("from", "to", "outcome")] == [
        (*need, "node"),
        need,
        (*need, "outcome"),
    ]


def test_nodes_are_counted_however_odd_the_document() -> None:
    odd: list[tuple[Json, int]] = [
        ({}, 0),
        ({"nodes": []}, 0),
        ({"nodes": {"a": 1, "b": {"body": 3}, "c": {"body": {"nodes": {"d": None}}}}}, 4),
    ]
    for value, expected in odd:
        assert count_nodes(value) == expected
