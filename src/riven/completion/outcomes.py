"""Ends and rests that need more than a flush: what nobody drives, and runs that give back their slot."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from uuid import UUID

from riven.completion.history import load_unread
from riven.core.messages import ExecutionStatus
from riven.db.engine import Connection
from riven.db.statements import load
from riven.effects.history import Control
from riven.effects.recorder import LostRunError
from riven.queue.recover import park_items

_REST = load("riven.completion", "rest")
_LOCK_ITEM = "SELECT id FROM execution_queue WHERE execution_id = $1 FOR UPDATE"
_LOCK_EXECUTION = """
SELECT workspace_id, revision FROM workflow_executions WHERE id = $1 AND run = $2 AND token = $3 AND status = 'RUNNING' FOR NO KEY UPDATE
"""


async def rest_run(
    connection: Connection,
    execution_id: UUID,
    run: int,
    token: int,
    status: ExecutionStatus,
    kind: str | None,
    due: int | None,
    revision: int | None,
    known: Collection[UUID],
) -> tuple[Sequence[Control] | None, UUID]:
    """WAITING or PAUSED; the slot is free after the commit. Not done if something was asked that is not `known`.

    `revision`: of the run's latest change before; None: the execution's row has it.

    Answers what was asked, None if the run rests now, and its workspace.

    Whoever asks locks item and execution before writing, as this does: so either this sees the row, or they see the
    status. Raises LostRunError.
    """
    await connection.execute(_LOCK_ITEM, execution_id)
    locked = await connection.fetch_row(_LOCK_EXECUTION, execution_id, run, token)
    if locked is None:
        raise LostRunError(f"execution {execution_id} is driven by somebody else")
    workspace_id: UUID = locked["workspace_id"]
    latest = locked["revision"] if revision is None else revision
    unread = [
        control for control in await load_unread(connection, execution_id, run) if control.id not in known
    ]
    if unread:
        return unread, workspace_id
    until = None if due is None else datetime.fromtimestamp(due / 1000, UTC)
    await connection.execute(_REST, execution_id, status.value, kind, until, latest + 1)
    await park_items(connection, [(execution_id, until)])
    return None, workspace_id
