"""The worker of the Temporal engine: takes runs and attempts of nodes from its task queue. Any number, each for itself."""

import asyncio
import contextlib
import logging

from riven.cli.launching import ProcessCall
from riven.completion.changes import ChangeFeed
from riven.completion.recorder import Recorder
from riven.completion.shared import SharedRunStore
from riven.db.channels import WATCH
from riven.db.errors import DatabaseError
from riven.db.identity import new_id
from riven.db.listen import Listener
from riven.engines.embedded.timers import WallTimers
from riven.engines.port import EngineAwayError
from riven.engines.temporal.client import check_connection
from riven.engines.temporal.worker import TemporalWorker
from riven.main.clock import WallClock, process_name
from riven.main.database import open_database
from riven.main.functions import load_functions
from riven.main.process import Build
from riven.main.reporting import MetricsReporter
from riven.main.temporal import address_of, open_client
from riven.main.waiting import until_schema_is_current
from riven.nodes.addresses import AddressPolicy
from riven.nodes.functions import FunctionPool, Functions
from riven.nodes.http_client import HttpClient
from riven.nodes.registry import Registry
from riven.queue.lease import Process, leave, register, renew
from riven.queue.wake import Announcer
from riven.settings import Settings
from riven.telemetry.metrics import RUNS

LAST_COMMITS = 3.0
"""Seconds that what was handed in to be recorded may take after the last attempt has been left."""

_log = logging.getLogger("riven.process")


class TemporalWorkerPart:
    def __init__(self, settings: Settings, functions: Functions, *, name: str | None = None) -> None:
        self._settings = settings
        database = self._database = open_database(settings, "worker")
        self.process = Process(
            new_id(),
            "worker",
            name or process_name("worker"),
            engine="temporal",
            enabled=settings.workflow_engine_enabled,
        )
        self._announcer = Announcer(database, self.process.id)
        self._changes = ChangeFeed(database)
        self._recorder = Recorder(database, self._announcer.announce, self._changes.tell)
        clock = WallClock()
        self._timers = WallTimers(clock)
        self._http = HttpClient(AddressPolicy.server(settings.http_allow))
        self._threads = FunctionPool(settings.worker_threads)
        self._worker = TemporalWorker(
            address_of(settings),
            task_queue=settings.temporal_task_queue,
            registry=Registry.discover(),
            services={HttpClient: self._http, Functions: functions, FunctionPool: self._threads},
            store=SharedRunStore(database, self._recorder, self._announcer.announce, self._changes.tell),
            clock=clock,
            timers=self._timers,
            node_timeout=round(settings.node_timeout * 1_000),
            max_nodes=settings.worker_nodes,
            max_cached=settings.temporal_cached_runs,
            sticky_timeout=settings.temporal_sticky_timeout,
        )
        self._listener = Listener(database, {WATCH: self._changes.heard}, connected=self._changes.ask)
        self._reporter = MetricsReporter(database, self.process)
        self._task: asyncio.Task[None] | None = None
        self._hurrying: asyncio.Task[None] | None = None
        self._working = False
        self.ready = asyncio.Event()
        """It is known to the others, and takes work as soon as Temporal is there."""

    async def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work(), name="riven-worker")

    async def _work(self) -> None:
        await until_schema_is_current(self._database)
        self._working = True
        self._listener.start()
        self._reporter.start()
        await self._worker.start()
        living = asyncio.get_running_loop().create_task(self._live(), name="riven-live")
        try:
            await self._worker.wait()
        finally:
            living.cancel()
            await asyncio.gather(living, return_exceptions=True)

    async def _live(self) -> None:
        """The sign of life, and what is known of the engine. Nobody is judged by it: what it runs is Temporal's."""
        client = await open_client(self._settings)
        while True:
            error = None
            try:
                async with asyncio.timeout(self._settings.lease_ttl / 3):
                    await check_connection(client)
            except (EngineAwayError, TimeoutError) as away:
                error = str(away) or "Temporal does not answer"
            RUNS.set(self._worker.runs)
            room = max(0, self._settings.worker_nodes - self._worker.attempts)
            try:
                if not await renew(self._database, self.process, room, error):
                    await register(self._database, self.process, room)
                self.ready.set()
            except DatabaseError as wrong:
                _log.warning("database_away", extra={"error": str(wrong)})
            await asyncio.sleep(self._settings.lease_ttl / 3)

    async def wait(self) -> None:
        if self._task is not None:
            await asyncio.shield(self._task)

    def hurry(self) -> None:
        self._hurrying = asyncio.get_running_loop().create_task(self._worker.drain(0), name="riven-hurry")

    async def stop(self, deadline: float) -> None:
        """Takes nothing more; what does not end in time is left to other workers, which Temporal gives it to."""
        if self._task is not None:
            if self._working:
                await self._worker.drain(deadline)
            else:
                self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            await self._reporter.stop()
            await self._listener.stop()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._recorder.close(), LAST_COMMITS)
            if self._working:
                with contextlib.suppress(DatabaseError, TimeoutError):
                    await asyncio.wait_for(leave(self._database, self.process), LAST_COMMITS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._announcer.close(), LAST_COMMITS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._changes.close(), LAST_COMMITS)
        await self._http.aclose()
        self._threads.stop()
        self._timers.close()
        with contextlib.suppress(TimeoutError, DatabaseError):
            await asyncio.wait_for(self._database.close(), LAST_COMMITS)


def assemble(call: ProcessCall, settings: Settings) -> Build:
    """The process `riven worker`, with Temporal."""
    functions = load_functions(settings.functions)
    return lambda: [TemporalWorkerPart(settings, functions, name=call.name)]
