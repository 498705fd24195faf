"""The worker: claims executions and drives them, on the embedded engine."""

import asyncio
import contextlib
import logging
from uuid import UUID

from riven.cli.launching import ProcessCall
from riven.completion.changes import ChangeFeed
from riven.completion.recorder import Recorder
from riven.completion.store import PostgresRunStore
from riven.db.channels import CONTROL, WATCH
from riven.db.errors import DatabaseError
from riven.db.identity import new_id
from riven.db.listen import Listener
from riven.dispatch.control import ControlDelivery
from riven.dispatch.loop import DispatchLoop, DispatchSettings
from riven.dispatch.starter import Starter
from riven.engines.embedded.durable import DurableEngine
from riven.engines.embedded.timers import WallTimers
from riven.main.clock import WallClock, process_name
from riven.main.database import open_database
from riven.main.functions import load_functions
from riven.main.predecessor import succeed
from riven.main.process import Build
from riven.main.reporting import MetricsReporter
from riven.main.retries import retry_policy
from riven.main.waiting import until_schema_is_current
from riven.nodes.addresses import AddressPolicy
from riven.nodes.functions import FunctionPool, Functions
from riven.nodes.http_client import HttpClient
from riven.nodes.registry import Registry
from riven.queue.lease import Process
from riven.queue.recover import hand_back
from riven.queue.wake import Announcer, WakeListener
from riven.settings import Settings

LAST_COMMITS = 3.0
"""Seconds that what was handed in to be recorded may take after the last run has been dropped."""

_log = logging.getLogger("riven.process")


class Worker:
    def __init__(
        self, settings: Settings, functions: Functions, *, name: str | None = None, succeeds: bool = False
    ) -> None:
        """`succeeds`: whoever had this name before is dead."""
        self._settings = settings
        self._succeeds = succeeds
        database = self._database = open_database(settings, "worker")
        self.process = Process(
            new_id(),
            "worker",
            name or process_name("worker"),
            enabled=settings.workflow_engine_enabled,
        )
        self._announcer = Announcer(database, self.process.id)
        self._changes = ChangeFeed(database)
        self._recorder = Recorder(database, self._announcer.announce, self._changes.tell)
        clock = WallClock()
        self._timers = WallTimers(clock)
        self._http = HttpClient(AddressPolicy.server(settings.http_allow))
        self._threads = FunctionPool(settings.worker_threads)
        self._engine = DurableEngine(
            registry=Registry.discover(),
            services={HttpClient: self._http, Functions: functions, FunctionPool: self._threads},
            store=PostgresRunStore(database, self._recorder, self._announcer.announce, self._changes.tell),
            clock=clock,
            timers=self._timers,
            max_runs=settings.worker_runs,
            max_in_flight=settings.worker_nodes,
            retry=retry_policy(settings),
            node_timeout=round(settings.node_timeout * 1_000),
            ended=lambda _: self._loop.wake(),
        )
        self._control = ControlDelivery(database, self._engine, settings.dispatch_poll_interval)
        self._loop = DispatchLoop(
            database,
            Starter(
                database,
                self._engine,
                settings.queue_max_attempts,
                asked=self._control.asked,
                started=self._started,
            ),
            self.process,
            self._announcer,
            DispatchSettings(
                enabled=settings.workflow_engine_enabled,
                poll_interval=settings.dispatch_poll_interval,
                batch_size=settings.dispatch_batch_size,
                lease_ttl=settings.lease_ttl,
            ),
        )
        self._announcer.listen(self._loop.wake)
        self._wakes = WakeListener(database, self.process.id, self._loop.wake)
        channels = {CONTROL: self._control.heard, WATCH: self._changes.heard}
        self._listener = Listener(database, channels, connected=self._connected)
        self._reporter = MetricsReporter(database, self.process)
        self._task: asyncio.Task[None] | None = None
        self._hurrying: asyncio.Task[None] | None = None
        self._working = False
        self.ready = self._loop.registered

    async def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work(), name="riven-worker")

    async def _work(self) -> None:
        await until_schema_is_current(self._database)
        if self._succeeds:
            await succeed(self._database, self._announcer, self.process)
        self._working = True
        self._wakes.start()
        self._listener.start()
        self._control.start()
        self._reporter.start()
        await self._loop.run()

    def _started(self, execution_id: UUID) -> None:
        self._control.started(execution_id)
        self._changes.tell((execution_id,))

    def _connected(self) -> None:
        self._control.connected()
        self._changes.ask()

    async def wait(self) -> None:
        if self._task is not None:
            await asyncio.shield(self._task)

    def hurry(self) -> None:
        self._hurrying = asyncio.get_running_loop().create_task(self._engine.drain(0), name="riven-hurry")

    async def stop(self, deadline: float) -> None:
        if self._task is not None:
            if self._working:
                self._loop.drain()
                # Without the loop there is no sign of life, and others may have what runs here by now.
                await self._engine.drain(0 if self._task.done() else deadline)
                self._loop.stop()
            else:
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await self._engine.drain(0)  # what a claim under way has started since
            await self._reporter.stop()
            await self._wakes.stop()
            await self._listener.stop()
            await self._control.stop()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._recorder.close(), LAST_COMMITS)
            if self._working:
                await self._give_back()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._say_the_rest(), LAST_COMMITS)
        await self._http.aclose()
        self._threads.stop()
        self._timers.close()
        with contextlib.suppress(TimeoutError, DatabaseError):
            await asyncio.wait_for(self._database.close(), LAST_COMMITS)

    async def _say_the_rest(self) -> None:
        await self._announcer.close()
        await self._changes.close()

    async def _give_back(self) -> None:
        """What is left goes to others at once, slot kept; after that this process has never been there."""
        try:
            async with asyncio.timeout(LAST_COMMITS):
                async with self._database.transaction() as connection:
                    workspaces = await hand_back(connection, self.process.id)
                await self._loop.leave()
        except (DatabaseError, TimeoutError) as error:
            _log.warning("stop_incomplete", extra={"error": str(error) or "the database does not answer"})
        else:
            _log.info("runs_handed_back", extra={"count": len(workspaces)})
            self._announcer.announce(workspaces)


def assemble(call: ProcessCall, settings: Settings) -> Build:
    """The process `riven worker`."""
    functions = load_functions(settings.functions)
    return lambda: [Worker(settings, functions, name=call.name, succeeds=call.succeeds)]
