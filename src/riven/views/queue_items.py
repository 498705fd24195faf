"""Items in line, and those that have left it for good: the dead letters."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from riven.db.engine import Connection, Row
from riven.db.statements import load
from riven.tenancy.activity import LAST_ID
from riven.tenancy.policies import Scope
from riven.views.errors import QueueItemNotFoundError

_GET: Final = load("riven.views", "queue_item")
_DEAD_LETTERS: Final = load("riven.views", "dead_letters")


@dataclass(frozen=True, slots=True)
class QueueItem:
    id: UUID
    execution_id: UUID
    workspace_id: UUID
    status: str
    attempts: int
    priority: int
    created_at: datetime
    available_at: datetime | None
    """None: not before somebody wakes it."""
    claimed_at: datetime | None
    last_error: str | None


async def find_queue_item(connection: Connection, queue_id: UUID) -> QueueItem:
    """Whoever asks has to prove that he may see its workspace. Raises QueueItemNotFoundError."""
    row = await connection.fetch_row(_GET, queue_id)
    if row is None:
        raise QueueItemNotFoundError(
            f"there is no queue item {queue_id}; it leaves the line when its run is over"
        )
    return _item(row)


async def list_dead_letters(
    connection: Connection, scope: Scope, *, before: UUID | None, limit: int
) -> Sequence[QueueItem]:
    """Newest first, those older than `before`."""
    rows = await connection.fetch(_DEAD_LETTERS, scope.workspace_id, before or LAST_ID, limit)
    return [_item(row) for row in rows]


def _item(row: Row) -> QueueItem:
    return QueueItem(*row)
