"""A dispatcher and a worker of the Temporal engine, put together on a real database and a real server."""

import asyncio
from contextlib import asynccontextmanager
from datetime import timedelta
from uuid import UUID

from tests.engines.embedded.workers import Installation, WallClock

from riven.completion.changes import ChangeFeed
from riven.completion.recorder import Recorder
from riven.completion.shared import SharedRunStore
from riven.core.graph import RetryPolicy
from riven.db.channels import CONTROL, read_ids
from riven.db.identity import new_id
from riven.db.listen import Listener
from riven.dispatch.loop import DispatchLoop, DispatchSettings
from riven.dispatch.starter import Starter
from riven.engines.embedded.timers import WallTimers
from riven.engines.port import StartRequest
from riven.engines.temporal.client import TemporalAddress, TemporalEngine, connect
from riven.engines.temporal.sessions import no_secrets
from riven.engines.temporal.worker import TemporalWorker
from riven.nodes.functions import FunctionPool, Functions
from riven.queue.lease import Process
from riven.queue.wake import Announcer
from riven.wire.temporal import CONTINUE_AFTER

LIFE = timedelta(minutes=5)
"""Of every workflow of a test: none runs for ever because of a bug."""


class Driving:
    """A worker of its own: what it has in memory no other worker has."""

    def __init__(
        self, of: Installation, address: str, task_queue: str, secrets=no_secrets, **sizes: int
    ) -> None:
        database = of.database
        self.announcer = Announcer(database, new_id())
        self.changes = ChangeFeed(database)
        self.recorder = Recorder(database, self.announcer.announce, self.changes.tell)
        clock = WallClock()
        self.timers = WallTimers(clock)
        self.store = SharedRunStore(database, self.recorder, self.announcer.announce, self.changes.tell)
        self.worker = TemporalWorker(
            TemporalAddress(address=address),
            task_queue=task_queue,
            registry=of.registry,
            services={Functions: of.functions, FunctionPool: FunctionPool()},
            store=self.store,
            clock=clock,
            timers=self.timers,
            secrets=secrets,
            **sizes,
        )

    async def start(self) -> None:
        await self.worker.start()
        async with asyncio.timeout(20):
            await self.worker.ready.wait()

    async def stop(self, deadline: float = 5.0) -> None:
        await self.worker.drain(deadline)
        await self.changes.close()
        await self.recorder.close()
        await self.announcer.close()
        self.timers.close()


class Dispatching:
    def __init__(self, of: Installation, address: str, task_queue: str, continue_after: int) -> None:
        self._of = of
        self._address = address
        self._task_queue = task_queue
        self._continue_after = continue_after
        self.process = Process(new_id(), "dispatcher", "test")
        self.announcer = Announcer(of.database, self.process.id)
        self._telling: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        database = self._of.database
        self.client = await connect(TemporalAddress(address=self._address))
        self.engine = TemporalEngine(
            self.client,
            task_queue=self._task_queue,
            retry=RetryPolicy(),
            continue_after=self._continue_after,
            execution_timeout=LIFE,
        )
        settings = DispatchSettings(poll_interval=0.1)
        self.loop = DispatchLoop(
            database, Starter(database, self.engine), self.process, self.announcer, settings
        )
        self.announcer.listen(self.loop.wake)
        self.listener = Listener(database, {CONTROL: self._asked})
        self.listener.start()
        self._task = asyncio.create_task(self.loop.run())

    def _asked(self, payload: str) -> None:
        task = asyncio.create_task(self._tell(list(read_ids(payload))))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    async def _tell(self, executions: list[UUID]) -> None:
        for execution_id in executions:
            row = await self._of.execution(execution_id)
            await self.engine.signal(execution_id, row["run"], [])

    @property
    def preparing(self):
        """Of the one worker."""
        (driving,) = self.workers
        return driving.worker._sessions._preparing

    async def start_by_hand(self, execution_id: UUID, *, token: int) -> None:
        """As a dispatcher does that has claimed it."""
        row = await self._of.execution(execution_id)
        await self.engine.start(
            StartRequest(
                execution_id=execution_id,
                run=row["run"],
                token=token,
                workspace_id=row["workspace_id"],
                workspace_name="w",
                workflow=row["workflow_name"],
                workflow_id=row["workflow_definition_id"],
                version=row["version"],
                version_id=row["workflow_definition_version_id"],
                input=row["input"],
                trigger=None,
                started_at=1,
                run_started_at=1,
                frozen=None,
                resumed=False,
            )
        )

    async def stop(self) -> None:
        await self.listener.stop()
        self.loop.stop()
        await self._task
        await asyncio.gather(*self._telling)
        await self.announcer.close()


@asynccontextmanager
async def driving(
    of: Installation, address: str, *, continue_after: int = CONTINUE_AFTER, workers: int = 1, **sizes: int
):
    """The dispatcher, and as many workers, on a task queue of their own."""
    task_queue = f"q-{new_id()}"
    dispatching = Dispatching(of, address, task_queue, continue_after)
    made = [Driving(of, address, task_queue, **sizes) for _ in range(workers)]
    await dispatching.start()
    try:
        for each in made:
            await each.start()
        dispatching.workers = made
        yield dispatching
    finally:
        await dispatching.stop()
        for each in made:
            await each.stop()
