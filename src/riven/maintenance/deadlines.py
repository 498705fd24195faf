"""End runs whose time is up and that nobody drives: they wait, are paused, or stand in line."""

import logging

from riven.completion.undriven import end_undriven, overdue
from riven.core.errors import ErrorClass
from riven.core.messages import ExecutionStatus
from riven.db.engine import Database
from riven.maintenance.apart import apart
from riven.queue.wake import Announcer

_MOST = 200

_log = logging.getLogger("riven.maintenance")


async def end_overdue(database: Database, announcer: Announcer) -> None:
    """Each in a transaction of its own: one that cannot be ended stands in nobody's way."""
    async with database.read() as connection:
        found = await overdue(connection, _MOST)
    for execution_id, workspace_id in found:
        with apart(executionId=str(execution_id)):
            async with database.transaction() as connection:
                ended = await end_undriven(
                    connection,
                    execution_id,
                    ExecutionStatus.FAILED,
                    ErrorClass.TIMEOUT,
                    "the execution took longer than its timeout allows",
                )
            if ended:
                _log.warning("deadline_passed", extra={"executionId": str(execution_id)})
                announcer.announce((workspace_id,))
