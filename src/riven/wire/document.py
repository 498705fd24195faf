"""The normalised document: what a version stores, what effects read templates from. Additive change only.

As JSON, nodes are a list, since a store may give the keys of an object back in another order, and the order of nodes is
the order in which they start.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from riven.core.errors import InvalidDocumentError, Problem

Json: TypeAlias = Any
"""None, bool, int within 64 bits, finite float, str, list or dict with str keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryDocument:
    """What the author wrote; None where the execution's default holds. Intervals in milliseconds."""

    max_attempts: int | None = None
    initial_interval: int | None = None
    multiplier: float | None = None
    max_interval: int | None = None
    jitter: float | None = None
    max_duration: int | None = None


@dataclass(frozen=True, slots=True)
class EdgeDocument:
    source: str
    target: str
    outcome: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyDocument:
    nodes: Mapping[str, "NodeDocument"] = field(default_factory=dict)
    edges: tuple[EdgeDocument, ...] = ()
    output: Json = None
    has_output: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeDocument:
    """`needs` has become edges. `config` is the document's `with`, templates and all."""

    key: str
    type: str
    name: str | None = None
    config: Mapping[str, Json] = field(default_factory=dict)
    when: str | bool | None = None
    join: str = "none_failed"
    at_least: int = 0
    retry: RetryDocument | None = None
    timeout: int | None = None
    continue_on_error: bool = False
    body: BodyDocument | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A whole workflow. `calls` holds the documents that its `call` nodes name, by name, theirs included."""

    name: str
    description: str | None = None
    input: Mapping[str, Json] | None = None
    vars: Mapping[str, Json] = field(default_factory=dict)
    timeout: int | None = None
    on_failure: str = "fail_fast"
    nodes: Mapping[str, NodeDocument] = field(default_factory=dict)
    edges: tuple[EdgeDocument, ...] = ()
    output: Json = None
    has_output: bool = False
    calls: Mapping[str, "Document"] = field(default_factory=dict)


def call_key(workflow: str, version: int | None) -> str:
    """Under which a called document is kept in `calls`; `@` is in no workflow's name."""
    return workflow if version is None else f"{workflow}@{version}"


# ---- JSON -------------------------------------------------------------------------------------------------------------

_FORMAT = 1
_MAX_LEVELS = 32
"""Far beyond what a document may have; a damaged one is refused, not followed."""


def to_json(document: Document) -> dict[str, Json]:
    """Plain JSON that `from_json` reads back; parts of it are parts of the document."""
    return {
        "format": _FORMAT,
        "name": document.name,
        "description": document.description,
        "input": document.input,
        "vars": document.vars,
        "timeout": document.timeout,
        "onFailure": document.on_failure,
        **_scope_json(document),
        "calls": {key: to_json(called) for key, called in document.calls.items()},
    }


def from_json(data: Json) -> Document:
    """The document again. What a later release added is passed over.

    Raises:
        InvalidDocumentError: this is no stored document; the problem names the first place that is damaged.
    """
    try:
        return _document(_Reader(data, "", 0))
    except _DamageError as damage:
        message = f"the stored document is damaged here: {damage.reason}; publish it anew"
        raise InvalidDocumentError(
            [Problem(path=damage.path, code="damaged_document", message=message)]
        ) from None


def _scope_json(scope: "Document | BodyDocument") -> dict[str, Json]:
    return {
        "nodes": [_node_json(node) for node in scope.nodes.values()],
        "edges": [{"from": edge.source, "to": edge.target, "outcome": edge.outcome} for edge in scope.edges],
        "output": scope.output,
        "hasOutput": scope.has_output,
    }


def _node_json(node: NodeDocument) -> dict[str, Json]:
    retry = node.retry
    return {
        "key": node.key,
        "type": node.type,
        "name": node.name,
        "with": node.config,
        "when": node.when,
        "join": node.join,
        "atLeast": node.at_least,
        "retry": None
        if retry is None
        else {
            "maxAttempts": retry.max_attempts,
            "initialInterval": retry.initial_interval,
            "multiplier": retry.multiplier,
            "maxInterval": retry.max_interval,
            "jitter": retry.jitter,
            "maxDuration": retry.max_duration,
        },
        "timeout": node.timeout,
        "continueOnError": node.continue_on_error,
        "body": None if node.body is None else _scope_json(node.body),
    }


class _DamageError(Exception):
    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(path, reason)


class _Reader:
    """Fields of one JSON object, each of the kind it must be."""

    def __init__(self, data: Json, path: str, level: int) -> None:
        if not isinstance(data, Mapping):
            raise _DamageError(path, "an object is missing")
        if level > _MAX_LEVELS:
            raise _DamageError(path, "it is nested too deep")
        self._data = data
        self._path = path
        self._level = level

    def text(self, name: str) -> str:
        return self._kind(name, str)  # type: ignore[no-any-return]

    def text_or_none(self, name: str) -> str | None:
        return None if self._data.get(name) is None else self.text(name)

    def integer(self, name: str) -> int | None:
        return None if self._data.get(name) is None else self._kind(name, int)

    def number(self, name: str) -> float | None:
        return None if self._data.get(name) is None else float(self._kind(name, (int, float)))

    def flag(self, name: str) -> bool:
        return self._kind(name, bool) if name in self._data else False

    def mapping(self, name: str) -> dict[str, Json]:
        return dict(self._kind(name, Mapping))

    def value(self, name: str) -> Json:
        return self._data.get(name)

    def inner(self, name: str) -> "_Reader":
        return _Reader(self._data.get(name), self.at(name), self._level + 1)

    def each(self, name: str) -> "list[_Reader]":
        items = self._kind(name, list)
        return [_Reader(item, f"{self.at(name)}[{index}]", self._level) for index, item in enumerate(items)]

    def at(self, name: str) -> str:
        return f"{self._path}.{name}" if self._path else name

    def _kind(self, name: str, kind: type | tuple[type, ...]) -> Json:
        value = self._data.get(name)
        is_flag = isinstance(value, bool)
        if not isinstance(value, kind) or (is_flag and kind is not bool):
            raise _DamageError(self.at(name), f"it is a {type(value).__name__}")
        return value


def _document(reader: _Reader) -> Document:
    calls = reader.mapping("calls")
    inner = reader.inner("calls")
    return Document(
        name=reader.text("name"),
        description=reader.text_or_none("description"),
        input=None if reader.value("input") is None else reader.mapping("input"),
        vars=reader.mapping("vars"),
        timeout=reader.integer("timeout"),
        on_failure=reader.text("onFailure"),
        nodes=_nodes(reader),
        edges=_edges(reader),
        output=reader.value("output"),
        has_output=reader.flag("hasOutput"),
        calls={key: _document(inner.inner(key)) for key in calls},
    )


def _body(reader: _Reader) -> BodyDocument:
    return BodyDocument(
        nodes=_nodes(reader),
        edges=_edges(reader),
        output=reader.value("output"),
        has_output=reader.flag("hasOutput"),
    )


def _nodes(reader: _Reader) -> dict[str, NodeDocument]:
    nodes: dict[str, NodeDocument] = {}
    for each in reader.each("nodes"):
        key = each.text("key")
        if key in nodes:
            raise _DamageError(each.at("key"), f"the node {key} stands there twice")
        nodes[key] = _node(each, key)
    return nodes


def _node(reader: _Reader, key: str) -> NodeDocument:
    when = reader.value("when")
    retry = None if reader.value("retry") is None else reader.inner("retry")
    return NodeDocument(
        key=key,
        type=reader.text("type"),
        name=reader.text_or_none("name"),
        config=reader.mapping("with"),
        when=when if isinstance(when, bool) else reader.text_or_none("when"),
        join=reader.text("join"),
        at_least=reader.integer("atLeast") or 0,
        retry=None
        if retry is None
        else RetryDocument(
            max_attempts=retry.integer("maxAttempts"),
            initial_interval=retry.integer("initialInterval"),
            multiplier=retry.number("multiplier"),
            max_interval=retry.integer("maxInterval"),
            jitter=retry.number("jitter"),
            max_duration=retry.integer("maxDuration"),
        ),
        timeout=reader.integer("timeout"),
        continue_on_error=reader.flag("continueOnError"),
        body=None if reader.value("body") is None else _body(reader.inner("body")),
    )


def _edges(reader: _Reader) -> tuple[EdgeDocument, ...]:
    return tuple(
        EdgeDocument(each.text("from"), each.text("to"), each.text_or_none("outcome"))
        for each in reader.each("edges")
    )
