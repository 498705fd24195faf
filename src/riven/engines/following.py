"""A run followed from its events: what the coordinator decided on them, and what of it is not answered yet.

Whoever was not there when the events happened, because he takes the run up where its journal ends or because the
coordinator that counts is elsewhere, follows it by this.
"""

from collections.abc import Sequence

from riven.core.ids import NodePath, TimerId
from riven.core.messages import (
    AwaitSignal,
    CancelNode,
    Command,
    Event,
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
from riven.effects.recorder import NodeSettled, StepEnded
from riven.effects.settle import keep_answer, settle
from riven.wire.document import Json


class Following:
    def __init__(self, run: RunContext, decider: Decider) -> None:
        self._run = run
        self._decider = decider
        self.starts: dict[NodePath, StartNode] = {}
        self._timers: dict[TimerId, StartTimer] = {}
        self._awaited: dict[NodePath, AwaitSignal] = {}
        self._canceled: dict[NodePath, CancelNode] = {}
        self._finish: list[Command] = []
        self.commands: Sequence[Command] = ()
        """What the latest event has led to."""

    def start(self, started: ExecutionStarted) -> list[NodeSettled]:
        return self._follow(started)

    def take(self, event: Event, ended: StepEnded | None = None, message: Json = None) -> list[NodeSettled]:
        """`ended`: what came with an answer. `message`: of a signal or an approval. Answers what is to be recorded."""
        if ended is not None:
            path = ended.answer.path
            self.starts.pop(path, None)
            self._canceled.pop(path, None)
            self._run.values.running(path, ended.attempt)
            keep_answer(self._run, ended)
        elif isinstance(event, SignalReceived):
            self._run.values.messages[event.path] = message
        elif isinstance(event, TimerFired):
            self._timers.pop(event.timer, None)
        return self._follow(event)

    def outstanding(self) -> list[Command]:
        """What is to be done now, in order."""
        return [
            *self.starts.values(),
            *self._canceled.values(),
            *self._timers.values(),
            *self._awaited.values(),
            *self._finish,
        ]

    def _follow(self, event: Event) -> list[NodeSettled]:
        self.commands = self._decider.receive(event)
        settled: list[NodeSettled] = []
        for command in self.commands:
            match command:
                case StartNode():
                    self.starts[command.path] = command
                case StartTimer():
                    self._timers[command.timer] = command
                case StopTimer():
                    self._timers.pop(command.timer, None)
                case AwaitSignal():
                    self._awaited[command.path] = command
                case CancelNode():
                    self._canceled[command.path] = command
                case SettleNode():
                    self._awaited.pop(command.path, None)
                    settled.append(settle(self._run, command, event.at))
                case Finish():
                    self._finish.append(command)
        return settled
