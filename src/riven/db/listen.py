"""Hear what other processes NOTIFY on channels, on a connection of its own, and notice when it has become deaf."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any

import asyncpg

from riven.db.engine import Database
from riven.db.errors import DatabaseError, DatabaseUnavailableError, translated

_RECONNECT = 1.0
_PING_EVERY = 10.0

_log = logging.getLogger("riven.db")


class Listener:
    """`connected` is called whenever listening begins: whatever was said before has been missed."""

    def __init__(
        self,
        database: Database,
        channels: Mapping[str, Callable[[str], None]],
        *,
        connected: Callable[[], None] = lambda: None,
    ) -> None:
        """`channels`: what is called with each word that is said on them. All share one connection."""
        self._database = database
        self._channels = channels
        self._connected = connected
        self._task: asyncio.Task[None] | None = None
        self.listening = asyncio.Event()

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(
                self._listen(), name=f"listen-{','.join(self._channels)}"
            )

    async def stop(self) -> None:
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _listen(self) -> None:
        while True:
            try:
                connection = await self._database.dedicated()
            except DatabaseError:
                await asyncio.sleep(_RECONNECT)
                continue
            try:
                with translated():
                    for channel in self._channels:
                        await connection.add_listener(channel, self._receive)
                    lost = asyncio.Event()
                    connection.add_termination_listener(lambda _, lost=lost: lost.set())
                    self.listening.set()
                    self._connected()
                    while not await _happens(lost, _PING_EVERY):
                        await asyncio.wait_for(connection.execute("SELECT 1"), _PING_EVERY)
                raise DatabaseUnavailableError("the connection was closed")
            except DatabaseError as error:
                _log.warning("listener_lost", extra={"channels": list(self._channels), "error": str(error)})
                await asyncio.sleep(_RECONNECT)
            finally:
                self.listening.clear()
                connection.terminate()

    def _receive(
        self,
        connection: "asyncpg.Connection[Any] | asyncpg.pool.PoolConnectionProxy[Any]",
        pid: int,
        channel: str,
        payload: object,
    ) -> None:
        del connection, pid
        self._channels[channel](str(payload))


class ChannelListener(Listener):
    """Hears one channel."""

    def __init__(
        self,
        database: Database,
        channel: str,
        *,
        heard: Callable[[str], None],
        connected: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(database, {channel: heard}, connected=connected)


async def _happens(event: asyncio.Event, within: float) -> bool:
    # not by `wait_for`, which swallows a cancellation that comes together with the event
    try:
        async with asyncio.timeout(within):
            await event.wait()
    except TimeoutError:
        return False
    return True
