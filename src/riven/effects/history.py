"""What a journal holds of a run, for the engine that takes it up again."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from riven.core.ids import NodePath
from riven.core.messages import Event
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
class History:
    taken: Sequence[Taken]
    """In their order."""
    attempts: dict[NodePath, int]
    """The last attempt of every path that ever started."""
    unread: Sequence[Control]
