"""Put a run back in line that had left it, or stood in it without ever coming due."""

from datetime import datetime
from uuid import UUID

from riven.db.engine import Connection
from riven.db.identity import new_id
from riven.db.statements import load

_REQUEUE = load("riven.queue", "requeue")


async def requeue(
    connection: Connection,
    *,
    execution_id: UUID,
    workspace_id: UUID,
    workflow_definition_id: UUID,
    priority: int,
    due_at: datetime | None,
    fresh: bool,
) -> UUID:
    """The item, which is made anew if it is gone. The caller holds item and execution, and announces after the commit.

    `due_at`: None, or past: now. `fresh`: attempts and errors of earlier starts are forgotten.
    """
    queue_id: UUID = await connection.fetch_value(
        _REQUEUE, execution_id, workspace_id, workflow_definition_id, priority, due_at, fresh, new_id()
    )
    return queue_id
