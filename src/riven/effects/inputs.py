"""What a node is given: the values that its templates read, and its configuration with all of them resolved."""

from collections.abc import Mapping
from dataclasses import dataclass

import orjson
from pydantic import BaseModel, ValidationError

from riven.core.errors import ErrorClass, RivenError
from riven.core.ids import NodePath
from riven.effects.classify import Fault, fault, say_invalid
from riven.effects.context import Frame, RunContext
from riven.effects.plain import NotJsonError, copy_json
from riven.effects.program import Condition, Configuration, NodeProgram, Output, Reads, put_in
from riven.expressions.errors import ExpressionError, dotted
from riven.nodes.contract import NodeError, Predicate
from riven.wire.document import Json


class FaultError(RivenError):
    """A step cannot be done; it carries what went wrong."""

    def __init__(self, reason: Fault) -> None:
        self.fault = reason
        super().__init__(reason.message)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A node's configuration for one attempt."""

    config: BaseModel
    shown: Json
    """What is recorded: as resolved, without secrets, conditions as they are written."""


def gather(run: RunContext, frame: Frame, reads: Reads) -> dict[str, Json]:
    """The roots for an expression, with nothing in them that it does not read."""
    roots: dict[str, Json] = {name: frame.roots[name] for name in reads.roots if name in frame.roots}
    if reads.steps:
        steps = run.values.steps
        found = {}
        for key, up in reads.steps:
            scope: Frame | None = frame
            for _ in range(up):
                scope = scope and scope.outer
            path = NodePath(scope.prefix + key) if scope is not None else NodePath(key)
            found[key] = run.values.step(path) if path not in steps else steps[path]
        roots["steps"] = found
    if reads.secrets:
        roots["secrets"] = run.secrets
    return roots


def resolve(
    run: RunContext, frame: Frame, node: NodeProgram, extra: Mapping[str, Json] | None = None
) -> Resolved:
    """The configuration of this node now. `extra`: roots that only this step has.

    Raises:
        FaultError: a template fails, or the type refuses the result.
    """
    written = node.config
    if written.constant is not None:
        given, shown = orjson.loads(written.constant), run.redactor.value(written.written)
    else:
        given, shown = _render(run, frame, node, written)
    for place, condition in written.conditions:
        put_in(given, place, _bind(run, frame, node, place, condition, extra))
    try:
        config = node.type.config.model_validate(given)
    except ValidationError as error:
        raise FaultError(fault(ErrorClass.VALIDATION_ERROR, say_invalid(error, "with"))) from None
    return Resolved(config, shown)


def _render(run: RunContext, frame: Frame, node: NodeProgram, written: Configuration) -> tuple[Json, Json]:
    """The resolved configuration twice: a private copy for the node, and what to show, which others may read too."""
    assert written.rest is not None  # noqa: S101 - it is no constant
    try:
        rendered = written.rest.render(gather(run, frame, written.reads))
        copied = copy_json(rendered)
    except ExpressionError as error:
        raise FaultError(template_fault(node.key, "with", error)) from None
    except NotJsonError as error:
        raise FaultError(_unfit(node.key, f"with.{error.path}", error.reason)) from None
    shown = rendered if run.redactor.idle else run.redactor.masked(rendered, written.mask)
    if written.conditions:
        shown = orjson.loads(copied.text) if shown is rendered else shown
        for place, condition in written.conditions:
            put_in(shown, place, condition.source)
    return copied.value, shown


def _bind(
    run: RunContext,
    frame: Frame,
    node: NodeProgram,
    place: tuple[str | int, ...],
    condition: Condition,
    extra: Mapping[str, Json] | None,
) -> Predicate:
    field = f"with.{dotted(place)}"

    def evaluate() -> bool:
        try:
            return holds(run, frame, condition, node.key, field, extra)
        except FaultError as error:
            raise NodeError(error.fault.error_class, error.fault.message) from None

    return Predicate(condition.source, evaluate)


def holds(
    run: RunContext,
    frame: Frame,
    condition: Condition,
    key: str,
    field: str,
    extra: Mapping[str, Json] | None = None,
) -> bool:
    """Whether a condition is true now. Raises FaultError when it fails, or says neither true nor false."""
    if condition.expression is None:
        return condition.constant
    roots = gather(run, frame, condition.reads)
    if extra:
        roots.update(extra)
    try:
        return condition.expression.evaluate_condition(roots)
    except ExpressionError as error:
        raise FaultError(template_fault(key, field, error)) from None


def render_output(run: RunContext, frame: Frame, output: Output, where: str) -> Json:
    """A scope's `output`. `where` names the scope, empty for the execution's own."""
    try:
        rendered = output.template.render(gather(run, frame, output.reads))
    except ExpressionError as error:
        raise FaultError(template_fault(where, "output", error)) from None
    return rendered


def template_fault(key: str, field: str, error: ExpressionError) -> Fault:
    """Names node and field; the error itself quotes the expression."""
    return _unfit(key, f"{field}.{error.field}" if error.field else field, error.message)


def _unfit(key: str, field: str, reason: str) -> Fault:
    place = f"{key}: {field}" if key else field
    return fault(ErrorClass.TEMPLATE_ERROR, f"{place}: {reason}")
