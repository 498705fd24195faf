"""A dispatcher on a real Temporal server, put together as `main` does it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from uuid import UUID

from temporalio.api.enums.v1 import EventType
from temporalio.client import Client

from riven.core.graph import RetryPolicy
from riven.db.channels import CONTROL
from riven.db.engine import Database
from riven.db.identity import new_id
from riven.db.listen import Listener
from riven.dispatch.control import DistantControl
from riven.dispatch.loop import DispatchLoop, DispatchSettings
from riven.dispatch.starter import DistantStarter
from riven.engines.port import DistantEngine
from riven.engines.temporal.client import (
    TemporalAddress,
    TemporalEngine,
    connect,
    register_search_attributes,
)
from riven.engines.temporal.names import workflow_id
from riven.queue.lease import Process
from riven.queue.recover import hand_back
from riven.queue.wake import Announcer


async def until(true: Callable[[], Awaitable[object]], within: float = 30.0) -> None:
    """Until it is so, for what only rows and other servers tell."""
    async with asyncio.timeout(within):
        while not await true():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.02)


class Server:
    """Temporal, as the engine reaches it, and as one looks into it from outside."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.queue = f"tests-{new_id()}"
        """Nobody takes anything from it: what is started there stays as it is."""
        self.engine = TemporalEngine(client, task_queue=self.queue, retry=RetryPolicy())

    async def events(self, execution_id: UUID, run: int = 1) -> Counter[str]:
        """Of the run's history, by type."""
        handle = self.client.get_workflow_handle(workflow_id(execution_id, run))
        kinds = [EventType.Name(event.event_type) async for event in handle.fetch_history_events()]
        return Counter(kind.removeprefix("EVENT_TYPE_WORKFLOW_EXECUTION_") for kind in kinds)


@asynccontextmanager
async def server(address: str):
    client = await connect(TemporalAddress(address=address))
    await register_search_attributes(client)
    yield Server(client)


class DistantDispatcher:
    def __init__(self, database: Database, engine: DistantEngine, *, poll=0.05, patience=5.0) -> None:
        self.database = database
        self.process = Process(new_id(), "dispatcher", "d", engine="temporal")
        self.announcer = Announcer(database, self.process.id)
        self.control = DistantControl(database, engine, poll)
        self.starter = DistantStarter(
            database, engine, self.process.id, patience=patience, started=self.control.started
        )
        settings = DispatchSettings(poll_interval=poll)
        self.loop = DispatchLoop(database, self.starter, self.process, self.announcer, settings)
        self.announcer.listen(self.loop.wake)
        self.listener = Listener(database, {CONTROL: self.control.heard}, connected=self.control.connected)
        self.listener.start()
        self.control.start()
        self.task = asyncio.create_task(self.loop.run())

    async def stop(self) -> None:
        self.loop.stop()
        await self.task
        await self.listener.stop()
        await self.control.stop()
        async with self.database.transaction() as connection:
            await hand_back(connection, self.process.id)
        await self.announcer.close()


@asynccontextmanager
async def distant_dispatcher(database: Database, engine: DistantEngine, **options):
    made = DistantDispatcher(database, engine, **options)
    try:
        yield made
    finally:
        await made.stop()
