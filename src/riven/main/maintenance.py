"""Maintenance: judges, recovers, ends what nobody drives, repairs, clears away. Any number of replicas."""

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from riven.cli.launching import ProcessCall
from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.db.identity import new_id
from riven.engines.port import DistantEngine
from riven.main.clock import process_name
from riven.main.database import open_database
from riven.main.process import Build
from riven.main.reporting import MetricsReporter
from riven.main.waiting import until_schema_is_current
from riven.maintenance.deadlines import end_overdue
from riven.maintenance.leases import Judge
from riven.maintenance.outbox import deliver
from riven.maintenance.prune import prune
from riven.maintenance.reconcile import EngineReconciler, Reconciler
from riven.maintenance.rounds import Duty, Rounds
from riven.maintenance.stale import LOCK, recover_items
from riven.queue.lease import Process, leave, register, renew
from riven.queue.wake import Announcer
from riven.settings import Settings

DEADLINES_EVERY = 1.0
RECONCILE_EVERY = 60.0
RECONCILE_ENGINE_EVERY = 10.0
PRUNE_EVERY = 60.0
OUTBOX_EVERY = 60.0
LAST_WORDS = 3.0
"""Seconds for what is still said to the database on the way out."""


LoadEngine: TypeAlias = Callable[[Settings], Awaitable[DistantEngine]]
"""Called where there is an engine elsewhere: what reaches it is loaded only then."""


def duties(
    settings: Settings, database: Database, announcer: Announcer, engine: DistantEngine | None
) -> Sequence[Duty]:
    judge = Judge(database, announcer, settings.lease_ttl)
    reconciler = Reconciler(database, announcer)
    sweep = functools.partial(recover_items, database, announcer, stale_after=settings.queue_stale_after)
    elsewhere = []
    if engine is not None:
        compare = EngineReconciler(database, announcer, engine)
        elsewhere.append(Duty("reconcile_engine", RECONCILE_ENGINE_EVERY, compare.perform))
    return (
        *elsewhere,
        # On every replica: one that takes over would have to look for a whole lease before it judges anybody.
        Duty("judge_processes", settings.lease_ttl / 3, judge.perform, alone=False),
        Duty(LOCK, settings.stale_sweep_interval, sweep),
        Duty("end_overdue", DEADLINES_EVERY, functools.partial(end_overdue, database, announcer)),
        Duty("reconcile", RECONCILE_EVERY, reconciler.perform),
        Duty(
            "prune",
            PRUNE_EVERY,
            functools.partial(prune, database, history_retention=settings.history_retention),
        ),
        Duty("deliver_outbox", OUTBOX_EVERY, functools.partial(deliver, database)),
    )


class Maintenance:
    def __init__(
        self, settings: Settings, load_engine: LoadEngine | None = None, *, name: str | None = None
    ) -> None:
        """`load_engine`: where Temporal is the engine, how it is reached."""
        self._settings = settings
        self._load_engine = load_engine if settings.engine == "temporal" else None
        database = self._database = open_database(settings, "maintenance")
        self.process = Process(
            new_id(), "maintenance", name or process_name("maintenance"), engine=settings.engine
        )
        self._announcer = Announcer(database, self.process.id)
        self._rounds: Rounds | None = None
        self._reporter = MetricsReporter(database, self.process)
        self._task: asyncio.Task[None] | None = None
        self.ready = asyncio.Event()

    async def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work(), name="riven-maintenance")

    async def _work(self) -> None:
        await until_schema_is_current(self._database)
        settings = self._settings
        engine = None if self._load_engine is None else await self._load_engine(settings)
        alive = Duty("give_sign_of_life", settings.lease_ttl / 3, self._give_sign_of_life, alone=False)
        all_duties = (alive, *duties(settings, self._database, self._announcer, engine))
        rounds = self._rounds = Rounds(self._database, self.process.id, all_duties)
        rounds.start()
        self._reporter.start()
        self.ready.set()
        await rounds.wait()

    async def _give_sign_of_life(self) -> None:
        if not await renew(self._database, self.process, 0):
            await register(self._database, self.process, 0)

    async def wait(self) -> None:
        if self._task is not None:
            await asyncio.shield(self._task)

    def hurry(self) -> None:
        """It waits for nothing but the database, and for that not long."""

    async def stop(self, deadline: float) -> None:  # noqa: ARG002 - a part's; this one is quick
        """A duty that is under way is broken off: what it has not committed, it has not done."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            if self._rounds is not None:
                await self._rounds.stop()
            await self._reporter.stop()
            with contextlib.suppress(DatabaseError, TimeoutError):
                await asyncio.wait_for(leave(self._database, self.process), LAST_WORDS)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._announcer.close(), LAST_WORDS)
        with contextlib.suppress(TimeoutError, DatabaseError):
            await asyncio.wait_for(self._database.close(), LAST_WORDS)


def assemble(call: ProcessCall, settings: Settings, load_engine: LoadEngine) -> Build:
    """The process `riven maintenance`."""
    return lambda: [Maintenance(settings, load_engine, name=call.name)]
