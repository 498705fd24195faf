"""An engine that does what a test says, and a loop on it."""

import asyncio
from contextlib import asynccontextmanager
from uuid import UUID

from riven.db.identity import new_id
from riven.dispatch.loop import DispatchLoop, DispatchSettings
from riven.dispatch.starter import Starter
from riven.engines.port import StartRequest, StartResult
from riven.queue.lease import Process
from riven.queue.wake import Announcer


class Obedient:
    """Takes what it is given, or raises what it was told to; nothing ends by itself."""

    def __init__(self, room: int = 10) -> None:
        self.size = room
        self.started: list[StartRequest] = []
        self.errors: dict[UUID | None, list[Exception]] = {}
        """Raised by the next starts of an execution; under None, of any."""
        self.driven: list[UUID] = []
        self.drives_suspect = False
        self.tries = asyncio.Queue[UUID]()

    @property
    def room(self) -> int:
        return self.size - len(self.driven)

    @property
    def running(self) -> list[UUID]:
        return list(self.driven)

    async def start(self, request: StartRequest) -> StartResult:
        self.tries.put_nowait(request.execution_id)
        for key in (request.execution_id, None):
            if self.errors.get(key):
                raise self.errors[key].pop(0)
        self.started.append(request)
        self.driven.append(request.execution_id)
        return StartResult.STARTED

    def control(self, execution_id: UUID) -> None:
        pass


class Dispatcher:
    def __init__(self, database, engine: Obedient, **settings) -> None:
        self.engine = engine
        self.process = Process(new_id(), "worker", "w")
        self.announcer = Announcer(database, self.process.id)
        self.loop = DispatchLoop(
            database, Starter(database, engine), self.process, self.announcer,
            DispatchSettings(**{"poll_interval": 0.02, **settings}),
        )  # fmt: skip
        self.announcer.listen(self.loop.wake)
        self.task = asyncio.create_task(self.loop.run())

    async def stop(self) -> None:
        self.loop.stop()
        await self.task
        await self.announcer.close()


@asynccontextmanager
async def dispatcher(database, engine: Obedient | None = None, **settings):
    made = Dispatcher(database, engine or Obedient(), **settings)
    try:
        yield made
    finally:
        await made.stop()
