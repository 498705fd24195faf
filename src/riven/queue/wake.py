"""Wake-ups: who makes something startable says so, after the commit; every claim loop hears it.

An announcement clears the hints of its workspaces and notifies the other processes, on a connection of its own: a
NOTIFY inside the transactions that do the work would put all their commits in one line. The first goes out at once,
later ones are gathered for 10 ms; one that fails is repeated, for the sake of the hints. Nothing depends on another
process hearing of it: the poll is behind it.

Who puts something in line in a transaction of his own (`notify_within`) cannot do anything after its commit, so whoever
hears of it clears the hints.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from riven.db.channels import read_ids
from riven.db.engine import Connection, Database
from riven.db.errors import DatabaseError
from riven.db.listen import Listener
from riven.db.statements import load
from riven.queue.recover import wrong_hints

CHANNEL = "riven_wake"
_GATHER = 0.010
_AGAIN = 1.0
"""Seconds after which what could not be said, or not be done about it, is tried again."""
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
        self._closing = False

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
                gathered, self._gathered = self._gathered, {}
                told = await self._tell(list(gathered))
                for listener in self._listeners:
                    listener()
                if told:
                    await asyncio.sleep(_GATHER)
                elif not self._closing:
                    self._gathered = gathered | self._gathered
                    await asyncio.sleep(_AGAIN)
        finally:
            self._task = None

    async def _tell(self, workspaces: list[UUID]) -> bool:
        names = ",".join(map(str, workspaces)) if len(workspaces) <= _PAYLOAD_IDS else "all"
        try:
            async with self._database.read() as connection:
                await connection.fetch(_ANNOUNCE, workspaces, f"{self._origin}:{names}")
        except DatabaseError as error:
            _log.warning("wake_up_lost", extra={"error": str(error)})
            return False
        return True

    async def close(self) -> None:
        """Say what is still to be said, once."""
        self._closing = True
        task = self._task
        if task is not None:
            await task
        self._closing = False


class WakeListener:
    """Hears the announcements of other processes; does for those who put something in line what they cannot do."""

    def __init__(self, database: Database, origin: UUID, woken: Callable[[], None]) -> None:
        self._database = database
        self._own = f"{origin}:"
        self._woken = woken
        self._listener = Listener(database, {CHANNEL: self._heard}, connected=self._connected)
        self._hinted: dict[UUID, None] = {}
        self._missed = False
        """Nobody listened for a while: whatever was said then is to be made up for."""
        self._clearing: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._listener.start()

    async def stop(self) -> None:
        await self._listener.stop()
        task, self._clearing = self._clearing, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def _connected(self) -> None:
        self._missed = True
        self._clear(())

    def _clear(self, workspaces: Iterable[UUID]) -> None:
        self._hinted.update(dict.fromkeys(workspaces))
        if (self._hinted or self._missed) and self._clearing is None:
            self._clearing = asyncio.get_running_loop().create_task(
                self._clear_hints(), name="riven-clear-hints"
            )

    async def _clear_hints(self) -> None:
        try:
            while self._hinted or self._missed:
                hinted, missed = self._hinted, self._missed
                self._hinted, self._missed = {}, False
                try:
                    async with self._database.read() as connection:
                        if missed:
                            hinted.update(dict.fromkeys(await wrong_hints(connection)))
                        await connection.execute(_CLEAR_HINTS, list(hinted))
                except DatabaseError as error:
                    _log.warning("wake_up_lost", extra={"error": str(error)})
                    self._hinted, self._missed = hinted | self._hinted, missed or self._missed
                    await asyncio.sleep(_AGAIN)
                self._woken()
        finally:
            self._clearing = None

    def _heard(self, said: str) -> None:
        if said.startswith(_WITHIN):
            self._clear(read_ids(said.removeprefix(_WITHIN)))
        elif not said.startswith(self._own):
            self._woken()
