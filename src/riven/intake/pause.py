"""Pause and resume. A paused run starts nothing, fires no timer, keeps signals and accepts approvals.

Its item is never due; the time at which it was due is kept on the execution, beside what it waited for.
"""

from typing import Final

from riven.completion.undriven import HeldRun
from riven.core.messages import ExecutionStatus
from riven.db.engine import Connection
from riven.intake.moves import Moved, ask, last_asked, refuse_finished
from riven.queue.recover import park_items
from riven.queue.requeue import requeue

_PAUSE: Final = """
UPDATE workflow_executions
SET status = 'PAUSED', owner_id = NULL, waiting_since = now(), waiting_until = $2, revision = revision + 1
WHERE id = $1
"""
_RESUME: Final = """
UPDATE workflow_executions SET status = 'PENDING', waiting_since = now(), revision = revision + 1 WHERE id = $1
"""
_UNREAD: Final = """
SELECT EXISTS (SELECT FROM signals WHERE execution_id = $1 AND seq IS NULL AND NOT void AND kind IN ('SIGNAL', 'APPROVAL'))
"""


async def pause_run(connection: Connection, held: HeldRun, principal: str) -> Moved:
    if held.status is ExecutionStatus.PAUSED:
        return Moved(status=held.status, already=True)
    refuse_finished(held, "there is nothing left to pause")
    if held.driven:
        if await last_asked(connection, held, "PAUSE", "RESUME") != "PAUSE":
            await ask(connection, held, "PAUSE", principal)
        return Moved(status=held.status, deliver=True)
    await ask(connection, held, "PAUSE", principal, acted=True)
    await connection.execute(_PAUSE, held.execution_id, held.available_at)
    await park_items(connection, [(held.execution_id, None)])
    return Moved(status=ExecutionStatus.PAUSED, startable=True)


async def resume_run(connection: Connection, held: HeldRun, principal: str) -> Moved:
    refuse_finished(held, "there is nothing left to resume")
    pausing = await last_asked(connection, held, "PAUSE", "RESUME") == "PAUSE"
    if held.status is not ExecutionStatus.PAUSED:
        if not pausing:
            return Moved(status=held.status, already=True)
        await ask(connection, held, "RESUME", principal)
        return Moved(status=held.status, deliver=held.driven)
    # A pause that the run itself has taken in stands in its journal: its next owner must hear that it is over.
    await ask(connection, held, "RESUME", principal, acted=not pausing)
    await connection.execute(_RESUME, held.execution_id)
    news = await connection.fetch_value(_UNREAD, held.execution_id)
    await requeue(
        connection,
        execution_id=held.execution_id,
        workspace_id=held.workspace_id,
        workflow_definition_id=held.workflow_definition_id,
        priority=held.priority,
        due_at=None if news else held.waiting_until,
        fresh=False,
    )
    return Moved(status=ExecutionStatus.PENDING, startable=True)
