"""Deliver what is asked of runs: cancel, pause, resume, signals, approvals.

Who asks writes a row and notifies; the run then reads its rows. Where this process drives the run, a notification that
comes while it is still being started is kept for a moment. Where an engine elsewhere does, it is told the ids of the
rows, again and again until it has read them. A notification that gets lost is made up for by looking from time to time.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from riven.db.channels import read_ids
from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.engines.port import DistantEngine, Engine, EngineAwayError
from riven.queue.control import (
    Asked,
    find_all_unread_elsewhere,
    find_asked,
    find_left_behind,
    find_unread_elsewhere,
    forget_left_behind,
)

KEPT = 10.0
"""Seconds for which a notification waits for its run: far longer than a claim takes to become one."""

FIRST_REPEAT, LONGEST_REPEAT = 5.0, 300.0
"""Seconds after which a row that was not read is told again; each time twice as long: a signal that no node waits for is
not read for days, and every word costs an event of the run's history."""
MOST = 1_000
"""Runs that are looked at at a time."""
_FIRST = UUID(int=0)
SIDE_BY_SIDE = 20
"""Requests under way to an engine that is elsewhere."""

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


@dataclass(slots=True)
class _Told:
    again: float
    """When it is to be told once more, by the clock of the event loop."""
    pause: float


class DistantControl:
    """The same, of runs that an engine elsewhere drives. Any number of dispatchers do it: being told twice is harmless."""

    def __init__(self, database: Database, engine: DistantEngine, poll_interval: float = 5.0) -> None:
        self._database = database
        self._engine = engine
        self._poll_interval = poll_interval
        self._news: dict[UUID, None] = {}
        self._told: dict[UUID, _Told] = {}
        self._look = asyncio.Event()
        self._look_at_all = 0.0
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
        self._add(read_ids(payload))

    def connected(self) -> None:
        """Whatever was said while nobody listened."""
        self._look_at_all = 0.0
        self._look.set()

    def started(self, execution_id: UUID) -> None:
        """The engine has this run now, and what was asked of it before."""
        self._add((execution_id,))

    def _add(self, executions: Iterable[UUID]) -> None:
        self._news.update(dict.fromkeys(executions))
        self._look.set()

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(self._look_at_all):
                    await self._look.wait()
            self._look.clear()
            news, self._news = list(self._news), {}
            everything = loop.time() >= self._look_at_all
            if everything:
                self._look_at_all = loop.time() + self._poll_interval
            try:
                await self.deliver(None if everything else news)
            except DatabaseError as error:
                _log.warning("control_unread", extra={"error": str(error)})
            except EngineAwayError as error:
                _log.warning("control_undelivered", extra={"error": str(error)})

    async def deliver(self, executions: Sequence[UUID] | None) -> None:
        """What is asked of these, or of all (None). Raises EngineAwayError, and DatabaseError."""
        if executions is not None:
            async with self._database.read() as connection:
                asked = await find_unread_elsewhere(connection, executions)
            await _side_by_side(asked, self._tell)
        else:
            await self._deliver_all()
        async with self._database.read() as connection:
            left = await find_left_behind(connection, MOST)
        await _side_by_side(left, self._cancel)

    async def _deliver_all(self) -> None:
        unread: set[UUID] = set()
        after = _FIRST
        while True:
            async with self._database.read() as connection:
                asked = await find_all_unread_elsewhere(connection, after, MOST)
            unread.update(control for each in asked for control in each.controls)
            await _side_by_side(asked, self._tell)
            if len(asked) < MOST:
                break
            after = asked[-1].execution_id
        self._told = {control: told for control, told in self._told.items() if control in unread}

    async def _tell(self, asked: Asked) -> None:
        now = asyncio.get_running_loop().time()
        due = [each for each in asked.controls if each not in self._told or self._told[each].again <= now]
        if due and await self._engine.signal(asked.execution_id, asked.run, due):
            for control in due:
                pause = (
                    min(self._told[control].pause * 2, LONGEST_REPEAT)
                    if control in self._told
                    else FIRST_REPEAT
                )
                self._told[control] = _Told(now + pause, pause)

    async def _cancel(self, left: Asked) -> None:
        await self._engine.cancel(left.execution_id, left.run)
        async with self._database.transaction() as connection:
            await forget_left_behind(connection, left.controls)


async def _side_by_side(all_asked: Sequence[Asked], deliver: Callable[[Asked], Awaitable[None]]) -> None:
    """Some at a time. Raises the first error, and leaves the rest for the next round: what is away is away for all."""
    for start in range(0, len(all_asked), SIDE_BY_SIDE):
        some = all_asked[start : start + SIDE_BY_SIDE]
        for done in await asyncio.gather(*map(deliver, some), return_exceptions=True):
            if isinstance(done, BaseException):
                raise done
