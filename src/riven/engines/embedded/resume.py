"""Take up a run where its journal ends: the coordinator hears every event again, and nothing of it is done again.

Recovery, resumption after a wait and a pause are this one path. What is left over are the commands that were not
answered: attempts that a crash interrupted are repeated under their number, timers go on to the times they had.
"""

from collections.abc import Sequence

from riven.core.ids import NodePath, TimerId
from riven.core.messages import (
    AwaitSignal,
    CancelNode,
    Command,
    ExecutionStarted,
    Finish,
    SettleNode,
    SignalReceived,
    StartNode,
    StartTimer,
    StopTimer,
    TimerFired,
)
from riven.driver.loop import Decider
from riven.effects.context import RunContext
from riven.effects.history import Taken
from riven.effects.settle import keep_answer, settle


def replay(
    run: RunContext, coordinator: Decider, started: ExecutionStarted, taken: Sequence[Taken]
) -> list[Command]:
    """Bring coordinator and values to where the journal ends; answers what is to be done now, in order."""
    starts: dict[NodePath, StartNode] = {}
    timers: dict[TimerId, StartTimer] = {}
    awaited: dict[NodePath, AwaitSignal] = {}
    canceled: dict[NodePath, CancelNode] = {}
    finish: list[Command] = []

    def follow(commands: Sequence[Command], at: int) -> None:
        for command in commands:
            match command:
                case StartNode():
                    starts[command.path] = command
                case StartTimer():
                    timers[command.timer] = command
                case StopTimer():
                    timers.pop(command.timer, None)
                case AwaitSignal():
                    awaited[command.path] = command
                case CancelNode():
                    canceled[command.path] = command
                case SettleNode():
                    awaited.pop(command.path, None)
                    settle(run, command, at)
                case Finish():
                    finish.append(command)

    follow(coordinator.receive(started), started.at)
    for entry in taken:
        event = entry.event
        if entry.ended is not None:
            starts.pop(entry.ended.answer.path, None)
            canceled.pop(entry.ended.answer.path, None)
            run.values.running(entry.ended.answer.path, entry.ended.attempt)
            keep_answer(run, entry.ended)
        elif isinstance(event, SignalReceived):
            run.values.messages[event.path] = entry.message
        elif isinstance(event, TimerFired):
            timers.pop(event.timer, None)
        follow(coordinator.receive(event), event.at)
    return [*starts.values(), *canceled.values(), *timers.values(), *awaited.values(), *finish]
