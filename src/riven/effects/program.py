"""A document made ready to run: every template and condition compiled, and what each one reads known by place.

Compiled once for a document and shared by all its runs. A scope is the document itself, a container's body or a called
document; templates see the steps of their own scope and of those around it, up to the document they stand in.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import orjson

from riven.core.errors import InvalidDocumentError, Problem
from riven.core.graph import NodeKind
from riven.expressions.cel import Expression, compile_condition
from riven.expressions.errors import ExpressionError, dotted
from riven.expressions.references import References
from riven.expressions.templates import Template, TemplateErrors, compile_template, has_placeholder
from riven.nodes.contract import NodeType
from riven.nodes.registry import Registry
from riven.wire.document import BodyDocument, Document, Json, NodeDocument, call_key
from riven.wire.places import place_step

Place: TypeAlias = tuple[str | int, ...]
"""Where in a configuration: `("cases", 0, "if")`."""


@dataclass(frozen=True, slots=True)
class Reads:
    """What an expression must be given."""

    roots: tuple[str, ...] = ()
    """Of `input`, `vars`, `item` and the others that have one value in a scope."""
    steps: tuple[tuple[str, int], ...] = ()
    """Key, and how many scopes outwards the step stands."""
    secrets: frozenset[str] = frozenset()

    @property
    def nothing(self) -> bool:
        return not (self.roots or self.steps or self.secrets)


@dataclass(frozen=True, slots=True)
class Condition:
    """A `when`, an `if`, a `while`: bare CEL, or a constant."""

    source: str
    reads: Reads
    expression: Expression | None
    constant: bool = False
    """What it says when there is no expression."""


@dataclass(frozen=True, slots=True)
class Output:
    template: Template
    reads: Reads


@dataclass(frozen=True, slots=True)
class Configuration:
    """The `with` of a node. `rest` is all of it but the conditions, which are bound to the attempt, not resolved."""

    written: Json
    reads: Reads
    constant: bytes | None
    """`rest` as JSON text if nothing in it is to be resolved: each attempt gets a copy of its own."""
    rest: Template | None
    conditions: tuple[tuple[Place, Condition], ...] = ()
    mask: Json = None
    """Where `written` names secrets: its shape, with their names at the texts that hold them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeProgram:
    key: str
    place: str
    """Where it stands in its scope: see wire.places."""
    name: str | None
    type: NodeType[Any]
    labels: frozenset[str]
    when: Condition | None
    config: Configuration
    body: "ScopeProgram | None" = None
    """The inner scope of a container; of a call, the called document's."""


@dataclass(frozen=True, slots=True)
class ScopeProgram:
    nodes: dict[str, NodeProgram]
    """In document order."""
    output: Output | None
    document: Document | None
    """Set where a document begins: the execution's own, and each called one."""


@dataclass(frozen=True, slots=True)
class Program:
    document: Document
    root: ScopeProgram
    secrets: frozenset[str]
    """Names of all secrets that are read anywhere, called documents included."""


def compile_program(document: Document, registry: Registry) -> Program:
    """Raises InvalidDocumentError with everything that cannot be compiled: an unknown type, a broken expression."""
    compiler = _Compiler(document, registry)
    root = compiler.document_scope(document, "")
    if compiler.problems:
        raise InvalidDocumentError(compiler.problems)
    return Program(document, root, frozenset(compiler.secrets))


_Scopes: TypeAlias = tuple[Mapping[str, NodeDocument], ...]
"""Nodes that can be referred to: own scope first, then outwards."""


@dataclass(slots=True)
class _Compiler:
    top: Document
    registry: Registry
    problems: list[Problem] = field(default_factory=list)
    secrets: set[str] = field(default_factory=set)
    called: dict[str, ScopeProgram] = field(default_factory=dict)
    calling: list[str] = field(default_factory=list)

    def document_scope(self, document: Document, path: str) -> ScopeProgram:
        scopes = (document.nodes,)
        nodes = self._nodes(document.nodes, document, scopes, path)
        output = self._output(document.output, scopes, f"{path}output") if document.has_output else None
        return ScopeProgram(nodes, output, document)

    def _body_scope(self, body: BodyDocument, document: Document, around: _Scopes, path: str) -> ScopeProgram:
        scopes = (body.nodes, *around)
        nodes = self._nodes(body.nodes, document, scopes, path)
        output = self._output(body.output, scopes, f"{path}output") if body.has_output else None
        return ScopeProgram(nodes, output, None)

    def _nodes(
        self, nodes: Mapping[str, NodeDocument], document: Document, scopes: _Scopes, path: str
    ) -> dict[str, NodeProgram]:
        compiled = {
            key: self._node(node, place_step(position), document, scopes, path)
            for position, (key, node) in enumerate(nodes.items())
        }
        return {key: node for key, node in compiled.items() if node is not None}

    def _node(
        self, node: NodeDocument, place: str, document: Document, scopes: _Scopes, path: str
    ) -> NodeProgram | None:
        path = f"{path}nodes.{node.key}"
        node_type = self.registry.get(node.type)
        if node_type is None:
            why = self.registry.fault(node.type) or f"there is no node type {node.type!r} here"
            self.problems.append(Problem(path=f"{path}.type", code="unknown_type", message=why))
            return None
        body = None
        if node.body is not None:
            body = self._body_scope(node.body, document, scopes, f"{path}.body.")
        elif node_type.kind is NodeKind.CALL:
            body = self._called_scope(node, document, path)
        return NodeProgram(
            key=node.key,
            place=place,
            name=node.name,
            type=node_type,
            labels=frozenset(node_type.labels(node.config)),
            when=None if node.when is None else self._condition(node.when, scopes, f"{path}.when"),
            config=self._configuration(node.config, node_type, scopes, f"{path}.with"),
            body=body,
        )

    def _called_scope(self, node: NodeDocument, document: Document, path: str) -> ScopeProgram | None:
        name = call_key(str(node.config.get("workflow")), node.config.get("version"))
        called = document.calls.get(name) or self.top.calls.get(name)
        if called is None or name in self.calling:
            why = "calls itself" if called else "is not there"
            message = f"the called workflow {name!r} {why}"
            self.problems.append(Problem(path=f"{path}.with.workflow", code="call", message=message))
            return None
        if name not in self.called:
            self.calling.append(name)
            self.called[name] = self.document_scope(called, f"{path}.")
            self.calling.pop()
        return self.called[name]

    def _configuration(
        self, config: Mapping[str, Json], node_type: NodeType[Any], scopes: _Scopes, path: str
    ) -> Configuration:
        conditions: list[tuple[Place, Condition]] = []
        rest: Json = config
        if node_type.expression_fields:
            rest = orjson.loads(orjson.dumps(config))
            for place in _places(config, node_type.expression_fields):
                source = _take_out(rest, place)
                conditions.append((place, self._condition(source, scopes, f"{path}.{dotted(place)}")))
        text = orjson.dumps(rest)
        template = None if b"{{" not in text else self._template(rest, path)
        reads = Reads() if template is None else self._reads(template.references, scopes)
        constant = text if template is None else None
        mask = mask_of(rest) if reads.secrets else None
        return Configuration(config, reads, constant, template, tuple(conditions), mask)

    def _template(self, value: Json, path: str) -> Template | None:
        try:
            return compile_template(value)
        except TemplateErrors as broken:
            for place, error in broken.errors:
                self._broken(f"{path}.{place}" if place else path, error)
            return None

    def _output(self, value: Json, scopes: _Scopes, path: str) -> Output | None:
        template = self._template(value, path)
        return None if template is None else Output(template, self._reads(template.references, scopes))

    def _condition(self, source: Json, scopes: _Scopes, path: str) -> Condition:
        if isinstance(source, bool):
            return Condition("true" if source else "false", Reads(), None, source)
        try:
            expression = compile_condition(str(source))
        except ExpressionError as error:
            self._broken(path, error)
            return Condition(str(source), Reads(), None)
        return Condition(str(source), self._reads(expression.references, scopes), expression)

    def _broken(self, path: str, error: ExpressionError) -> None:
        self.problems.append(Problem(path=path, code=error.code, message=error.message))

    def _reads(self, references: References, scopes: _Scopes) -> Reads:
        self.secrets.update(references.secrets)
        steps = {}
        for step in references.steps:
            up = next((up for up, nodes in enumerate(scopes) if step.key in nodes), None)
            if up is not None:
                steps[step.key] = up
        roots = tuple(sorted(references.roots - {"steps", "secrets"}))
        return Reads(roots, tuple(steps.items()), references.secrets)


def _places(config: Json, fields: Sequence[str]) -> Iterator[Place]:
    """Where the fields that hold bare CEL are in this configuration: `cases[].if` stands for each element."""
    for name in fields:
        yield from _find(config, name.split("."), ())


def _find(value: Json, steps: list[str], place: Place) -> Iterator[Place]:
    name = steps[0].removesuffix("[]")
    if not isinstance(value, Mapping) or value.get(name) is None:
        return
    found, here = value[name], (*place, name)
    if len(steps) == 1:
        yield here
    elif not steps[0].endswith("[]"):
        yield from _find(found, steps[1:], here)
    elif isinstance(found, list):
        for index, item in enumerate(found):
            yield from _find(item, steps[1:], (*here, index))


def _take_out(value: Json, place: Place) -> Json:
    for step in place[:-1]:
        value = value[step]
    return value.pop(place[-1])


def put_in(value: Json, place: Place, item: object) -> None:
    for step in place[:-1]:
        value = value[step]
    value[place[-1]] = item


def mask_of(value: Json) -> Json:
    """The shape of a written configuration, with the names of secrets where its texts read some, None elsewhere."""
    if isinstance(value, str):
        names = compile_template(value).references.secrets if has_placeholder(value) else frozenset()
        return names or None
    if isinstance(value, Mapping):
        return {key: mask_of(item) for key, item in value.items()}
    if isinstance(value, list):
        return [mask_of(item) for item in value]
    return None
