"""Put accepted executions in line, in the transaction that accepts them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from riven.db.engine import Connection
from riven.db.statements import load

_ENQUEUE = load("riven.queue", "enqueue")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewItem:
    queue_id: UUID
    execution_id: UUID
    workspace_id: UUID
    workflow_definition_id: UUID
    priority: int = 0
    scheduled_for: datetime | None = None


async def enqueue_executions(connection: Connection, items: Sequence[NewItem]) -> None:
    """After the commit, tell `wake.Announcer` of the workspaces: nobody is woken from in here."""
    await connection.execute(
        _ENQUEUE,
        [item.queue_id for item in items],
        [item.execution_id for item in items],
        [item.workspace_id for item in items],
        [item.workflow_definition_id for item in items],
        [item.priority for item in items],
        [item.scheduled_for for item in items],
    )
