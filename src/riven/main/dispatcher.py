"""The dispatcher: claims executions, starts them on Temporal, and tells their runs what is asked of them. Any number."""

import asyncio
import contextlib
import logging

from riven.cli.launching import ProcessCall
from riven.db.channels import CONTROL
from riven.db.errors import DatabaseError
from riven.db.identity import new_id
from riven.db.listen import Listener
from riven.dispatch.control import DistantControl
from riven.dispatch.loop import DispatchLoop, DispatchSettings
from riven.dispatch.starter import DistantStarter
from riven.main.clock import process_name
from riven.main.database import open_database
from riven.main.predecessor import succeed
from riven.main.process import Build
from riven.main.reporting import MetricsReporter
from riven.main.temporal import open_engine
from riven.main.waiting import until_schema_is_current
from riven.queue.lease import Process
from riven.queue.recover import hand_back
from riven.queue.wake import Announcer, WakeListener
from riven.settings import Settings

LAST_WORDS = 3.0
"""Seconds for what is still said to the database on the way out."""

_log = logging.getLogger("riven.process")


class Dispatcher:
    def __init__(self, settings: Settings, *, name: str | None = None, succeeds: bool = False) -> None:
        """`succeeds`: whoever had this name before is dead."""
        self._settings = settings
        self._succeeds = succeeds
        self._database = open_database(settings, "dispatcher")
        self.process = Process(
            new_id(),
            "dispatcher",
            name or process_name("dispatcher"),
            engine="temporal",
            enabled=settings.workflow_engine_enabled,
        )
        self._announcer = Announcer(self._database, self.process.id)
        self._reporter = MetricsReporter(self._database, self.process)
        self._loop: DispatchLoop | None = None
        self._control: DistantControl | None = None
        self._listener: Listener | None = None
        self._wakes: WakeListener | None = None
        self._task: asyncio.Task[None] | None = None
        self.ready = asyncio.Event()

    async def start(self) -> None:
        settings, database = self._settings, self._database
        engine = await open_engine(settings)
        control = self._control = DistantControl(database, engine, settings.dispatch_poll_interval)
        starter = DistantStarter(
            database,
            engine,
            self.process.id,
            settings.queue_max_attempts,
            patience=settings.lease_ttl / 3,
            started=control.started,
        )
        loop = self._loop = DispatchLoop(
            database,
            starter,
            self.process,
            self._announcer,
            DispatchSettings(
                enabled=settings.workflow_engine_enabled,
                poll_interval=settings.dispatch_poll_interval,
                batch_size=settings.dispatch_batch_size,
                lease_ttl=settings.lease_ttl,
            ),
        )
        self.ready = loop.registered
        self._announcer.listen(loop.wake)
        self._wakes = WakeListener(database, self.process.id, loop.wake)
        self._listener = Listener(database, {CONTROL: control.heard}, connected=control.connected)
        self._task = asyncio.get_running_loop().create_task(self._work(loop), name="riven-dispatcher")

    async def _work(self, loop: DispatchLoop) -> None:
        await until_schema_is_current(self._database)
        if self._succeeds:
            await succeed(self._database, self._announcer, self.process)
        for part in (self._wakes, self._listener, self._control, self._reporter):
            if part is not None:
                part.start()
        await loop.run()

    async def wait(self) -> None:
        if self._task is not None:
            await asyncio.shield(self._task)

    def hurry(self) -> None:
        """What it waits for is short anyway: starts that are under way."""

    async def stop(self, deadline: float) -> None:
        """Starts under way end, and are settled; what could not be goes to others at once, slots kept."""
        if self._task is not None and self._loop is not None:
            works = self.ready.is_set()
            self._loop.stop()
            if not works:
                self._task.cancel()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(
                    asyncio.gather(self._task, return_exceptions=True), max(deadline, LAST_WORDS)
                )
            for part in (self._reporter, self._wakes, self._listener, self._control):
                if part is not None:
                    await part.stop()
            if works:
                await self._give_back(self._loop)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._announcer.close(), LAST_WORDS)
        with contextlib.suppress(TimeoutError, DatabaseError):
            await asyncio.wait_for(self._database.close(), LAST_WORDS)

    async def _give_back(self, loop: DispatchLoop) -> None:
        try:
            async with asyncio.timeout(LAST_WORDS):
                async with self._database.transaction() as connection:
                    workspaces = await hand_back(connection, self.process.id)
                await loop.leave()
        except (DatabaseError, TimeoutError) as error:
            _log.warning("stop_incomplete", extra={"error": str(error) or "the database does not answer"})
        else:
            _log.info("runs_handed_back", extra={"count": len(workspaces)})
            self._announcer.announce(workspaces)


def assemble(call: ProcessCall, settings: Settings) -> Build:
    """The process `riven dispatcher`."""
    return lambda: [Dispatcher(settings, name=call.name, succeeds=call.succeeds)]
