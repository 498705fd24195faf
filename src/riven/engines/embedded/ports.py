"""What the embedded engine needs from outside: a journal. In memory, or completion's recorder."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from riven.core.messages import Event, ExecutionStatus
from riven.effects.recorder import NodeSettled, Recorder, StepEnded
from riven.wire.document import Json


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


class Journal(Recorder, Protocol):
    async def write(self, entry: Entry) -> None:
        """Durable when this returns."""
