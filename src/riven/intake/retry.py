"""Retry: the execution goes on in a new run, from what it has completed; whatever failed is decided anew."""

from typing import Final

from riven.completion.undriven import HeldRun
from riven.core.messages import ExecutionStatus
from riven.db.engine import Connection
from riven.db.statements import load
from riven.intake.moves import Moved
from riven.queue.requeue import requeue
from riven.tenancy.errors import WrongStateError

_RETRY: Final = load("riven.intake", "retry")
_RETRIED: Final = frozenset({ExecutionStatus.FAILED, ExecutionStatus.CANCELED})


async def retry_run(connection: Connection, held: HeldRun) -> Moved:
    """Raises WrongStateError for a run that neither failed nor was canceled."""
    if held.status not in _RETRIED:
        what = "it is not over" if not held.finished else "there is nothing to retry; `rerun` starts it anew"
        raise WrongStateError(f"the execution is {held.status}: {what}")
    await connection.execute(_RETRY, held.execution_id)
    await requeue(
        connection,
        execution_id=held.execution_id,
        workspace_id=held.workspace_id,
        workflow_definition_id=held.workflow_definition_id,
        priority=held.priority,
        due_at=None,
        fresh=True,
    )
    return Moved(status=ExecutionStatus.PENDING, startable=True)
