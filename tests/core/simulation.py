"""A world for one coordinator: it answers what is asked for in any order, and compares every step with the model."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from tests.core.naive import TERMINAL, Model, TimerKind

from riven.core.coordinator import Coordinator
from riven.core.errors import ErrorClass
from riven.core.graph import SKIPPED, Graph, NodeKind, RetryPolicy
from riven.core.ids import NodePath, TimerId
from riven.core.messages import (
    AGAIN,
    STOP,
    AwaitSignal,
    CancelNode,
    CancelRequested,
    Command,
    Event,
    ExecutionStarted,
    Finish,
    NodeCompleted,
    NodeFailed,
    NodeStatus,
    PauseRequested,
    ResumeRequested,
    SettleNode,
    SignalReceived,
    SkipReason,
    StartNode,
    StartTimer,
    Step,
    StopTimer,
    TimerFired,
)
from riven.core.scopes import ScopePlan

DEFAULTS = RetryPolicy(max_attempts=3, initial_interval=100, multiplier=2.0, max_interval=1_000, jitter=0.1)
TOO_LONG = 5_000
"""Events: no run of a small graph takes so many."""


@dataclass
class Wishes:
    """What the world may do beside answering."""

    cancels: bool = False
    pauses: bool = False
    timers: bool = True


@dataclass
class Simulation:
    graph: Graph
    dice: Random
    wishes: Wishes = field(default_factory=Wishes)
    planned: ScopePlan | None = None
    # what the coordinator's commands say
    asks: dict[NodePath, tuple[Step, int]] = field(default_factory=dict)
    canceling: set[NodePath] = field(default_factory=set)
    signals: set[NodePath] = field(default_factory=set)
    timers: dict[TimerId, tuple[TimerKind, NodePath]] = field(default_factory=dict)
    ended: dict[NodePath, tuple[NodeStatus, str | None, SkipReason | None]] = field(default_factory=dict)
    started: list[tuple[NodePath, Step, int]] = field(default_factory=list)
    finish: Finish | None = None
    history: list[tuple[Event, list[Command]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.coordinator = Coordinator(self.graph, self.planned)
        self.model = Model(self.graph)
        self.now = 1_000
        self.canceled = False

    def run(self) -> "Simulation":
        for _ in self.steps():
            pass
        return self

    def steps(self) -> Iterator[Event]:
        """Give one event after the other to the coordinator and to the model, until the run is finished."""
        start = ExecutionStarted(self.now, DEFAULTS)
        self.take(start)
        yield start
        yield from self.more_steps()

    def more_steps(self) -> Iterator[Event]:
        while self.finish is None:
            assert len(self.history) < TOO_LONG, "the run does not end"
            event = self._next_event()
            self.take(event)
            yield event

    # ---- the world ----------------------------------------------------------------------------------------------

    def _next_event(self) -> Event:
        self.now += 1
        if self.wishes.cancels and not self.canceled and self.dice.random() < 0.08:
            self.canceled = True
            return CancelRequested(self.now)
        if self.model.paused:
            if self.dice.random() < 0.3 or not (self.asks or self.signals or self.timers):
                return ResumeRequested(self.now)
        elif self.wishes.pauses and self.dice.random() < 0.15:
            return PauseRequested(self.now)
        possible: list[tuple[str, str]] = [("ask", path) for path in sorted(self.asks)]
        possible += [("signal", path) for path in sorted(self.signals)]
        if self.wishes.timers or not possible:
            possible += [("timer", timer) for timer in sorted(self.timers)]
        assert possible, "nothing is asked for, awaited or timed, and yet the run has not ended"
        kind, name = self.dice.choice(possible)
        match kind:
            case "ask":
                return self._answer(NodePath(name))
            case "signal":
                state = self.model.find(NodePath(name))
                assert state is not None
                return SignalReceived(NodePath(name), self.dice.choice(state.node.labels[:-1]), self.now)
            case _:
                timer = TimerId(name)
                self.now = max(self.now, self.model.timers[self.timers[timer]])
                return TimerFired(timer, self.now)

    def _answer(self, path: NodePath) -> NodeCompleted | NodeFailed:
        step, attempt = self.asks[path]
        luck = self.dice.random()
        if path in self.canceling and luck < 0.6:
            return NodeFailed(path, self.now, ErrorClass.EXECUTION_ERROR, canceled=True)
        if luck > 0.88 and (step is Step.RUN or luck > 0.95):
            return NodeFailed(
                path,
                self.now,
                self.dice.choice([ErrorClass.NETWORK_ERROR, ErrorClass.TEMPLATE_ERROR]),
                retryable=self.dice.random() < 0.7,
                retry_after=self.dice.choice([None, None, 250]),
                jitter=self.dice.choice([-1.0, 0.0, 1.0]),
            )
        if step is Step.CHECK:
            return NodeCompleted(path, self.now, self.dice.choice([AGAIN, AGAIN, STOP]))
        if step is Step.OUTPUT:
            return NodeCompleted(path, self.now)
        if attempt == 1 and luck < 0.12:
            return NodeCompleted(path, self.now, SKIPPED)
        state = self.model.find(path)
        assert state is not None
        match state.node.kind:
            case NodeKind.ACTION:
                return NodeCompleted(path, self.now, self.dice.choice(state.node.labels))
            case NodeKind.FOR_EACH:
                return NodeCompleted(path, self.now, fan_out=self.dice.randrange(4))
            case NodeKind.WAIT:
                return NodeCompleted(path, self.now, due=self.now + 77)
            case NodeKind.SIGNAL:
                return NodeCompleted(path, self.now, due=self.dice.choice([None, self.now + 99]))
            case _:
                return NodeCompleted(path, self.now)

    # ---- one step, twice ----------------------------------------------------------------------------------------

    def take(self, event: Event) -> None:
        step = self.asks.get(event.path, (None, 0))[0] if isinstance(event, NodeCompleted) else None
        match event:
            case TimerFired():
                kind, path = self.timers.pop(event.timer)
                self.model.fire(kind, path, event.at)
            case NodeCompleted() | NodeFailed():
                del self.asks[event.path]
                self.canceling.discard(event.path)
                self.model.handle(event)
            case SignalReceived():
                self.signals.discard(event.path)
                self.model.handle(event)
            case _:
                self.model.handle(event)
        commands = self.coordinator.receive(event)
        self.history.append((event, commands))
        for place, command in enumerate(commands):
            assert self.finish is None, "Finish is the last command"
            self._obey(command, commands[place - 1] if place else None)
        if isinstance(event, NodeCompleted) and step is Step.RUN and event.path not in self.ended:
            self.ended[event.path] = NodeStatus.COMPLETED, event.outcome, None
        self._compare()

    def _obey(self, command: Command, before: Command | None) -> None:
        match command:
            case StartNode(path, attempt, step):
                assert path not in self.asks, f"{path} was asked for while its answer is awaited"
                self.asks[path] = step, attempt
                self.started.append((path, step, attempt))
            case CancelNode(path):
                assert path in self.asks, f"{path} is canceled while nothing of it runs"
                self.canceling.add(path)
            case StartTimer(timer, due):
                assert timer not in self.timers
                self.timers[timer] = self._meaning(due, before)
            case StopTimer(timer):
                del self.timers[timer]
            case AwaitSignal(path):
                self.signals.add(path)
            case SettleNode():
                self._settle(command)
            case Finish():
                self.finish = command

    def _meaning(self, due: int, before: Command | None) -> tuple[TimerKind, NodePath]:
        """Ids of timers are opaque: what one is for is told by the SettleNode before it, or by its due time."""
        if isinstance(before, SettleNode) and before.due == due:
            return ("retry" if before.status is NodeStatus.RETRYING else "wait"), before.path
        known = set(self.timers.values())
        for key, expected in self.model.timers.items():
            if expected == due and key not in known and key[0] in {"deadline", "timeout", "delay"}:
                return key
        return "deadline", NodePath(
            f"not expected: due {due}"
        )  # legal only if it is stopped in the same step

    def _settle(self, command: SettleNode) -> None:
        path = command.path
        if command.status in TERMINAL and not path.endswith("]"):
            assert path not in self.ended, f"{path} ended twice"
            self.ended[path] = command.status, command.outcome, command.reason
            self.signals.discard(path)

    def _compare(self) -> None:
        model = self.model
        expected = {state.path: state for state in model.every_node()}
        for path, (status, outcome, reason) in self.ended.items():
            state = expected[path]
            assert (status, outcome, reason) == (state.status, state.outcome, state.reason), path
        ended = {path for path, state in expected.items() if state.status in TERMINAL}
        if self.finish is None:
            assert model.end is None, f"the run should have ended: {model.end}"
            assert self.asks == model.asks
            assert self.canceling == model.canceling
            assert self.signals == model.signals
            assert set(self.timers.values()) == set(model.timers)
            # What a stopped scope never started may be told when it has ended.
            assert all(expected[path].status is NodeStatus.CANCELED for path in ended - set(self.ended))
        else:
            assert (self.finish.status, self.finish.cause, self.finish.error_class) == model.end
            assert set(self.ended) == ended == set(expected)
            assert not self.asks
            assert not self.signals
            assert not self.timers
            self._compare_state()

    def _compare_state(self) -> None:
        state = self.coordinator.state
        assert self.coordinator.finished
        assert state.phase == (self.finish and self.finish.status)
        for status, nodes in [
            (NodeStatus.COMPLETED, state.completed),
            (NodeStatus.FAILED, state.failed),
            (NodeStatus.SKIPPED, state.skipped),
            (NodeStatus.CANCELED, state.canceled),
        ]:
            assert nodes == {path for path, (end, _, _) in self.ended.items() if end is status}
        assert not state.active
