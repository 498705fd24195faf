"""Wake-ups: who makes something startable says so, after the commit; every claim loop hears it.

An announcement clears the hints of its workspaces and notifies the other processes, on a connection of its own: a
NOTIFY inside the transactions that do the work would put all their commits in one line. The first goes out at once,
later ones are gathered for 10 ms. Nothing depends on an announcement arriving: the poll is behind it.

Who puts something in line in a transaction of his own (`notify_within`) cannot do anything after its commit, so whoever
hears of it clears the hints.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any
from uuid import UUID

import asyncpg

from riven.db.engine import Connection, Database
from riven.db.errors import DatabaseError, translated
from riven.db.statements import load
from riven.queue.recover import wrong_hints

CHANNEL = "riven_wake"
_GATHER = 0.010
_RECONNECT = 1.0
_PING_EVERY = 10.0
_PAYLOAD_IDS = 200
"""So many workspace ids fit into a notification (8,000 bytes); more are announced as "all"."""

_WITHIN = "enqueue:"
"""Instead of the process: said in a transaction that put something in line, and heard after its commit."""

_log = logging.getLogger("riven.queue")

_CLEAR_HINTS = load("riven.queue", "clear_hints")
_ANNOUNCE = f"WITH cleared AS ({_CLEAR_HINTS} RETURNING id) SELECT pg_notify('{CHANNEL}', $2)"


async def notify_within(connection: Connection, workspaces: Sequence[UUID]) -> None:
    """Wake the claim loops when the caller's own transaction commits, if it does."""
    for start in range(0, len(workspaces), _PAYLOAD_IDS):
        names = ",".join(map(str, workspaces[start : start + _PAYLOAD_IDS]))
        await connection.fetch("SELECT pg_notify($1, $2)", CHANNEL, f"{_WITHIN}{names}")


class Announcer:
    """One for each process. `listeners` inside the process are called at once, without the way through PostgreSQL."""

    def __init__(self, database: Database, origin: UUID) -> None:
        self._database = database
        self._origin = origin
        self._gathered: dict[UUID, None] = {}
        self._task: asyncio.Task[None] | None = None
        self._listeners: list[Callable[[], None]] = []

    def listen(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def announce(self, workspaces: Iterable[UUID]) -> None:
        """Something of these workspaces may be startable now. Call it after the commit."""
        self._gathered.update(dict.fromkeys(workspaces))
        if self._gathered and self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._send(), name="riven-announce")

    async def _send(self) -> None:
        try:
            while self._gathered:
                gathered, self._gathered = list(self._gathered), {}
                await self._tell(gathered)
                for listener in self._listeners:
                    listener()
                await asyncio.sleep(_GATHER)
        finally:
            self._task = None

    async def _tell(self, workspaces: list[UUID]) -> None:
        names = ",".join(map(str, workspaces)) if len(workspaces) <= _PAYLOAD_IDS else "all"
        try:
            async with self._database.read() as connection:
                await connection.fetch(_ANNOUNCE, workspaces, f"{self._origin}:{names}")
        except DatabaseError as error:
            _log.warning("wake_up_lost", extra={"error": str(error)})

    async def close(self) -> None:
        task = self._task
        if task is not None:
            await task


class WakeListener:
    """Hears the announcements of other processes, and notices when it has become deaf."""

    def __init__(self, database: Database, origin: UUID, woken: Callable[[], None]) -> None:
        self._database = database
        self._own = f"{origin}:"
        self._woken = woken
        self._task: asyncio.Task[None] | None = None
        self._hinted: dict[UUID, None] = {}
        self._clearing: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._listen(), name="riven-wake-listener")

    async def stop(self) -> None:
        for task in (self._task, self._clearing):
            if task is not None:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        self._task = self._clearing = None

    async def _listen(self) -> None:
        while True:
            try:
                connection = await self._database.dedicated()
            except DatabaseError:
                await asyncio.sleep(_RECONNECT)
                continue
            try:
                with translated():
                    await connection.add_listener(CHANNEL, self._heard)
                    await self._catch_up()
                    while not connection.is_closed():
                        await asyncio.sleep(_PING_EVERY)
                        await asyncio.wait_for(connection.execute("SELECT 1"), _PING_EVERY)
            except DatabaseError as error:
                _log.warning("wake_listener_lost", extra={"error": str(error)})
                await asyncio.sleep(_RECONNECT)
            finally:
                connection.terminate()

    async def _catch_up(self) -> None:
        """Whatever was said while nobody listened."""
        async with self._database.read() as connection:
            self._clear(await wrong_hints(connection))
        self._woken()

    def _clear(self, workspaces: Iterable[UUID]) -> None:
        self._hinted.update(dict.fromkeys(workspaces))
        if self._hinted and self._clearing is None:
            self._clearing = asyncio.get_running_loop().create_task(
                self._clear_hints(), name="riven-clear-hints"
            )

    async def _clear_hints(self) -> None:
        try:
            while self._hinted:
                hinted, self._hinted = list(self._hinted), {}
                async with self._database.read() as connection:
                    await connection.execute(_CLEAR_HINTS, hinted)
                self._woken()
        except DatabaseError as error:
            _log.warning("wake_up_lost", extra={"error": str(error)})
        finally:
            self._clearing = None

    def _heard(
        self,
        connection: "asyncpg.Connection[Any] | asyncpg.pool.PoolConnectionProxy[Any]",
        pid: int,
        channel: str,
        payload: object,
    ) -> None:
        del connection, pid, channel
        said = str(payload)
        if said.startswith(_WITHIN):
            self._clear(_ids(said.removeprefix(_WITHIN)))
        elif not said.startswith(self._own):
            self._woken()


def _ids(names: str) -> Iterator[UUID]:
    """Anybody may NOTIFY: what is no id is passed over."""
    for name in names.split(","):
        try:
            yield UUID(name)
        except ValueError:
            continue
