import re

import pytest

from riven.cli.diagram import draw_diagram
from riven.cli.mermaid import mermaid_text
from riven.core.graph import Edge, Graph, Join, JoinRule, Node, NodeKind
from riven.core.ids import NodeKey
from riven.wire.document import Document, NodeDocument


def node(key: str, type: str = "noop", **fields: object) -> Node:
    return Node(key=NodeKey(key), type=type, **fields)  # type: ignore[arg-type]


def edge(source: str, target: str, outcome: str | None = None) -> Edge:
    return Edge(NodeKey(source), NodeKey(target), outcome)


REFUND = Graph(
    (
        node("order", "http_request"),
        node("large", "condition", labels=("true", "false")),
        node("ask", "approval", kind=NodeKind.SIGNAL, labels=("approved", "rejected", "expired")),
        node(
            "each",
            "for_each",
            kind=NodeKind.FOR_EACH,
            body=Graph((node("send"), node("note", "log")), (edge("send", "note", "failure"),)),
        ),
        node("tell", "log", join=Join(JoinRule.ANY)),
    ),
    (
        edge("order", "large"),
        edge("large", "ask", "true"),
        edge("large", "each", "false"),
        edge("ask", "tell", "approved"),
        edge("each", "tell", "always"),
    ),
)

GOLDEN = """\
flowchart TD
  order["order<br/>http_request"]
  large{"large<br/>condition"}
  ask(["ask<br/>approval"])
  subgraph each["each: for_each"]
    each_send["send<br/>noop"]
    each_note["note<br/>log"]
    each_send -->|"failure"| each_note
  end
  tell["tell<br/>log<br/>join any"]
  order --> large
  large -->|"true"| ask
  large -->|"false"| each
  ask -->|"approved"| tell
  each -->|"always"| tell
"""


def test_the_text_names_boxes_bodies_outcomes_types_and_joins() -> None:
    assert mermaid_text(draw_diagram(REFUND, Document(name="refund"))) == GOLDEN


def test_words_of_the_language_and_equal_names_in_other_scopes_get_names_of_their_own() -> None:
    each = node("each", "for_each", kind=NodeKind.FOR_EACH, body=Graph.of(["send", "end"], [("send", "end")]))
    graph = Graph(
        (node("end"), node("End"), node("each_send"), each), (edge("end", "End"), edge("end", "each_send"))
    )
    text = mermaid_text(draw_diagram(graph, Document(name="w")))
    names = re.findall(r"^\s*(\w+)\[", text, re.MULTILINE)
    assert names == ["end_2", "End_2", "each_send", "each_send_2", "each_end"]
    assert "end_2 --> End_2" in text
    assert "each_send_2 --> each_end" in text


def test_odd_names_cannot_end_their_text_or_begin_markup() -> None:
    document = Document(
        name="w", nodes={"a": NodeDocument(key="a", type="noop", name='"]; x["`<b>#1 & {y}|\n%%')}
    )
    line = mermaid_text(draw_diagram(Graph((node("a"),)), document)).splitlines()[1]
    quoted = line.removeprefix('  a["').removesuffix('"]').replace("<br/>", "")
    assert not set(quoted) & set('"[]{}|`<>%')
    assert re.sub(r"#(\d+);", lambda code: chr(int(code[1])), quoted) == '"]; x["`<b>#1 & {y}| %%a: noop'


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("1. Order", "1#46; Order"),
        ("12. Order", "12#46; Order"),
        ("v1.2", "v1.2"),
        ("- Order", "#45; Order"),
        ("*very* ~old~", "#42;very#42; #126;old#126;"),
        ("give_up", "give_up"),
        ("_give_ up", "#95;give#95; up"),
        ("%%{init}%%", "#37;#37;#123;init#125;#37;#37;"),
    ],
)
def test_names_are_no_markdown(name: str, written: str) -> None:
    document = Document(name="w", nodes={"a": NodeDocument(key="a", type="noop", name=name)})
    assert f'"{written}<br/>' in mermaid_text(draw_diagram(Graph((node("a"),)), document))


def test_an_empty_graph_is_an_empty_flowchart() -> None:
    assert mermaid_text(draw_diagram(Graph(), Document(name="w"))) == "flowchart TD\n"
