"""A draft to the document that is stored, and a document to the graph that the core decides on."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from riven.core.errors import InvalidDocumentError, Problem, Severity
from riven.core.graph import (
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
from riven.core.validation import validate
from riven.documents.codes import Code
from riven.documents.draft import Draft, DraftNode, DraftScope
from riven.nodes.contract import NodeType
from riven.nodes.registry import Registry
from riven.wire.document import (
    BodyDocument,
    Document,
    EdgeDocument,
    Json,
    NodeDocument,
    RetryDocument,
    call_key,
)
from riven.wire.durations import parse_duration

T = TypeVar("T")

# ---- draft to document ------------------------------------------------------------------------------------------------


def document_of(draft: Draft, calls: Mapping[str, Document]) -> Document:
    """With `needs` turned into edges; those come first, in the order of their nodes."""
    fields = draft.fields
    return Document(
        name=fields.name,
        description=fields.description,
        input=fields.input,
        vars=fields.vars or {},
        timeout=fields.timeout,
        on_failure=fields.on_failure or OnFailure.FAIL_FAST.value,
        nodes=_nodes(draft.scope),
        edges=_edges(draft.scope),
        output=draft.scope.output,
        has_output=draft.scope.output is not None,
        calls=calls,
    )


def _nodes(scope: DraftScope) -> dict[str, NodeDocument]:
    # A key that is none may be one that no path can be written with; the document is invalid then in any case.
    return {key: _node(node) for key, node in scope.nodes.items() if key and not set(key) & set(".[]")}


def _edges(scope: DraftScope) -> tuple[EdgeDocument, ...]:
    return tuple(EdgeDocument(edge.source, edge.target, edge.outcome) for edge in scope.edges)


def _node(node: DraftNode) -> NodeDocument:
    fields = node.fields
    join = fields.join or Join()
    retry = fields.retry
    return NodeDocument(
        key=node.key,
        type=fields.type,
        name=fields.name,
        config=node.config,
        when=fields.when,
        join=join.rule.value,
        at_least=join.count,
        retry=None if retry is None else RetryDocument(**retry.model_dump()),
        timeout=fields.timeout,
        continue_on_error=bool(fields.continue_on_error),
        body=None if node.body is None else _body(node.body),
    )


def _body(scope: DraftScope) -> BodyDocument:
    return BodyDocument(
        nodes=_nodes(scope),
        edges=_edges(scope),
        output=scope.output,
        has_output=scope.output is not None,
    )


# ---- document to graph ------------------------------------------------------------------------------------------------


def build_graph(document: Document, registry: Registry) -> Graph:
    """The graph of a stored document, checked once more: what has become wrong since then is told all at once.

    Raises:
        InvalidDocumentError: a type is not there any more, or the row is damaged.
    """
    builder = GraphBuilder(registry, document.calls)
    graph = builder.build(document)
    problems = [*builder.problems, *validate(graph)]
    if any(problem.severity is Severity.ERROR for problem in problems):
        raise InvalidDocumentError(problems)
    return graph


@dataclass(slots=True)
class GraphBuilder:
    """Builds what can be built; a node of an unknown type gets no labels, so that nothing is said of its outcomes."""

    registry: Registry
    calls: Mapping[str, Document]
    problems: list[Problem] = field(default_factory=list)
    _called: dict[str, Graph] = field(default_factory=dict)
    _calling: list[str] = field(default_factory=list)

    def build(self, document: Document) -> Graph:
        return self._graph(document, document, "", document.timeout)

    def _graph(
        self, scope: Document | BodyDocument, document: Document, path: str, timeout: int | None = None
    ) -> Graph:
        return Graph(
            nodes=tuple(
                self._node(node, document, f"{path}nodes.{node.key}") for node in scope.nodes.values()
            ),
            edges=tuple(
                Edge(NodeKey(edge.source), NodeKey(edge.target), edge.outcome) for edge in scope.edges
            ),
            on_failure=self._one_of(OnFailure, document.on_failure, "onFailure"),
            timeout=timeout,
            has_output=scope.has_output,
        )

    def _node(self, node: NodeDocument, document: Document, path: str) -> Node:
        node_type = self.registry.get(node.type)
        if node_type is None:
            why = (
                self.registry.fault(node.type)
                or f"there is no node type {node.type!r} here; install its package"
            )
            self._problem(f"{path}.type", Code.UNKNOWN_TYPE, why)
        kind = NodeKind.ACTION if node_type is None else node_type.kind
        config = node.config
        return Node(
            key=NodeKey(node.key),
            type=node.type,
            kind=kind,
            labels=() if node_type is None else labels_of(node_type, config),
            join=Join(self._one_of(JoinRule, node.join, f"{path}.join"), node.at_least),
            pure=node_type is not None and node_type.pure,
            retry=None if node.retry is None else _retry(node.retry),
            timeout=node.timeout,
            continue_on_error=node.continue_on_error,
            body=self._inner(node, kind, document, path),
            concurrency=self._whole(config, "concurrency", 10, path) if kind is NodeKind.FOR_EACH else 10,
            on_item_failure=self._one_of(
                OnItemFailure, config.get("onItemFailure", OnItemFailure.FAIL), f"{path}.with.onItemFailure"
            )
            if kind is NodeKind.FOR_EACH
            else OnItemFailure.FAIL,
            max_iterations=self._whole(config, "maxIterations", 100, path)
            if kind is NodeKind.REPEAT
            else 100,
            delay=self._duration(config, path) if kind is NodeKind.REPEAT else 0,
            check_first=kind is NodeKind.REPEAT and config.get("while") is not None,
        )

    def _inner(self, node: NodeDocument, kind: NodeKind, document: Document, path: str) -> Graph | None:
        if kind is NodeKind.CALL:
            return self._call(node, document, path)
        if kind in (NodeKind.FOR_EACH, NodeKind.REPEAT) and node.body is not None:
            return self._graph(node.body, document, f"{path}.body.")
        return None

    def _call(self, node: NodeDocument, document: Document, path: str) -> Graph | None:
        workflow, version = node.config.get("workflow"), node.config.get("version")
        key = call_key(str(workflow), version)
        called = document.calls.get(key) or self.calls.get(key)
        if called is None:
            return None
        if key in self._calling:
            way = " → ".join([*self._calling, key])
            self._problem(f"{path}.with.workflow", Code.CALL_RECURSION, f"workflows call each other: {way}")
            return None
        if key not in self._called:
            self._calling.append(key)
            self._called[key] = self._graph(called, called, f"{path}.body.", called.timeout)
            self._calling.pop()
        return self._called[key]

    def _one_of(self, kind: Any, value: Json, path: str) -> Any:  # noqa: ANN401 - a member of the enum that is given
        try:
            return kind(value)
        except ValueError:
            return self._damaged(path, f"must be one of {', '.join(kind)}", next(iter(kind)))

    def _whole(self, config: Mapping[str, Json], name: str, default: int, path: str) -> int:
        value = config.get(name, default)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1:
            return value
        return self._damaged(f"{path}.with.{name}", "must be a whole number, 1 or more", default)

    def _duration(self, config: Mapping[str, Json], path: str) -> int:
        try:
            return parse_duration(config.get("delay", 0))
        except (ValueError, TypeError, AttributeError) as error:
            return self._damaged(f"{path}.with.delay", str(error), 0)

    def _damaged(self, path: str, why: str, instead: T) -> T:
        self._problem(path, Code.INVALID_VALUE, why)
        return instead

    def _problem(self, path: str, code: Code, message: str) -> None:
        self.problems.append(Problem(path=path, code=code.value, message=message))


def labels_of(node_type: NodeType[Any], config: Mapping[str, Json]) -> tuple[str, ...]:
    """The outcome labels; where they cannot be told from a wrong configuration, those of the type."""
    try:
        found = tuple(node_type.labels(config))
    except Exception:  # noqa: BLE001 - a foreign type, asked about a configuration that was not checked
        return node_type.outcomes
    return tuple(label for label in found if isinstance(label, str))


def _retry(retry: RetryDocument) -> RetryOverride:
    return RetryOverride(
        max_attempts=retry.max_attempts,
        initial_interval=retry.initial_interval,
        multiplier=retry.multiplier,
        max_interval=retry.max_interval,
        jitter=retry.jitter,
        max_duration=retry.max_duration,
    )
