"""Judge which processes are dead, and put back in line at once what they held.

Nobody is judged who may have been kept from giving its sign by the same thing that kept the judge from seeing it: a
database that was away, a machine that stood still. So the judge must itself have looked without a break for one lease,
each third of it, on a server that did not restart in between.
"""

import logging

from riven.db.engine import Database
from riven.maintenance.stale import NEVER_STALE, recover_items
from riven.queue.lease import Process, bury_dead, look_at_clock
from riven.queue.wake import Announcer

_log = logging.getLogger("riven.maintenance")


class Judge:
    def __init__(self, database: Database, announcer: Announcer, lease_ttl: float) -> None:
        self._database = database
        self._announcer = announcer
        self._ttl = lease_ttl
        self._since = 0.0
        """From when on it has looked without a break, by the clock of the database."""
        self._last: float | None = None
        self._server: float | None = None

    async def perform(self) -> None:
        """Every third of a lease."""
        for dead in await self.judge():
            fields = {"processId": str(dead.id), "role": dead.role, "label": dead.name}
            _log.warning("process_dead", extra=fields)
        await recover_items(self._database, self._announcer, stale_after=NEVER_STALE)

    async def judge(self) -> list[Process]:
        """Those that were found dead now."""
        clock = await look_at_clock(self._database)
        broken = (
            self._last is None or clock.server != self._server or clock.now - self._last > self._ttl * 2 / 3
        )
        if broken:
            self._since = clock.now
        self._last, self._server = clock.now, clock.server
        if clock.now - self._since < self._ttl:
            return []
        return await bury_dead(self._database, self._ttl)
