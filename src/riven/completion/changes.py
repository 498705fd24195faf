"""Tell those who watch a run that its rows have changed.

Almost no run is watched, so almost no change is worth a word: who watches says which run, again and again, and only
changes of those are told, gathered for a moment when several meet. A change that is not told is seen a little later, because who watches
also looks by himself.
"""

import asyncio
import logging
from collections.abc import Iterable
from uuid import UUID

from riven.db.channels import CHANGES, WATCH, notify, notify_of, read_ids
from riven.db.engine import Database
from riven.db.errors import DatabaseError

WATCHED = 30.0
"""Seconds for which a word of somebody who watches holds."""
_GATHER = 0.020

_log = logging.getLogger("riven.completion")


class ChangeFeed:
    """One for each process that writes what people can see of runs. `heard` listens on the channel WATCH."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._watched: dict[UUID, float] = {}
        """Until when, by the clock of the event loop."""
        self._gathered: dict[UUID, None] = {}
        self._calls = 0
        """That were made since changes were last told."""
        self._task: asyncio.Task[None] | None = None
        self._asking: asyncio.Task[None] | None = None

    def tell(self, executions: Iterable[UUID]) -> None:
        """Their rows have changed, and the change is committed."""
        if not self._watched:
            return
        now = asyncio.get_running_loop().time()
        for execution in executions:
            until = self._watched.get(execution)
            if until is None:
                continue
            if until < now:
                del self._watched[execution]
            else:
                self._gathered[execution] = None
        self._calls += 1
        if self._gathered and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._send(), name="riven-changes")

    def heard(self, payload: str) -> None:
        """Somebody watches these."""
        now = asyncio.get_running_loop().time()
        for execution in read_ids(payload):
            self._watched[execution] = now + WATCHED
        for execution in [each for each, until in self._watched.items() if until < now]:
            del self._watched[execution]

    def ask(self) -> None:
        """Have everybody say what they watch: call it when listening begins."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.get_running_loop().create_task(self._ask(), name="riven-who-watches")

    async def close(self) -> None:
        for task in (self._asking, self._task):
            if task is not None:
                await task

    async def _ask(self) -> None:
        try:
            await notify(self._database, WATCH, "?")
        except DatabaseError as error:
            _log.info("watchers_unasked", extra={"error": str(error)})

    async def _send(self) -> None:
        try:
            while self._gathered:
                gathered, self._gathered, self._calls = self._gathered, {}, 0
                try:
                    await notify_of(self._database, CHANGES, gathered)
                except DatabaseError as error:
                    _log.info("change_untold", extra={"error": str(error)})
                await asyncio.sleep(_GATHER if self._calls > 1 else 0)
        finally:
            self._task = None
