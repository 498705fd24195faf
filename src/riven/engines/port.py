"""What an engine can be asked: called by dispatch's starter and control, and by the reconciler, alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol
from uuid import UUID

from riven.core.errors import RivenError
from riven.wire.document import Json


class StartResult(Enum):
    STARTED = "started"
    ALREADY_RUNNING = "already_running"
    ALREADY_FINISHED = "already_finished"


class StartRefusedError(RivenError):
    """The engine has provably not taken it: an attempt, and the slot goes back."""


class EngineAwayError(RivenError):
    """The engine cannot be reached: no attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """An execution that was claimed. Times in milliseconds since the epoch."""

    execution_id: UUID
    run: int
    token: int
    workspace_id: UUID
    workspace_name: str
    workflow: str
    version: int
    version_id: UUID
    input: Json
    trigger: Json
    started_at: int
    """The first admission of the execution."""
    run_started_at: int
    """The first admission of this run."""
    base_seq: int = 0
    """Where the journal of this run begins; what stands before it is of earlier runs."""
    revision: int = 0
    """Of the latest change of the execution."""
    frozen: Json
    """What an earlier admission of the execution has stored; None at the first."""
    resumed: bool
    """Somebody may have driven this run before: its journal is read first."""
    recovered: bool = False
    """Its last owner died while it drove it, and no outcome of a node was recorded since."""
    suspect: bool = False
    """That happened more than once: no other suspect is driven beside it."""


class Engine(Protocol):
    @property
    def room(self) -> int:
        """How many more runs it takes now."""

    @property
    def running(self) -> Sequence[UUID]:
        """Executions that are driven in this process; none, where the engine is elsewhere."""

    @property
    def drives_suspect(self) -> bool:
        """A run is driven here of which its owners have died, perhaps."""

    async def start(self, request: StartRequest) -> StartResult:
        """Idempotent by execution id. Raises StartRefusedError or EngineAwayError."""

    def control(self, execution_id: UUID) -> None:
        """Something was asked of this run: have it look. Nothing if it is not driven here."""
