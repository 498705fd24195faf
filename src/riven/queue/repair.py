"""What the reconciler finds: executions without an item, items without what they name, dead letters of last week.

Slices are in the order of an index; each answer says where the next one begins, `FIRST` after the last.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal
from uuid import UUID

from riven.db.engine import Connection, Row
from riven.db.statements import load

FIRST: Final = UUID(int=0)

_RESTORE_DRIVEN = load("riven.queue", "restore_driven")
_RESTORE_PENDING = load("riven.queue", "restore_pending")
_RESTORE_PARKED = load("riven.queue", "restore_parked")
_FIND_ORPHANS = load("riven.queue", "find_orphans")
_DRIVEN_ELSEWHERE = load("riven.queue", "driven_elsewhere")
_IS_DRIVEN_ELSEWHERE = """
SELECT count(*)
FROM workflow_executions e
JOIN execution_queue q ON q.execution_id = e.id
WHERE e.id = $1 AND e.run = $2 AND e.token = $3 AND e.status = 'RUNNING' AND q.status = 'DISPATCHED' AND q.owner_id IS NULL
"""
_COUNT_LOSS = "UPDATE workflow_executions SET recoveries = recoveries + 1 WHERE id = $1 RETURNING recoveries"
_REMOVE_FINISHED = load("riven.queue", "remove_finished")
_PRUNE_DEAD_LETTERS = load("riven.queue", "prune_dead_letters")


@dataclass(frozen=True, slots=True)
class Restored:
    execution_id: UUID
    workspace_id: UUID
    status: str


@dataclass(frozen=True, slots=True)
class Orphan:
    """An item that names something which is gone, or an execution that is `finished`."""

    queue_id: UUID
    execution_id: UUID
    workspace_id: UUID
    gone: Literal["workspace", "execution", "version", "finished"]


async def restore_driven(connection: Connection, most: int) -> Sequence[Restored]:
    """RUNNING without an item, the owner dead: nobody would ever take it up."""
    return [_restored(row) for row in await connection.fetch(_RESTORE_DRIVEN, most)]


async def restore_pending(
    connection: Connection, after: tuple[UUID, UUID], most: int
) -> tuple[Sequence[Restored], tuple[UUID, UUID]]:
    """PENDING without an item. `after`: workspace and execution up to which the last slice went."""
    rows = await connection.fetch(_RESTORE_PENDING, *after, most)
    last = next(((row["last_workspace"], row["last_id"]) for row in rows if row["last_id"]), (FIRST, FIRST))
    return [_restored(row) for row in rows if row["id"]], last


async def restore_parked(connection: Connection, after: UUID, most: int) -> tuple[Sequence[Restored], UUID]:
    """WAITING or PAUSED without an item."""
    rows = await connection.fetch(_RESTORE_PARKED, after, most)
    last = next((row["last_id"] for row in rows if row["last_id"]), FIRST)
    return [_restored(row) for row in rows if row["id"]], last


async def find_orphans(connection: Connection, after: UUID, most: int) -> tuple[Sequence[Orphan], UUID]:
    """Read without a lock: whoever acts on one looks again."""
    rows = await connection.fetch(_FIND_ORPHANS, after, most)
    last = next((row["last_id"] for row in rows if row["last_id"]), FIRST)
    orphans = [
        Orphan(row["id"], row["execution_id"], row["workspace_id"], row["gone"]) for row in rows if row["id"]
    ]
    return orphans, last


@dataclass(frozen=True, slots=True)
class DrivenElsewhere:
    """A run that an engine elsewhere has, by the token that was read."""

    execution_id: UUID
    run: int
    token: int
    workspace_id: UUID


async def find_driven_elsewhere(
    connection: Connection, after: UUID, most: int, seconds: float
) -> Sequence[DrivenElsewhere]:
    """Those that were dispatched so many seconds ago, in the order of their ids; read without a lock."""
    rows = await connection.fetch(_DRIVEN_ELSEWHERE, after, most, seconds)
    return [
        DrivenElsewhere(row["execution_id"], row["run"], row["token"], row["workspace_id"]) for row in rows
    ]


async def is_driven_elsewhere(connection: Connection, found: DrivenElsewhere) -> bool:
    """Whether it is so still; the caller holds item and execution."""
    return bool(
        await connection.fetch_value(_IS_DRIVEN_ELSEWHERE, found.execution_id, found.run, found.token)
    )


async def count_loss(connection: Connection, execution_id: UUID) -> int:
    """How often the run was lost without progress, this time included; the caller holds it."""
    losses: int = await connection.fetch_value(_COUNT_LOSS, execution_id)
    return losses


async def remove_finished(connection: Connection, queue_id: UUID) -> bool:
    """The item of an execution that has ended leaves the line; that of a failed one stays as a dead letter."""
    return await connection.fetch_row(_REMOVE_FINISHED, queue_id) is not None


async def prune_dead_letters(connection: Connection, seconds: float, most: int) -> int:
    return await connection.execute(_PRUNE_DEAD_LETTERS, seconds, most)


def _restored(row: Row) -> Restored:
    return Restored(row["id"], row["workspace_id"], row["status"])
