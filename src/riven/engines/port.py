"""What an engine can be asked: called by dispatch's starter and control, and by the reconciler, alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Protocol
from uuid import UUID

from riven.core.errors import RivenError
from riven.wire.document import Json

MANUAL: Final[Json] = {"type": "manual"}
"""What templates see as `trigger` where somebody has asked for the execution, in person or by a program."""


class StartResult(Enum):
    STARTED = "started"
    ALREADY_RUNNING = "already_running"
    ALREADY_FINISHED = "already_finished"


class StartRefusedError(RivenError):
    """The engine has provably not taken it: an attempt, and the slot goes back."""


class EngineAwayError(RivenError):
    """The engine cannot be reached, or nothing can be started there as it is set up: no attempt."""


class StartUncertainError(RivenError):
    """Nobody knows whether the engine has taken it: the slot stays taken, and it is started again later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRequest:
    """An execution that was claimed. Times in milliseconds since the epoch."""

    execution_id: UUID
    run: int
    token: int
    workspace_id: UUID
    workspace_name: str
    workflow: str
    workflow_id: UUID
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
        """Idempotent by execution id. Raises StartRefusedError, EngineAwayError or StartUncertainError."""

    def control(self, execution_id: UUID) -> None:
        """Something was asked of this run: have it look. Nothing if it is not driven here."""


class DriveStatus(Enum):
    """How an engine that is elsewhere sees a run."""

    OPEN = "open"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELED = "canceled"
    TERMINATED = "terminated"
    """Ended by somebody with the engine's own tools."""
    TIMED_OUT = "timed_out"
    UNKNOWN = "unknown"
    """The engine has never heard of it, or has forgotten it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    status: DriveStatus
    token: int | None = None
    """With which it was started; a run that was admitted again since then has a newer one."""
    reason: str | None = None
    """What was said when it was ended from outside."""


class DistantEngine(Engine, Protocol):
    """An engine that drives runs in other processes. Each of these raises EngineAwayError."""

    async def signal(self, execution_id: UUID, run: int, controls: Sequence[UUID]) -> bool:
        """Have the run read these control rows; asking twice does nothing twice. False: it is not open there.

        A row is read when the run has recorded that, not when this returns.
        """

    async def cancel(self, execution_id: UUID, run: int) -> bool:
        """Have a run end whose execution was ended already, by its rows. False: it is not open there."""

    async def describe(self, execution_id: UUID, run: int) -> Description: ...
