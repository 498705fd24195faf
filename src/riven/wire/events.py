"""Events and commands of the coordinator as lists, short and without values: a workflow and its activities share them."""

from typing import Any

from riven.core.errors import ErrorClass
from riven.core.ids import NodePath, TimerId
from riven.core.messages import (
    AwaitSignal,
    CancelRequested,
    Command,
    Event,
    NodeFailed,
    PauseRequested,
    ResumeRequested,
    SignalReceived,
    StartNode,
    StartTimer,
    Step,
    TimerFired,
)

ANSWERED = "a"
"""The step that was asked of this path has its answer, which is recorded."""
UNDONE = "f"
"""It has an answer that nobody recorded: it was canceled before it began, or its workers were lost."""
FIRED = "t"
RECEIVED = "s"
CANCEL = "c"
PAUSE = "p"
RESUME = "r"
STARTED = "b"


def write_control(
    event: SignalReceived | CancelRequested | PauseRequested | ResumeRequested, row: str
) -> list[Any]:
    """`row`: the id of the row that asked for it; empty if it was asked by Temporal's own means."""
    match event:
        case SignalReceived():
            return [RECEIVED, event.at, row, event.path, event.outcome]
        case CancelRequested():
            return [CANCEL, event.at, row]
        case PauseRequested():
            return [PAUSE, event.at, row]
        case ResumeRequested():
            return [RESUME, event.at, row]


def read_event(data: list[Any]) -> Event:
    """Everything but what was answered and recorded, which the reader of these has."""
    match data:
        case [kind, at, path, error_class, canceled] if kind == UNDONE:
            return NodeFailed(NodePath(path), at, ErrorClass(error_class), canceled=canceled)
        case [kind, at, timer] if kind == FIRED:
            return TimerFired(TimerId(timer), at)
        case [kind, at, _, path, outcome] if kind == RECEIVED:
            return SignalReceived(NodePath(path), outcome, at)
        case [kind, at, _] if kind == CANCEL:
            return CancelRequested(at)
        case [kind, at, _] if kind == PAUSE:
            return PauseRequested(at)
        case [kind, at, _] if kind == RESUME:
            return ResumeRequested(at)
    raise ValueError(f"{data!r} is no event")


def write_command(command: Command) -> list[Any]:
    """Those that can be outstanding."""
    match command:
        case StartNode():
            return [
                "start",
                command.path,
                command.attempt,
                command.step.value,
                command.timeout,
                command.limit,
            ]
        case StartTimer():
            return ["timer", command.timer, command.due]
        case AwaitSignal():
            return ["await", command.path]
    raise ValueError(f"{type(command).__name__} asks for nothing that could be outstanding")


def read_command(data: list[Any]) -> StartNode | StartTimer | AwaitSignal:
    match data:
        case ["start", path, attempt, step, timeout, limit]:
            return StartNode(NodePath(path), attempt, Step(step), timeout, limit)
        case ["timer", timer, due]:
            return StartTimer(TimerId(timer), due)
        case ["await", path]:
            return AwaitSignal(NodePath(path))
    raise ValueError(f"{data!r} is no command")
