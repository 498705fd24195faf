"""Deliver what is asked of runs that this process drives: cancel, pause, resume, signals, approvals.

Who asks writes a row and notifies; the run then reads its rows. A notification that comes while the run is still being
started is kept for a moment, and one that gets lost is made up for by looking from time to time.
"""

import asyncio
import contextlib
import logging
from uuid import UUID

from riven.db.channels import read_ids
from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.engines.port import Engine
from riven.queue.control import find_asked

KEPT = 10.0
"""Seconds for which a notification waits for its run: far longer than a claim takes to become one."""

_log = logging.getLogger("riven.dispatch")


class ControlDelivery:
    """`heard` listens on the channel CONTROL; `connected` is called whenever listening begins."""

    def __init__(self, database: Database, engine: Engine, poll_interval: float = 5.0) -> None:
        self._database = database
        self._engine = engine
        self._poll_interval = poll_interval
        self._early: dict[UUID, float] = {}
        self._look = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="riven-control")

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def heard(self, payload: str) -> None:
        now = asyncio.get_running_loop().time()
        for execution_id in [each for each, until in self._early.items() if until < now]:
            del self._early[execution_id]
        driven = set(self._engine.running)
        for execution_id in read_ids(payload):
            if execution_id in driven:
                self._engine.control(execution_id)
            else:
                self._early[execution_id] = now + KEPT

    def connected(self) -> None:
        """Whatever was said while nobody listened."""
        self._look.set()

    def asked(self, execution_id: UUID) -> bool:
        """Whether this run, which is about to start, has something to read first."""
        return execution_id in self._early

    def started(self, execution_id: UUID) -> None:
        """The engine has this run now: what was asked of it between its claim and its start was not delivered."""
        if self._early and self._early.pop(execution_id, None) is not None:
            self._engine.control(execution_id)

    async def _run(self) -> None:
        while True:
            # not by `wait_for`, which swallows a cancellation that comes together with the event
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._poll_interval):
                    await self._look.wait()
            self._look.clear()
            driven = self._engine.running
            if not driven:
                continue
            try:
                async with self._database.read() as connection:
                    asked = await find_asked(connection, driven)
            except DatabaseError as error:
                _log.warning("control_unread", extra={"error": str(error)})
                continue
            for execution_id in asked:
                self._engine.control(execution_id)
