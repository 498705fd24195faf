"""Put back in line what nobody drives any more. The slot is kept: how far a run came, its next owner finds out."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from riven.db.engine import Connection, Database
from riven.db.errors import ConstraintError, StatementError
from riven.db.statements import load

_RECOVER = load("riven.queue", "recover")
_HAND_BACK = load("riven.queue", "hand_back")
_HAND_BACK_FORGOTTEN = load("riven.queue", "hand_back_forgotten")
_HAND_BACK_RUN = load("riven.queue", "hand_back_run")
_POSTPONE = load("riven.queue", "postpone")
_PROMOTE = load("riven.queue", "promote")
_DUE = """
SELECT id FROM execution_queue WHERE status = 'PENDING' AND NOT due AND available_at <= now() ORDER BY available_at LIMIT $1
"""
_NEXT_DUE = load("riven.queue", "next_due")
_WAKE = load("riven.queue", "wake")
_PARK = load("riven.queue", "park")
_CLEAR_WRONG_HINTS = load("riven.queue", "clear_wrong_hints")

_log = logging.getLogger("riven.queue")

MOST = 500
"""Items that one statement moves at most."""
SUSPECT_AFTER = 2
"""Owners that died while they drove a run, without an outcome in between, before it is a suspect."""
LAST_RECOVERY = 5
"""The death that ends the run."""


@dataclass(frozen=True, slots=True)
class Recovered:
    queue_id: UUID
    execution_id: UUID
    workspace_id: UUID
    stale: bool
    """Claimed too long ago by a process that lives; otherwise its owner is dead."""
    recoveries: int
    """Owners that this run has lost without progress; 0 where this loss was none of its own."""


async def recover_stale_items(connection: Connection, *, stale_after: float) -> list[Recovered]:
    """Items of dead processes, and items CLAIMED for longer than `stale_after` seconds; `MOST` of them.

    Who is dead, `lease.bury_dead` judges.
    """
    rows = await connection.fetch(_RECOVER, stale_after, MOST, SUSPECT_AFTER)
    return [
        Recovered(
            row["queue_id"], row["execution_id"], row["workspace_id"], row["stale"], row["recoveries"] or 0
        )
        for row in rows
    ]


async def hand_back(
    connection: Connection, owner: UUID, executions: Sequence[UUID] | None = None
) -> list[UUID]:
    """What a stopping process gives back; answers the workspaces to wake."""
    return [row["workspace_id"] for row in await connection.fetch(_HAND_BACK, owner, executions)]


async def hand_back_forgotten(
    database: Database, owner: UUID, driven: Sequence[UUID]
) -> list[tuple[UUID, UUID]]:
    """Items that `owner` holds without driving them: execution and workspace of each. `driven` is read before."""
    async with database.transaction() as connection:
        rows = await connection.fetch(_HAND_BACK_FORGOTTEN, owner, driven)
    return [(row["execution_id"], row["workspace_id"]) for row in rows]


async def postpone(
    database: Database,
    execution_id: UUID,
    owner: UUID,
    seconds: float,
    *,
    kind: str | None = None,
    error: str | None = None,
) -> None:
    """A claimed run that is not started now: back in line for a moment, slot kept."""
    async with database.transaction() as connection:
        await connection.execute(_POSTPONE, execution_id, owner, seconds, kind, error)


async def hand_back_run(connection: Connection, execution_id: UUID, run: int, token: int) -> UUID | None:
    """One run that its driver cannot end; answers its workspace, None if somebody else drives it."""
    workspace_id: UUID | None = await connection.fetch_value(_HAND_BACK_RUN, execution_id, run, token)
    return workspace_id


async def promote_due(database: Database) -> list[UUID]:
    """Let items whose time has come be claimed, at most `MOST`; answers the workspace of each.

    Each for itself, if together they are refused.
    """
    try:
        return await _promote(database, None)
    except (StatementError, ConstraintError):
        pass  # because of one of them, perhaps
    async with database.read() as connection:
        due = [row["id"] for row in await connection.fetch(_DUE, MOST)]
    promoted: list[UUID] = []
    for queue_id in due:
        try:
            promoted += await _promote(database, queue_id)
        except (StatementError, ConstraintError) as error:
            _log.error("queue_item_error", extra={"queueId": str(queue_id), "error": str(error)})
    return promoted


async def _promote(database: Database, queue_id: UUID | None) -> list[UUID]:
    async with database.transaction() as connection:
        return [row["workspace_id"] for row in await connection.fetch(_PROMOTE, MOST, queue_id)]


async def next_due_in(connection: Connection) -> float | None:
    """Seconds until the next item comes due; 0: there is one that nobody could promote yet."""
    milliseconds = await connection.fetch_value(_NEXT_DUE)
    return None if milliseconds is None else max(0.0, milliseconds / 1000)


async def wake_waiting(connection: Connection, executions: Sequence[UUID]) -> list[UUID]:
    """Runs that wait have something to go on with; answers the workspaces to wake after the commit."""
    return [row["workspace_id"] for row in await connection.fetch(_WAKE, list(executions))]


async def park_items(connection: Connection, parked: Sequence[tuple[UUID, datetime | None]]) -> None:
    await connection.execute(_PARK, [execution for execution, _ in parked], [due for _, due in parked])


async def wrong_hints(connection: Connection) -> list[UUID]:
    """Workspaces that are hinted to have nothing while they have something."""
    return [row["id"] for row in await connection.fetch(_CLEAR_WRONG_HINTS)]
