"""Do one step of a node: resolve what it is given, run it, check what it leaves, put in order what went wrong.

Whatever happens in a node, the answer is one NodeCompleted or NodeFailed, with the values beside it.
"""

import asyncio
import logging
import traceback
from dataclasses import replace
from typing import assert_never

from riven.core.errors import ErrorClass
from riven.core.graph import SKIPPED, SUCCESS, NodeKind
from riven.core.ids import NodePath
from riven.core.messages import AGAIN, STOP, NodeCompleted, NodeFailed, StartNode, Step
from riven.effects.attempt import Attempt, Ending
from riven.effects.classify import Fault, classify, fault, shortened
from riven.effects.context import Frame, RunContext, split_scope
from riven.effects.history import Left
from riven.effects.inputs import FaultError, holds, render_output, resolve
from riven.effects.plain import NotJsonError, copy_json
from riven.effects.program import NodeProgram
from riven.effects.recorder import StepEnded
from riven.nodes.contract import NodeContext, NodeResult
from riven.wire.document import Json
from riven.wire.durations import duration_text

MAX_OUTPUT = 16 * 2**20

_log = logging.getLogger("riven.engine")


async def execute_node(run: RunContext, command: StartNode, attempt: Attempt) -> StepEnded:
    """One attempt of an action. Raises CancelledError only when the task itself is to end."""
    try:
        frame, node = run.locate(command.path)
    except Exception as error:  # noqa: BLE001 - a graph that is not its document's
        return _failed(run, command, None, _fault_of(error, run))
    try:
        if _is_skipped(run, frame, node, command):
            return _completed(run, command, outcome=SKIPPED)
        result = await _attempt(run, frame, node, command, attempt)
        if attempt.ending is Ending.TIMEOUT:
            return _failed(run, command, node, _timed_out(run, node, command))
        output = _fit(run, result.output, node)
        if result.outcome not in node.labels:
            return _failed(run, command, node, _unknown_label(node, result.outcome))
        return _completed(run, command, outcome=result.outcome, output=output)
    except asyncio.CancelledError as error:
        if not attempt.caught():
            raise
        return _ended_early(run, command, node, attempt, error)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001 - also SystemExit: no node ends the process, and none is left unanswered
        return _ended_early(run, command, node, attempt, error)
    finally:
        attempt.caught()


async def _attempt(
    run: RunContext, frame: Frame, node: NodeProgram, command: StartNode, attempt: Attempt
) -> NodeResult:
    started = run.clock.now()
    try:
        resolved = resolve(run, frame, node)
    except FaultError:
        _tell_started(run, command, started, None)
        raise
    _tell_started(run, command, started, resolved.shown)
    work = node.type.run(resolved.config, _context(run, node, command))
    result: object = await attempt.run(work, run.timers, started + _time_for(run, node, command))
    if not isinstance(result, NodeResult):
        text = f"the node type {node.type.type!r} answered a {type(result).__name__} instead of a NodeResult"
        raise FaultError(fault(ErrorClass.EXECUTION_ERROR, text))
    return result


def execute_step(run: RunContext, command: StartNode) -> StepEnded:
    """Every step but an action's attempt: these only evaluate, and never wait."""
    node: NodeProgram | None = None
    try:
        if command.step is Step.EXPAND:
            frame, node = run.locate(command.path)
            return _expand(run, frame, node, command)
        if command.step is Step.CHECK:
            return _check(run, command)
        return _output(run, command)
    except Exception as error:  # noqa: BLE001 - whatever it is, the step has its answer
        return _failed(run, command, node, _fault_of(error, run))


# ---- the steps of containers and waits -------------------------------------------------------------------------------


def _expand(run: RunContext, frame: Frame, node: NodeProgram, command: StartNode) -> StepEnded:
    now = run.clock.now()
    before = _expanded_before(run, command.path)
    if before is not None:
        _tell_started(run, command, now, before.input)
        return _completed(run, command, output=before.items, fan_out=len(before.items or ()))
    if _is_skipped(run, frame, node, command):
        return _completed(run, command, outcome=SKIPPED)
    try:
        resolved = resolve(run, frame, node)
    except FaultError:
        _tell_started(run, command, now, None)
        raise
    _tell_started(run, command, now, resolved.shown)
    match node.type.kind:
        case NodeKind.FOR_EACH:
            items = copy_json(resolved.config.items).value  # type: ignore[attr-defined]  # the config of a for_each
            return _completed(run, command, output=items, fan_out=len(items))
        case NodeKind.REPEAT:
            return _completed(run, command)
        case NodeKind.CALL:
            return _completed(run, command, output=_call_input(run, node, resolved.config.input))  # type: ignore[attr-defined]
        case NodeKind.WAIT | NodeKind.SIGNAL:
            waiting = node.type.begin(resolved.config, _context(run, node, command))
            begun = {"signal": waiting.signal, "output": waiting.output, "with": resolved.shown}
            return _completed(run, command, output=begun, due=waiting.due)
        case NodeKind.ACTION:
            raise AssertionError(f"{command.path} is an action: there is nothing to expand")
        case _:
            assert_never(node.type.kind)


def _expanded_before(run: RunContext, path: NodePath) -> Left | None:
    """A for_each that an earlier run began: what it completed belongs to the items that it had."""
    left = None if run.earlier is None else run.earlier.nodes.get(path)
    return left if left is not None and left.items is not None else None


def _call_input(run: RunContext, node: NodeProgram, given: Json) -> Json:
    assert node.body is not None, "a call has its document"  # noqa: S101 - compiled so
    document = node.body.document
    assert document is not None, "a call has its document"  # noqa: S101 - compiled so
    checked, problems = run.check_input(document, copy_json(given).value)
    if problems:
        said = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
        text = f"the workflow {document.name!r} refuses its input: {said}"
        raise FaultError(fault(ErrorClass.VALIDATION_ERROR, text))
    return checked


def _check(run: RunContext, command: StartNode) -> StepEnded:
    """`while` sees the iteration that would begin, `until` the one that has just ended."""
    container, index = split_scope(command.path)
    frame, node = run.locate(container)
    assert index is not None, f"{command.path} is no iteration"  # noqa: S101 - the coordinator checks nothing else
    ((place, condition),) = node.config.conditions
    asks_before = place == ("while",)
    iteration = run.iteration(container, index, index - 1 if asks_before else index)
    true = holds(run, frame, condition, node.key, f"with.{place[0]}", {"iteration": iteration})
    return _completed(run, command, outcome=AGAIN if true is asks_before else STOP)


def _output(run: RunContext, command: StartNode) -> StepEnded:
    path = command.path
    container, index = split_scope(path)
    if path and index is None:
        _, node = run.locate(container)
        if node.type.kind is not NodeKind.CALL:
            return _completed(run, command, output=_gathered(run, path, node))
    frame = run.frame(path)
    template = frame.program.output
    assert template is not None, f"{path} has no output to build"  # noqa: S101 - the graph says that it has
    rendered = render_output(run, frame, template, path)
    return _completed(run, command, output=_fit(run, rendered))


def _gathered(run: RunContext, path: NodePath, node: NodeProgram) -> Json:
    """The output of a for_each, in item order, or of a repeat, that of its last iteration."""
    values = run.values
    if node.type.kind is NodeKind.REPEAT:
        return values.last.get(path)
    scopes = [NodePath(f"{path}[{index}]") for index in range(len(values.items[path]))]
    assert isinstance(node.config.written, dict)  # noqa: S101 - a document's `with`
    if node.config.written.get("onItemFailure") == "collect":
        listed: list[Json] = [
            {"ok": False, "error": values.errors[scope]}
            if scope in values.errors
            else {"ok": True, "output": values.outputs.get(scope)}
            for scope in scopes
        ]
    else:
        listed = [values.outputs.get(scope) for scope in scopes]
    return _fit(run, listed)


# ---- what all steps share --------------------------------------------------------------------------------------------


def _is_skipped(run: RunContext, frame: Frame, node: NodeProgram, command: StartNode) -> bool:
    """Asked once, before the first attempt."""
    if node.when is None or command.attempt > 1:
        return False
    try:
        return not holds(run, frame, node.when, node.key, "when")
    except FaultError:
        _tell_started(run, command, run.clock.now(), None)
        raise


def _tell_started(run: RunContext, command: StartNode, at: int, shown: Json) -> None:
    number = run.number(command.path, command.attempt)
    run.values.running(command.path, number)
    run.recorder.started(command.path, number, at, shown)


def _context(run: RunContext, node: NodeProgram, command: StartNode) -> NodeContext:
    redactor = run.redactor
    context = NodeContext(
        execution_id=run.execution_id,
        path=command.path,
        attempt=run.number(command.path, command.attempt),
        clock=run.clock,
        idempotency_key=f"{run.execution_id}:{command.path}",
        services=run.services,
    )
    if redactor.idle:
        return context
    short = redactor.only(node.config.reads.secrets)
    return replace(context, redact=lambda value: redactor.value(value, short))


def _time_for(run: RunContext, node: NodeProgram, command: StartNode) -> int:
    """Milliseconds for this attempt."""
    timeout = command.timeout
    if timeout is None:
        default = node.type.default_timeout
        timeout = run.node_timeout if default is None else round(default * 1_000)
    return timeout if command.limit is None else min(timeout, command.limit)


def _fit(run: RunContext, output: Json, node: NodeProgram | None = None) -> Json:
    """A copy of an output that may be kept: JSON, not too large, without secrets."""
    if output is None or output is True or output is False:
        return output
    try:
        copied = copy_json(output)
    except NotJsonError as error:
        where = (
            f"output.{error.path}" if error.path and not error.path.startswith("[") else f"output{error.path}"
        )
        raise FaultError(fault(ErrorClass.VALIDATION_ERROR, f"{where}: {error.reason}")) from None
    if len(copied.text) > MAX_OUTPUT:
        size = len(copied.text) / 2**20
        text = f"the output has {size:.1f} MiB as JSON; at most {MAX_OUTPUT // 2**20} MiB are kept"
        raise FaultError(fault(ErrorClass.VALIDATION_ERROR, text))
    if run.redactor.idle:
        return copied.value
    short = run.redactor.only(node.config.reads.secrets) if node is not None else frozenset()
    return run.redactor.value(copied.value, short)


def _completed(
    run: RunContext,
    command: StartNode,
    *,
    outcome: str = SUCCESS,
    output: Json = None,
    fan_out: int | None = None,
    due: int | None = None,
) -> StepEnded:
    answer = NodeCompleted(command.path, run.clock.now(), outcome, fan_out, due)
    return StepEnded(answer, command.step, run.number(command.path, command.attempt), output)


def _ended_early(
    run: RunContext, command: StartNode, node: NodeProgram, attempt: Attempt, error: BaseException
) -> StepEnded:
    """It was asked to end, or it failed by itself. What is raised while it cleans up changes nothing of why it ended."""
    match attempt.ending:
        case Ending.TIMEOUT:
            return _failed(run, command, node, _timed_out(run, node, command))
        case Ending.CANCEL:
            return _canceled(run, command)
        case None:
            if isinstance(error, asyncio.CancelledError):
                text = (
                    "the node was canceled from inside: something that it waited for ended by CancelledError"
                )
                return _failed(run, command, node, fault(ErrorClass.EXECUTION_ERROR, text))
            return _failed(run, command, node, _fault_of(error, run))
        case _:
            assert_never(attempt.ending)


def ended_by(run: RunContext, command: StartNode, reason: Ending) -> StepEnded:
    """The answer for an attempt that was asked to end and never began, or does not end."""
    if reason is Ending.CANCEL:
        return _canceled(run, command)
    _, node = run.locate(command.path)
    return _failed(run, command, node, _timed_out(run, node, command))


def _canceled(run: RunContext, command: StartNode) -> StepEnded:
    answer = NodeFailed(
        command.path, run.clock.now(), ErrorClass.EXECUTION_ERROR, retryable=False, canceled=True
    )
    return StepEnded(answer, command.step, run.number(command.path, command.attempt))


def _failed(run: RunContext, command: StartNode, node: NodeProgram | None, reason: Fault) -> StepEnded:
    message = reason.message
    if not run.redactor.idle:
        short = run.redactor.only(node.config.reads.secrets) if node is not None else frozenset()
        message = run.redactor.text(message, short)
    answer = NodeFailed(
        command.path,
        run.clock.now(),
        reason.error_class,
        retryable=reason.retryable,
        retry_after=reason.retry_after,
        jitter=run.dice.uniform(-1.0, 1.0),
    )
    error = {"type": reason.error_class.value, "message": shortened(message)}
    return StepEnded(answer, command.step, run.number(command.path, command.attempt), error=error)


def _fault_of(error: BaseException, run: RunContext) -> Fault:
    if isinstance(error, FaultError):
        return error.fault
    reason = classify(error)
    if reason.unforeseen and _log.isEnabledFor(logging.INFO):
        text = run.redactor.text("".join(traceback.format_exception(error)))
        _log.info("node_raised", extra={"executionId": run.execution_id, "traceback": text})
    return reason


def _timed_out(run: RunContext, node: NodeProgram, command: StartNode) -> Fault:
    took = duration_text(_time_for(run, node, command))
    return fault(ErrorClass.TIMEOUT, f"the attempt took longer than {took}")


def _unknown_label(node: NodeProgram, outcome: object) -> Fault:
    known = ", ".join(sorted(node.labels))
    text = f"the node type {node.type.type!r} left by {outcome!r}, which is none of its outcomes: {known}"
    return fault(ErrorClass.CONTROL_FLOW_ERROR, text)
