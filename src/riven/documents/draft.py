"""What can be made of a document, however wrong it is: each part that can be read, with its place.

Problems of fields are found on the way; what is usable beside them goes on, so that the rules of graphs and references
find theirs in the same go.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from riven.documents.codes import Code
from riven.documents.findings import Findings
from riven.documents.places import Location, shorten, texts
from riven.documents.schema import (
    NODE_KEY,
    BodyFields,
    DocumentFields,
    EdgeFields,
    NeedFields,
    NodeFields,
)
from riven.documents.wording import described, faults
from riven.expressions.syntax import RESERVED
from riven.expressions.templates import has_placeholder
from riven.nodes.contract import NodeType
from riven.wire.document import Json

RESERVED_WORDS: Final = RESERVED | {"false", "in", "null", "true"}
"""What CEL keeps for itself: `steps.in` could not be written."""

NO_TYPE: Final = "\0"
"""Stands in for a type that is missing; no text that was read has it."""

ModelT = TypeVar("ModelT", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class DraftEdge:
    source: str
    target: str
    outcome: str | None
    location: Location
    is_need: bool = False
    is_text: bool = False
    """A need that is only the key of a node."""

    def place(self, end: str) -> Location:
        """Where `from`, `to` or `outcome` of it is written."""
        if not self.is_need:
            return (*self.location, end)
        if self.is_text or end == "to":
            return self.location
        return (*self.location, "node" if end == "from" else end)


@dataclass(slots=True)
class DraftNode:
    key: str
    location: Location
    fields: NodeFields
    config: dict[str, Json]
    type: NodeType[Any] | None = None
    """None where the type is missing or unknown."""
    body: "DraftScope | None" = None
    _templated: list[tuple[Location, str]] | None = None

    @property
    def templated(self) -> list[tuple[Location, str]]:
        """The strings in `with` that hold placeholders, with their places in it."""
        if self._templated is None:
            self._templated = [(place, text) for place, text in texts(self.config) if has_placeholder(text)]
        return self._templated


@dataclass(slots=True)
class DraftScope:
    location: Location
    nodes: dict[str, DraftNode] = field(default_factory=dict)
    edges: list[DraftEdge] = field(default_factory=list)
    output: Json = None
    outer: "DraftScope | None" = None
    container: DraftNode | None = None

    def every(self) -> "Iterator[DraftScope]":
        """This scope and all inside of it, outer ones first."""
        todo = [self]
        while todo:
            scope = todo.pop()
            yield scope
            todo += [node.body for node in reversed(scope.nodes.values()) if node.body is not None]


@dataclass(slots=True)
class Draft:
    fields: DocumentFields
    scope: DraftScope


def count_nodes(raw: dict[str, Json]) -> int:
    """Nodes of a document as it was read, bodies included; aliases count each time."""
    total, todo = 0, [raw]
    while todo:
        nodes = todo.pop().get("nodes")
        if isinstance(nodes, dict):
            total += len(nodes)
            todo += [
                node["body"]
                for node in nodes.values()
                if isinstance(node, dict) and isinstance(node.get("body"), dict)
            ]
    return total


def read_draft(raw: dict[str, Json], findings: Findings) -> Draft:
    """`raw` holds at most 10,000 nodes."""
    outside = {key: _emptied(key, value) for key, value in raw.items()}
    fields = _read(DocumentFields, outside, (), findings, {"name": "unnamed"})
    return Draft(fields or DocumentFields(name="unnamed"), _read_scope(raw, DraftScope(()), findings))


def _emptied(key: str, value: Json) -> Json:
    """Nodes and edges are looked at one by one."""
    if key == "nodes" and isinstance(value, dict):
        return {}
    return [] if key == "edges" and isinstance(value, list) else value


def _read_scope(raw: dict[str, Json], scope: DraftScope, findings: Findings) -> DraftScope:
    scope.output = raw.get("output")
    nodes, edges = raw.get("nodes"), raw.get("edges")
    for key, value in nodes.items() if isinstance(nodes, dict) else ():
        node = _read_node(key, value, (*scope.location, "nodes", key), findings)
        scope.nodes[key] = node
        if isinstance(value, dict):
            _read_needs(value.get("needs"), node, scope)
            _read_body(value.get("body"), node, scope, findings)
    for index, value in enumerate(edges if isinstance(edges, list) else ()):
        location = (*scope.location, "edges", index)
        if not isinstance(value, dict):
            said = f"an edge is written {{from: one, to: other}}, not as {described(value)}"
            findings.error(location, Code.WRONG_TYPE, said)
            continue
        edge = _read(EdgeFields, value, location, findings, {})
        if edge is not None:
            scope.edges.append(DraftEdge(edge.source, edge.target, edge.outcome, location))
    return scope


def _read_node(key: str, raw: Json, location: Location, findings: Findings) -> DraftNode:
    _check_key(key, location, findings)
    if not isinstance(raw, dict):
        said = f"a node is a mapping with at least a `type`, not {described(raw)}"
        findings.error(location, Code.WRONG_TYPE, said)
        findings.spoil(location)
        return DraftNode(key, location, NodeFields(type=NO_TYPE), {})
    outside = raw
    if isinstance(raw.get("body"), dict):
        outside = {**raw, "body": {}}
    fields = _read(NodeFields, outside, location, findings, {"type": NO_TYPE}) or NodeFields(type=NO_TYPE)
    return DraftNode(key, location, fields, fields.config or {})


def _check_key(key: str, location: Location, findings: Findings) -> None:
    if not NODE_KEY.fullmatch(key):
        said = (
            f"{shorten(key, 40)!r} cannot be the key of a node: write letters, digits and _, no digit first,"
            " at most 128 of them"
        )
        findings.error(location, Code.INVALID_NAME, said, at_key=True)
    elif key in RESERVED_WORDS:
        said = f"{key!r} means something in CEL, so templates could not name this node; call it otherwise"
        findings.error(location, Code.INVALID_NAME, said, at_key=True)


def _read_needs(raw: Json, node: DraftNode, scope: DraftScope) -> None:
    """Their problems were told with the node's."""
    for index, need in enumerate(raw if isinstance(raw, list) else ()):
        location = (*node.location, "needs", index)
        if isinstance(need, str):
            scope.edges.append(DraftEdge(need, node.key, None, location, is_need=True, is_text=True))
            continue
        try:
            fields = NeedFields.model_validate(need)
        except ValidationError:
            continue
        scope.edges.append(DraftEdge(fields.node, node.key, fields.outcome, location, is_need=True))


def _read_body(raw: Json, node: DraftNode, scope: DraftScope, findings: Findings) -> None:
    if not isinstance(raw, dict):
        return
    location = (*node.location, "body")
    _read(BodyFields, {key: _emptied(key, value) for key, value in raw.items()}, location, findings, {})
    node.body = _read_scope(raw, DraftScope(location, outer=scope, container=node), findings)


def _read(
    model: type[ModelT],
    raw: Json,
    location: Location,
    findings: Findings,
    needed: dict[str, Json],
) -> ModelT | None:
    """The fields that are right, after telling of those that are wrong; `needed` stands in for what must be there.

    None when too little is right.
    """
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        wrong = faults(error, model, raw)
    for fault in wrong:
        code, message = fault.code, fault.message
        if isinstance(fault.value, str) and has_placeholder(fault.value) and not fault.at_key:
            code, message = (
                Code.TEMPLATE_NOT_ALLOWED,
                "templates stand in `with` and `output` alone; write the value out",
            )
        findings.error((*location, *fault.location), code, message, at_key=fault.at_key)
        findings.spoil((*location, *fault.location))
    if not isinstance(raw, dict):
        return None
    bad = {fault.location[0] for fault in wrong if fault.location}
    rest = {key: value for key, value in raw.items() if key not in bad}
    try:
        return model.model_validate({**needed, **rest})
    except ValidationError:
        return None
