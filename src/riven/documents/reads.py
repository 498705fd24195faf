"""What expressions read: whether they can be compiled, and whether what they name is there when they are evaluated.

A step that is read must come before the reader: in its own scope, or before the container that it stands in. Where it
need not have completed by then (`flow` says how that is told) and is read without `?`, a warning says so.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from riven.core.graph import NodeKind, OnFailure
from riven.documents.codes import Code
from riven.documents.configs import expression_places
from riven.documents.draft import Draft, DraftNode, DraftScope
from riven.documents.findings import Findings
from riven.documents.flow import Flow, FlowNode
from riven.documents.normalise import labels_of
from riven.documents.places import Location, find, shorten, texts
from riven.expressions.cel import compile_condition
from riven.expressions.errors import ExpressionError
from riven.expressions.references import References
from riven.expressions.templates import TemplateErrors, compile_template, has_placeholder
from riven.wire.document import Json

_ITEM: Final = frozenset({"item", "index"})
_ITERATION: Final = frozenset({"iteration"})
_ONLY_IN: Final[Mapping[str, str]] = {
    "item": "the body of a for_each",
    "index": "the body of a for_each",
    "iteration": "a repeat: its `while` or `until`, and its body",
}


@dataclass(frozen=True, slots=True)
class _Use:
    """One expression, or text with expressions, and who reads by it."""

    location: Location
    references: References
    scope: DraftScope
    reader: str | None
    """None: the output of the scope."""
    roots: frozenset[str] = frozenset()
    """Beside those that are everywhere."""
    secrets: bool = False


@dataclass(frozen=True, slots=True)
class _Question:
    """Whether a step comes before a reader in their scope; `reader` None: the end of the scope."""

    use: _Use
    scope: DraftScope
    reader: str | None
    step: str
    maybe: bool


def check_reads(draft: Draft, findings: Findings) -> None:
    constants = None if findings.is_spoiled(("vars",)) else set(draft.fields.vars or {})
    questions: list[_Question] = []
    for use in _uses(draft, findings):
        if use.references.roots:
            _check_roots(use, constants, findings)
            questions += _questions(use, findings)
    _answer(questions, OnFailure(draft.fields.on_failure or OnFailure.FAIL_FAST), findings)


# ---- what is read where -----------------------------------------------------------------------------------------------


def _uses(draft: Draft, findings: Findings) -> Iterator[_Use]:
    for scope in draft.scope.every():
        roots = _roots_of(scope)
        for node in scope.nodes.values():
            yield from _uses_of_node(node, scope, roots, findings)
        yield from _templates(
            texts(scope.output),
            (*scope.location, "output"),
            _Use((), References(), scope, None, roots),
            findings,
        )


def _roots_of(scope: DraftScope) -> frozenset[str]:
    roots: frozenset[str] = frozenset()
    around: DraftScope | None = scope
    while around is not None and around.container is not None:
        kind = _kind(around.container)
        if kind is NodeKind.FOR_EACH or kind is None:
            roots |= _ITEM
        if kind is NodeKind.REPEAT or kind is None:
            roots |= _ITERATION
        around = around.outer
    return roots


def _kind(node: DraftNode) -> NodeKind | None:
    return None if node.type is None else node.type.kind


def _uses_of_node(
    node: DraftNode, scope: DraftScope, roots: frozenset[str], findings: Findings
) -> Iterator[_Use]:
    pattern = _Use((), References(), scope, node.key, roots)
    when = node.fields.when
    if isinstance(when, str):
        yield from _condition(when, (*node.location, "when"), pattern, findings)
    kind = _kind(node)
    config: Json = node.config
    conditions = set(expression_places(config, node.type.expression_fields)) if node.type else set()
    inside = _changed(pattern, roots | _ITERATION) if kind is NodeKind.REPEAT else pattern
    for place in sorted(conditions, key=str):
        source = find(config, place)[0]
        if isinstance(source, str):
            yield from _condition(source, (*node.location, "with", *place), inside, findings)
    actions = _changed(pattern, roots, secrets=kind is NodeKind.ACTION or kind is None)
    yield from _templates(node.templated, (*node.location, "with"), actions, findings, conditions)


def _changed(use: _Use, roots: frozenset[str], *, secrets: bool = False) -> _Use:
    return _Use((), References(), use.scope, use.reader, roots, secrets)


def _condition(source: str, location: Location, pattern: _Use, findings: Findings) -> Iterator[_Use]:
    try:
        references = compile_condition(source).references
    except ExpressionError as error:
        findings.error(location, error.code, error.message)
        return
    yield _Use(location, references, pattern.scope, pattern.reader, pattern.roots)


def _templates(
    found: Iterable[tuple[Location, str]],
    location: Location,
    pattern: _Use,
    findings: Findings,
    conditions: frozenset[Location] | set[Location] = frozenset(),
) -> Iterator[_Use]:
    for place, text in found:
        if not has_placeholder(text) or place in conditions:
            continue
        here = (*location, *place)
        try:
            references = compile_template(text).references
        except TemplateErrors as errors:
            for _, error in errors.errors:
                findings.error(here, error.code, error.message)
            continue
        yield _Use(here, references, pattern.scope, pattern.reader, pattern.roots, pattern.secrets)


# ---- whether it is there ----------------------------------------------------------------------------------------------


def _check_roots(use: _Use, constants: set[str] | None, findings: Findings) -> None:
    """`constants` None: they cannot be read."""
    references = use.references
    for root in sorted(references.roots & set(_ONLY_IN) - use.roots):
        findings.error(use.location, Code.ROOT_NOT_HERE, f"`{root}` exists only in {_ONLY_IN[root]}")
    if references.secrets and not use.secrets:
        name = min(references.secrets)
        said = f"`secrets.{shorten(name, 40)}` cannot be read here, only in the `with` of the action that needs it"
        findings.error(use.location, Code.SECRET_NOT_ALLOWED, said)
    for name in sorted(references.vars - (references.vars if constants is None else constants)):
        said = f"there is no constant {shorten(name, 40)!r} in `vars`{findings.hint(name, constants or ())}"
        findings.error(use.location, Code.UNKNOWN_CONSTANT, said)


def _questions(use: _Use, findings: Findings) -> Iterator[_Question]:
    for step in use.references.steps:
        scope: DraftScope | None = use.scope
        reader = use.reader
        while scope is not None and step.key not in scope.nodes:
            reader = scope.container.key if scope.container is not None else None
            scope = scope.outer
        if scope is None:
            _tell_unknown(use, step.key, findings)
        elif step.key == reader:
            _tell_itself(use, step.key, findings)
        else:
            yield _Question(use, scope, reader, step.key, step.maybe)


def _tell_unknown(use: _Use, key: str, findings: Findings) -> None:
    inside = _container_of(use.scope, key)
    if inside is not None:
        said = f"{key} stands in the body of {inside}; from here read what that leaves: steps.{inside}.output"
    else:
        visible: list[str] = []
        scope: DraftScope | None = use.scope
        while scope is not None:
            visible += scope.nodes
            scope = scope.outer
        said = f"there is no step {shorten(key, 40)!r}{findings.hint(key, visible)}"
    findings.error(use.location, Code.UNKNOWN_STEP, said)


def _container_of(scope: DraftScope, key: str) -> str | None:
    for name, node in scope.nodes.items():
        if node.body is not None and any(key in inner.nodes for inner in node.body.every()):
            return name
    return None


def _tell_itself(use: _Use, key: str, findings: Findings) -> None:
    if use.reader == key:
        said = f"{key} reads its own result, which is not there before it has run"
    else:
        said = f"{key} is what this stands in; its result is not there before all of it has run"
    findings.error(use.location, Code.NOT_AN_ANCESTOR, said)


@dataclass(slots=True)
class _Asked:
    questions: list[_Question] = field(default_factory=list)
    pairs: dict[str, set[str]] = field(default_factory=dict)
    at_end: set[str] = field(default_factory=set)


def _answer(questions: list[_Question], on_failure: OnFailure, findings: Findings) -> None:
    by_scope: dict[int, _Asked] = {}
    for question in questions:
        asked = by_scope.setdefault(id(question.scope), _Asked())
        asked.questions.append(question)
        if question.reader is None:
            asked.at_end.add(question.step)
        else:
            asked.pairs.setdefault(question.reader, set()).add(question.step)
    for asked in by_scope.values():
        scope = asked.questions[0].scope
        flow = Flow(_flow_nodes(scope), scope.edges, asked.pairs, on_failure, frozenset(asked.at_end))
        for question in asked.questions:
            _tell(question, flow, findings)


def _flow_nodes(scope: DraftScope) -> dict[str, FlowNode]:
    return {
        key: FlowNode.of(node, ("success",) if node.type is None else labels_of(node.type, node.config))
        for key, node in scope.nodes.items()
    }


def _tell(question: _Question, flow: Flow, findings: Findings) -> None:
    step, reader, use = question.step, question.reader, question.use
    if reader is None:
        certain = step not in flow.ordered or flow.completes(step)
    elif reader not in flow.ordered:
        return
    elif not flow.is_ancestor(step, reader):
        said = f"{step} need not have run before {reader}: add an edge from {step} to {reader}, or one on the way to it"
        findings.error(use.location, Code.NOT_AN_ANCESTOR, said)
        return
    else:
        certain = flow.has_completed(step, reader)
    if not certain and not question.maybe:
        who = "when this is read" if reader is None else f"when {reader} runs"
        said = (
            f"{step} may have been skipped or have failed {who}, then this fails;"
            f" to allow for that, read steps.?{step}.?output and so on, with .orValue(...)"
        )
        findings.warning(use.location, Code.MAYBE_SKIPPED, said)
