"""What becomes of a claim: the engine has it, or the start was refused and the item goes back in line."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from riven.db.engine import Connection, Database
from riven.db.statements import load

_SETTLE = load("riven.queue", "settle")
_RELEASE = load("riven.queue", "release")
_FAIL = load("riven.queue", "fail")
_BACK_OFF = load("riven.queue", "back_off")

_ATTEMPTS_ALLOWED = "SELECT max_attempts FROM workspaces WHERE id = $1"
_HOLD_BACK = (
    "UPDATE execution_queue SET due = false, available_at = NULL WHERE id = $1 AND status = 'PENDING'"
)

FIRST_BACKOFF = 5.0
LONGEST_BACKOFF = 300.0


@dataclass(frozen=True, slots=True)
class Drive:
    """The right to drive an execution: another run or token has taken it over."""

    execution_id: UUID
    run: int
    token: int


@dataclass(frozen=True, slots=True)
class BackedOff:
    execution_id: UUID
    workspace_id: UUID
    attempts: int


@dataclass(frozen=True, slots=True)
class Released:
    queue_id: UUID
    attempts: int
    workspace_id: UUID


def backoff(attempts: int) -> float:
    """Seconds before the next start after so many refused ones."""
    return min(FIRST_BACKOFF * 2.0 ** min(attempts - 1, 10), LONGEST_BACKOFF)


async def settle_dispatched(
    connection: Connection, drives: Sequence[Drive], owner: UUID | None
) -> list[UUID]:
    """CLAIMED to DISPATCHED. Answers the executions whose items moved; a second time moves none."""
    rows = await connection.fetch(
        _SETTLE,
        [drive.execution_id for drive in drives],
        [drive.run for drive in drives],
        [drive.token for drive in drives],
        owner,
    )
    return [row["execution_id"] for row in rows]


async def release_to_pending(
    database: Database, drive: Drive, *, counted: bool, delay: float, error: str, kind: str
) -> Released | None:
    """A start that was provably refused (`counted`), or an engine that is away: the slot goes back if the claim took it.

    None: somebody else drives the execution by now, and nothing was changed.
    """
    async with database.transaction() as connection:
        return await release(connection, drive, counted=counted, delay=delay, error=error, kind=kind)


async def release(
    connection: Connection, drive: Drive, *, counted: bool, delay: float, error: str, kind: str
) -> Released | None:
    """The same, in a transaction of the caller's."""
    row = await connection.fetch_row(
        _RELEASE, drive.execution_id, drive.run, drive.token, counted, delay, error, kind
    )
    return None if row is None else Released(row["id"], row["attempts"], row["workspace_id"])


async def attempts_allowed(connection: Connection, workspace_id: UUID) -> int | None:
    """What the workspace has set for itself."""
    allowed: int | None = await connection.fetch_value(_ATTEMPTS_ALLOWED, workspace_id)
    return allowed


async def back_off(connection: Connection, queue_id: UUID, error: str) -> BackedOff | None:
    """An item that could not even be claimed. None: it is in line no more."""
    row = await connection.fetch_row(_BACK_OFF, queue_id, FIRST_BACKOFF, LONGEST_BACKOFF, error)
    return None if row is None else BackedOff(*row)


async def mark_failed(connection: Connection, queue_id: UUID, error: str) -> bool:
    """A dead letter: out of line for good, with its reason. False: it was one already, or is gone."""
    return await connection.fetch_row(_FAIL, queue_id, error) is not None


async def hold_back(connection: Connection, queue_id: UUID) -> None:
    """Not due any more, until somebody wakes it."""
    await connection.execute(_HOLD_BACK, queue_id)
