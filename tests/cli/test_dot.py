import re
import shutil
import subprocess

import pytest

from riven.cli.diagram import draw_diagram
from riven.cli.dot import dot_text
from riven.core.graph import Edge, Graph, Node, NodeKind
from riven.core.ids import NodeKey
from riven.wire.document import Document, NodeDocument

TOKEN = re.compile(r'\s+|"(?:[^"\\]|\\.)*"|->|[A-Za-z_][A-Za-z0-9_]*|[0-9.]+|[{}\[\];=,]')


def sample() -> str:
    body = Graph.of(["send", "note"], [("send", "note")])
    each = Node(key=NodeKey("each"), type="for_each", kind=NodeKind.FOR_EACH, body=body)
    first = Node(key=NodeKey("first"), type="noop")
    last = Node(key=NodeKey("last"), type="noop")
    edges = (Edge(first.key, each.key, "success"), Edge(each.key, last.key))
    names = {"first": NodeDocument(key="first", type="noop", name='odd "name" \\ {x} -> [y]; 北京')}
    return dot_text(draw_diagram(Graph((first, each, last), edges), Document(name="odd", nodes=names)))


def test_every_character_belongs_to_a_token_and_every_bracket_is_closed() -> None:
    text, at, depth = sample(), 0, []
    while at < len(text):
        token = TOKEN.match(text, at)
        assert token is not None, text[at : at + 40]
        at = token.end()
        if token[0] in "{[":
            depth.append(token[0])
        elif token[0] in "}]":
            assert depth.pop() + token[0] in ("{}", "[]")
    assert depth == []


def test_outcomes_are_labels_and_a_container_is_a_cluster_that_arrows_leave_at_its_edge() -> None:
    text = sample()
    assert '"first" -> "each" [label="success"];' in text
    assert 'subgraph "cluster each" {' in text
    assert '"each" -> "last" [ltail="cluster each"];' in text
    assert '"each" -> "each.send" [style=dotted, arrowhead=none];' in text


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed here")
def test_graphviz_reads_it() -> None:
    done = subprocess.run(["dot", "-Tcanon"], input=sample(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
