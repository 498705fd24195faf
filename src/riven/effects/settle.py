"""What the coordinator's decisions mean in values: which output a node ends with, and which error."""

from riven.core.errors import ErrorClass
from riven.core.graph import SKIPPED, SUCCESS, NodeKind
from riven.core.ids import ROOT_PATH, NodePath
from riven.core.messages import ExecutionStatus, Finish, NodeCompleted, NodeStatus, SettleNode, Step
from riven.effects.context import RunContext, split_scope
from riven.effects.recorder import ExecutionEnded, NodeSettled, StepEnded
from riven.effects.values import Begun
from riven.nodes.contract import Waiting
from riven.nodes.decisions import EXPIRED
from riven.wire.document import Json


def keep_answer(run: RunContext, ended: StepEnded) -> None:
    """Let others read what a step has left. Called when it is durable."""
    answer, values = ended.answer, run.values
    path = answer.path
    if not isinstance(answer, NodeCompleted):
        if not answer.canceled:
            values.errors[path] = ended.error
        return
    if answer.outcome == SKIPPED:
        return
    match ended.step:
        case Step.RUN:
            values.completed(path, answer.outcome, ended.output)
        case Step.OUTPUT:
            values.outputs[path] = ended.output
        case Step.EXPAND:
            _keep_expanded(run, path, ended.output, answer.due)
        case Step.CHECK:
            pass


def _keep_expanded(run: RunContext, path: NodePath, left: Json, due: int | None) -> None:
    _, node = run.locate(path)
    match node.type.kind:
        case NodeKind.FOR_EACH:
            run.values.items[path] = left
        case NodeKind.CALL:
            run.values.inputs[path] = left
        case NodeKind.WAIT | NodeKind.SIGNAL:
            run.values.begun[path] = Begun(Waiting(due, left["signal"], left["output"]), left["with"])
        case NodeKind.REPEAT | NodeKind.ACTION:
            pass


def settle(run: RunContext, command: SettleNode, at: int) -> NodeSettled:
    """What to record for it; afterwards templates see the node as it is now."""
    if command.path.endswith("]"):
        return _settle_scope(run, command, at)
    path, values = command.path, run.values
    output: Json = None
    error: Json = None
    match command.status:
        case NodeStatus.COMPLETED:
            output = _output_of(run, path, command.outcome)
            values.completed(path, command.outcome or SUCCESS, output)
        case NodeStatus.FAILED:
            error = values.errors[path] = _error_of(run, command)
            values.settled(path, command.status, error=error)
        case NodeStatus.RETRYING:
            error = _error_of(run, command)
            values.settled(path, command.status, error=error)
        case _:
            values.settled(path, command.status)
    if command.status in _ENDED:
        run.close(path)  # the scope of a call
        values.begun.pop(path, None)
        values.messages.pop(path, None)
    return NodeSettled(path, command.status, at, command.reason, command.outcome, output, error, command.due)


_ENDED = frozenset({NodeStatus.COMPLETED, NodeStatus.FAILED, NodeStatus.CANCELED, NodeStatus.SKIPPED})


def _settle_scope(run: RunContext, command: SettleNode, at: int) -> NodeSettled:
    """An item or an iteration has ended."""
    path, values = command.path, run.values
    container, index = split_scope(path)
    output: Json = None
    error: Json = None
    if command.status is NodeStatus.FAILED:
        error = values.errors[path] = _error_of(run, command)
    elif command.status is NodeStatus.COMPLETED:
        output = values.outputs.get(path)
        if index is not None and container not in values.items:
            values.last[container] = output
            values.outputs.pop(NodePath(f"{container}[{index - 1}]"), None)
    run.close(path)
    return NodeSettled(path, command.status, at, output=output, error=error)


def _output_of(run: RunContext, path: NodePath, outcome: str | None) -> Json:
    values = run.values
    begun = values.begun.get(path)
    if begun is None:
        return values.outputs.get(path)
    if outcome in _BY_TIME:
        return begun.waiting.output
    return values.messages.get(path)


_BY_TIME = frozenset({SUCCESS, EXPIRED})
"""Outcomes of what waits by which nobody but the clock ended it."""


def _error_of(run: RunContext, command: SettleNode) -> Json:
    """Its own failure, or that of the inner node which it failed by."""
    errors, cause = run.values.errors, command.cause
    if cause is not None and cause != command.path:
        inner = errors.get(cause, {})
        type_ = inner.get("type") or _type(command.error_class)
        return {"type": type_, "message": f"{cause}: {inner.get('message', 'it failed')}"}
    if command.path in errors:
        return errors[command.path]
    if command.error_class is ErrorClass.TIMEOUT:
        return {"type": ErrorClass.TIMEOUT.value, "message": "it took longer than its timeout allows"}
    return {"type": _type(command.error_class), "message": "it failed before it began"}


def execution_ended(run: RunContext, finish: Finish, at: int) -> ExecutionEnded:
    match finish.status:
        case ExecutionStatus.COMPLETED:
            return ExecutionEnded(finish.status, at, run.values.outputs.get(ROOT_PATH))
        case ExecutionStatus.FAILED:
            return ExecutionEnded(finish.status, at, error=execution_error(run, finish))
        case _:
            return ExecutionEnded(finish.status, at)


def execution_error(run: RunContext, finish: Finish) -> Json:
    """`{node, type, message}` of a failed execution; `node` is null where no node is at fault."""
    if finish.message is not None:
        message = run.redactor.text(finish.message)
        return {"node": finish.cause or None, "type": _type(finish.error_class), "message": message}
    cause = finish.cause
    inner = run.values.errors.get(cause, {}) if cause is not None else {}
    return {
        "node": OUTPUT if cause == ROOT_PATH else cause,
        "type": inner.get("type") or _type(finish.error_class),
        "message": inner.get("message", "the execution failed"),
    }


OUTPUT = "output"
"""Where an execution failed whose nodes all ended well."""


def _type(error_class: ErrorClass | None) -> str:
    return (error_class or ErrorClass.EXECUTION_ERROR).value
