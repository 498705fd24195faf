"""Where it is told what happened to nodes. The port is fitted by a journal, in memory or in a database."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from riven.core.errors import RivenError
from riven.core.ids import NodePath
from riven.core.messages import (
    Event,
    ExecutionStatus,
    NodeCompleted,
    NodeFailed,
    NodeStatus,
    SkipReason,
    Step,
)
from riven.wire.document import Json


@dataclass(frozen=True, slots=True)
class StepEnded:
    """One step of a node has its answer. What is in here has no secrets in it."""

    answer: NodeCompleted | NodeFailed
    """What the coordinator is told."""
    step: Step
    attempt: int
    output: Json = None
    """Of an action's attempt, of a scope, of a container."""
    error: Json = None
    """`{type, message}` if it failed."""


@dataclass(frozen=True, slots=True)
class NodeSettled:
    """The coordinator moved a node, or ended an item or an iteration (whose path ends in `]`)."""

    path: NodePath
    status: NodeStatus
    at: int
    reason: SkipReason | None = None
    outcome: str | None = None
    output: Json = None
    """If it completed."""
    error: Json = None
    due: int | None = None


@dataclass(frozen=True, slots=True)
class ExecutionEnded:
    status: ExecutionStatus
    at: int
    output: Json = None
    error: Json = None
    """`{node, type, message}`."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One batch of the driver, with the values that belong to it."""

    seq: int
    """Number of the first event."""
    events: Sequence[Event]
    ended: Sequence[StepEnded]
    """Values of the answers among the events, in their order."""
    settled: Sequence[NodeSettled]
    """After these answers."""
    end: ExecutionEnded | None = None


class LostRunError(RivenError):
    """Another run or token has taken the execution over: whoever gets this drops the run and writes no more of it."""


class UnrecordedEndError(RivenError):
    """The end of a run was refused again and again: whoever gets this hands the run back, to end it later."""


class Recorder(Protocol):
    def started(self, path: NodePath, attempt: int, at: int, input: Json) -> None:
        """An attempt of an action, or the first step of another node, begins now, with this resolved configuration.

        Returns at once. It need not be durable: a step that has started may be done again.
        """
