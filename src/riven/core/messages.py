"""What the coordinator is told and what it asks for. `at` and `due` are milliseconds since the epoch, taken outside."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from riven.core.errors import ErrorClass
from riven.core.graph import SUCCESS, RetryPolicy
from riven.core.ids import NodePath, TimerId


class NodeStatus(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    RETRYING = "RETRYING"
    WAITING = "WAITING"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    CANCELED = "CANCELED"


class ExecutionStatus(StrEnum):
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    WAITING = "WAITING"
    PAUSED = "PAUSED"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"


class SkipReason(StrEnum):
    NOT_CHOSEN = "not_chosen"
    UPSTREAM_SKIPPED = "upstream_skipped"
    UPSTREAM_FAILED = "upstream_failed"
    WHEN_FALSE = "when_false"


class Step(StrEnum):
    """Which part of a node a StartNode asks for. An action has one part, a container several."""

    RUN = "run"
    """An action's attempt."""
    EXPAND = "expand"
    """for_each: count the items (answer: `fan_out`). call: build the input. wait, signal, approval: `due`.

    repeat: nothing to build; only `when` is asked.
    """
    CHECK = "check"
    """repeat: whether to go round (again), answered by the outcome `AGAIN` or `STOP`; path of the iteration."""
    OUTPUT = "output"
    """A scope has ended: build its output, or gather the items' outputs of a for_each."""


AGAIN = "again"
STOP = "stop"

# ---- events -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ExecutionStarted:
    at: int
    retry: RetryPolicy = RetryPolicy()
    """Defaults of nodes that say nothing of their own, frozen for the execution."""


@dataclass(frozen=True, slots=True)
class NodeCompleted:
    """The one answer to a StartNode that went well."""

    path: NodePath
    at: int
    outcome: str = SUCCESS
    fan_out: int | None = None
    """How many items a for_each has."""
    due: int | None = None
    """When a wait is over, or a signal or an approval expires; None: never."""
    whole: bool = False
    """Of the first step of a container or a wait: all of it is over, by `outcome`. An earlier run has completed it."""


@dataclass(frozen=True, slots=True)
class NodeFailed:
    """The one answer to a StartNode that went wrong."""

    path: NodePath
    at: int
    error_class: ErrorClass
    retryable: bool = False
    retry_after: int | None = None
    """Milliseconds that the other side asked us to wait."""
    jitter: float = 0.0
    """A draw from -1 to 1, made outside."""
    canceled: bool = False
    """The attempt ended because of a CancelNode."""


@dataclass(frozen=True, slots=True)
class TimerFired:
    timer: TimerId
    at: int


@dataclass(frozen=True, slots=True)
class SignalReceived:
    """A waiting node got its message; `outcome` is one of its labels."""

    path: NodePath
    outcome: str
    at: int


@dataclass(frozen=True, slots=True)
class CancelRequested:
    at: int


@dataclass(frozen=True, slots=True)
class PauseRequested:
    at: int


@dataclass(frozen=True, slots=True)
class ResumeRequested:
    at: int


Event: TypeAlias = (
    ExecutionStarted
    | NodeCompleted
    | NodeFailed
    | TimerFired
    | SignalReceived
    | CancelRequested
    | PauseRequested
    | ResumeRequested
)

# ---- commands ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StartNode:
    """Do one step of a node and answer with exactly one NodeCompleted or NodeFailed for this path."""

    path: NodePath
    attempt: int = 1
    step: Step = Step.RUN
    timeout: int | None = None
    """Milliseconds for this attempt; None: the default of the node's type."""
    limit: int | None = None
    """Milliseconds that `retry.maxDuration` leaves to this attempt; the shorter of both counts."""


@dataclass(frozen=True, slots=True)
class StartTimer:
    timer: TimerId
    due: int


@dataclass(frozen=True, slots=True)
class StopTimer:
    timer: TimerId


@dataclass(frozen=True, slots=True)
class AwaitSignal:
    """The node waits for its message from now on; tell it by SignalReceived."""

    path: NodePath


@dataclass(frozen=True, slots=True)
class CancelNode:
    """End what was started for this path, soon; it still answers."""

    path: NodePath


@dataclass(frozen=True, slots=True)
class SettleNode:
    """The coordinator itself ended a node, or moved it: record it. Asks for no answer.

    `cause` is the path of the inner node whose failure ended a container.
    """

    path: NodePath
    status: NodeStatus
    reason: SkipReason | None = None
    cause: NodePath | None = None
    error_class: ErrorClass | None = None
    outcome: str | None = None
    due: int | None = None
    """When the next attempt of a RETRYING node starts, or a WAITING one is over."""


@dataclass(frozen=True, slots=True)
class Finish:
    """The end. `cause` is the path of the node whose unhandled failure decided it."""

    status: ExecutionStatus
    cause: NodePath | None = None
    error_class: ErrorClass | None = None
    message: str | None = None
    """Said by the core itself: an internal error naming nodes, or the execution's timeout."""


Command: TypeAlias = StartNode | StartTimer | StopTimer | AwaitSignal | CancelNode | SettleNode | Finish
