"""What a picture of a graph shows, whatever it is drawn with: boxes, arrows and what is written on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from riven.core.graph import Graph, Join, JoinRule, Node, NodeKind
from riven.core.ids import ROOT_PATH, NodePath, node_path
from riven.wire.document import Document, NodeDocument

MAX_TITLE = 48


class Shape(StrEnum):
    ACTION = "action"
    CHOICE = "choice"
    """Leaves by one of several labels of its own, at once: condition, switch."""
    WAIT = "wait"
    """Waits for time or for somebody."""
    CONTAINER = "container"


@dataclass(frozen=True, slots=True)
class Box:
    path: NodePath
    """Without item numbers, so unique in the picture: `each.send`."""
    key: str
    title: str
    details: tuple[str, ...]
    shape: Shape
    body: "Diagram | None" = None


@dataclass(frozen=True, slots=True)
class Arrow:
    """From the box at index `source` to the one at index `target` of the same diagram."""

    source: int
    target: int
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Diagram:
    title: str
    boxes: tuple[Box, ...]
    arrows: tuple[Arrow, ...]


def draw_diagram(graph: Graph, document: Document) -> Diagram:
    return _diagram(graph, document.name, document.nodes, document.calls, ROOT_PATH)


def _diagram(
    graph: Graph,
    title: str,
    written: Mapping[str, NodeDocument],
    calls: Mapping[str, Document],
    scope: NodePath,
) -> Diagram:
    places = {node.key: index for index, node in enumerate(graph.nodes)}
    boxes = tuple(_box(node, written.get(node.key), calls, scope) for node in graph.nodes)
    arrows = tuple(Arrow(places[edge.source], places[edge.target], edge.outcome) for edge in graph.edges)
    return Diagram(title, boxes, arrows)


def _box(node: Node, written: NodeDocument | None, calls: Mapping[str, Document], scope: NodePath) -> Box:
    path = node_path(scope, node.key)
    named = written.name if written is not None else None
    title = _one_line(named or node.key)
    kind = node.type if named is None or named == node.key else f"{node.key}: {node.type}"
    details = [kind]
    body = None
    if node.body is not None:
        inner: Mapping[str, NodeDocument] = {}
        inner_calls = calls
        called = written.config.get("workflow") if written is not None else None
        if node.kind is NodeKind.CALL and isinstance(called, str):
            details = [f"{kind} {called}"]
            if called in calls:
                inner, inner_calls = calls[called].nodes, {**calls, **calls[called].calls}
        elif written is not None and written.body is not None:
            inner = written.body.nodes
        body = _diagram(node.body, title, inner, inner_calls, path)
    if (join := _join_text(node.join)) is not None:
        details.append(join)
    return Box(path, node.key, title, tuple(details), _shape(node), body)


def _join_text(join: Join) -> str | None:
    match join.rule:
        case JoinRule.NONE_FAILED:
            return None
        case JoinRule.AT_LEAST:
            return f"join at least {join.count}"
        case rule:
            return f"join {rule.value}"


def _shape(node: Node) -> Shape:
    if node.body is not None:
        return Shape.CONTAINER
    if node.kind in (NodeKind.WAIT, NodeKind.SIGNAL):
        return Shape.WAIT
    return Shape.CHOICE if node.kind is NodeKind.ACTION and len(node.labels) > 1 else Shape.ACTION


def _one_line(text: str) -> str:
    """Names are free text: without line breaks and control characters, and short enough for a box."""
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 1] + "…"
