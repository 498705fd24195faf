"""A dispatcher as a process of its own, to be killed: what it starts lasts for a moment and ends through completion."""

import asyncio
import random
import sys
from collections.abc import Sequence
from uuid import UUID

from riven.completion.recorder import Recorder, RunWrite
from riven.db.engine import Database
from riven.dispatch.loop import DispatchLoop, DispatchSettings
from riven.dispatch.starter import Starter
from riven.effects.recorder import LostRunError
from riven.engines.port import StartRequest, StartResult
from riven.queue.lease import Process
from riven.queue.wake import Announcer, WakeListener

ROOM = 30
LASTS = 0.04


class Brief:
    """An engine whose runs have nothing to do."""

    def __init__(self, recorder: Recorder, dice: random.Random) -> None:
        self._recorder = recorder
        self._dice = dice
        self._runs: dict[UUID, tuple[StartRequest, asyncio.Task[None]]] = {}
        self.ended = asyncio.Event()

    @property
    def room(self) -> int:
        return ROOM - len(self._runs)

    @property
    def running(self) -> Sequence[UUID]:
        return list(self._runs)

    @property
    def drives_suspect(self) -> bool:
        return any(request.suspect for request, _ in self._runs.values())

    async def start(self, request: StartRequest) -> StartResult:
        if request.execution_id in self._runs:
            return StartResult.ALREADY_RUNNING
        task = asyncio.create_task(self._drive(request))
        self._runs[request.execution_id] = request, task
        return StartResult.STARTED

    def control(self, execution_id: UUID) -> None:
        pass

    async def _drive(self, request: StartRequest) -> None:
        try:
            await asyncio.sleep(self._dice.random() * LASTS)
            move = {"status": "COMPLETED", "phase": "COMPLETED", "revision": request.revision + 1}
            key = {"execution_id": request.execution_id, "run": request.run, "token": request.token}
            await self._recorder.record(RunWrite(**key, move=move))
        except LostRunError:
            pass
        finally:
            del self._runs[request.execution_id]
            self.ended.set()


async def main(url: str, owner: UUID) -> None:
    database = Database(url, pool_size=4)
    process = Process(owner, "dispatcher", str(owner))
    announcer = Announcer(database, owner)
    engine = Brief(Recorder(database, announcer.announce), random.Random(owner.int))
    settings = DispatchSettings(poll_interval=0.05, batch_size=ROOM)
    loop = DispatchLoop(database, Starter(database, engine), process, announcer, settings)
    announcer.listen(loop.wake)
    WakeListener(database, owner, loop.wake).start()
    running = asyncio.create_task(loop.run())
    await loop.registered.wait()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while not running.done():
        await engine.ended.wait()
        engine.ended.clear()
        loop.wake()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], UUID(sys.argv[2])))
