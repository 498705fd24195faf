"""A process whose supervisor has seen the one before it die: what that held need not wait for its lease to run out."""

import logging

from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.maintenance.stale import NEVER_STALE, recover_items
from riven.queue.lease import Process, bury_predecessors
from riven.queue.wake import Announcer

_log = logging.getLogger("riven.process")


async def succeed(database: Database, announcer: Announcer, process: Process) -> None:
    """What the process of this role and name held goes back in line; if that fails, its lease runs out as every other."""
    try:
        for dead in await bury_predecessors(database, process):
            fields = {"processId": str(dead.id), "role": dead.role, "label": dead.name}
            _log.warning("process_dead", extra=fields)
        await recover_items(database, announcer, stale_after=NEVER_STALE)
    except DatabaseError as error:
        _log.warning("database_away", extra={"error": str(error)})
