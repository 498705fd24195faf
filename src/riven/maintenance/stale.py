"""Put back in line what a dead process held, and what was claimed too long ago without being started."""

import logging

from riven.completion.undriven import end_undriven, find_canceled
from riven.core.errors import ErrorClass
from riven.core.messages import ExecutionStatus
from riven.db.engine import Connection, Database
from riven.maintenance.apart import apart
from riven.queue.recover import LAST_RECOVERY, MOST, Recovered, recover_stale_items
from riven.queue.wake import Announcer
from riven.telemetry.crashpoints import crash_point
from riven.telemetry.metrics import RECOVERIES

LOCK = "recover_stale_items"
NEVER_STALE = 1e9
"""Seconds: only what dead processes held."""

_log = logging.getLogger("riven.maintenance")


async def recover_items(database: Database, announcer: Announcer, *, stale_after: float) -> None:
    """All of them. Runs that were to be canceled, or whose owners died again and again, end in the same transaction."""
    while True:
        async with database.transaction() as connection:
            found = await recover_stale_items(connection, stale_after=stale_after)
            for execution_id in await find_canceled(connection, [item.execution_id for item in found]):
                with apart(executionId=str(execution_id)):
                    async with connection.savepoint():
                        await end_undriven(connection, execution_id, ExecutionStatus.CANCELED)
            lost = []
            for item in filter(_is_lost, found):
                with apart(executionId=str(item.execution_id)):
                    async with connection.savepoint():
                        if await _end(connection, item):
                            lost.append(item)
            if found:
                crash_point("during_recovery")
        if found:
            crash_point("after_recovery")
        announcer.announce({item.workspace_id for item in found})
        for reason, count in (
            ("stale", sum(item.stale for item in found)),
            ("owner_dead", sum(not item.stale for item in found)),
        ):
            if count:
                RECOVERIES.add(reason, by=count)
                _log.warning("items_recovered", extra={"count": count, "reason": reason})
        for item in lost:
            _log.error(
                "worker_lost", extra={"executionId": str(item.execution_id), "queueId": str(item.queue_id)}
            )
        if len(found) < MOST:
            return


def _is_lost(item: Recovered) -> bool:
    return item.recoveries >= LAST_RECOVERY


async def _end(connection: Connection, item: Recovered) -> bool:
    return await end_undriven(
        connection,
        item.execution_id,
        ExecutionStatus.FAILED,
        ErrorClass.WORKER_LOST,
        f"{item.recoveries} workers died while they drove this run, without any node being finished in between",
    )
