"""What a journal holds of a run, for the engine that takes it up again."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from riven.core.ids import NodePath
from riven.core.messages import Event, ExecutionStatus, NodeStatus
from riven.effects.recorder import StepEnded
from riven.wire.document import Json


@dataclass(frozen=True, slots=True)
class Taken:
    """An event that the coordinator has heard."""

    seq: int
    event: Event
    ended: StepEnded | None = None
    """Of an answer: what came with it."""
    input: Json = None
    """Of an attempt: its resolved configuration."""
    message: Json = None
    """Of a signal or an approval."""
    signal: str | None = None
    """The name of the signal."""


@dataclass(frozen=True, slots=True)
class Control:
    """Something that was asked of the run and that nobody has taken in yet."""

    id: UUID
    kind: str
    name: str | None
    path: NodePath | None
    payload: Json
    at: int


@dataclass(frozen=True, slots=True)
class Left:
    """How a node stood when the runs before this one were over."""

    status: NodeStatus
    seq: int
    """Place in the journal of what is told here."""
    attempt: int
    outcome: str | None = None
    output: Json = None
    error: Json = None
    input: Json = None
    items: list[Json] | None = None
    """What a for_each goes over."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """What the runs before this one have left, of an execution that is retried, or that goes on from another one."""

    nodes: dict[NodePath, Left] = field(default_factory=dict)
    scopes: dict[NodePath, Taken] = field(default_factory=dict)
    """Outputs of items and iterations, or why there was none."""
    checks: dict[NodePath, Taken] = field(default_factory=dict)
    attempts: dict[NodePath, int] = field(default_factory=dict)
    """The last attempt of every node: those of this run are numbered after it."""


@dataclass(frozen=True, slots=True)
class History:
    taken: Sequence[Taken]
    """In their order."""
    attempts: dict[NodePath, int]
    """The last attempt of every path that has started in this run."""
    unread: Sequence[Control]
    next_seq: int = 1
    """Of what is taken in from now on."""
    revision: int = 0
    """Of the latest change of a node."""
    earlier: Earlier | None = None
    """None: this is the first run."""
    loose: Sequence[StepEnded] = ()
    """Answers that are recorded, though nobody has taken them in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """An execution as its row tells. Times in milliseconds since the epoch."""

    execution_id: UUID
    run: int
    token: int
    status: ExecutionStatus
    workspace_id: UUID
    workspace_name: str | None
    workflow: str
    version: int
    version_id: UUID
    input: Json
    trigger: Json
    started_at: int
    run_started_at: int
    frozen: Json
    base_seq: int
    asked: bool
    """Something is there that nobody has read yet."""
    error_type: str | None = None
    """Of one that has failed."""
