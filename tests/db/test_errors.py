"""What PostgreSQL says, as everybody outside `db` sees it."""

import asyncio
from urllib.parse import urlsplit

import pytest

from riven.db.engine import Database
from riven.db.errors import DatabaseUnavailableError

GOODBYE = b"".join(
    [b"SFATAL\0", b"VFATAL\0", b"C57P01\0", b"Mterminating connection due to administrator command\0", b"\0"]
)
"""What a server that is being stopped says to a connection that asks for nothing."""


class Farewell:
    """Stands between; says goodbye in the server's name, and leaves the connection open for a while."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._target = parts.hostname, parts.port
        self._url = parts
        self._clients: list[asyncio.StreamWriter] = []
        self._tasks: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "Farewell":
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        credentials, _, _ = self._url.netloc.rpartition("@")
        self.url = self._url._replace(netloc=f"{credentials}@127.0.0.1:{port}").geturl()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.hang_up()

    def say(self) -> None:
        for client in self._clients:
            client.write(b"E" + (len(GOODBYE) + 4).to_bytes(4, "big") + GOODBYE)

    def hang_up(self) -> None:
        for client in self._clients:
            client.transport.abort()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._clients.append(writer)
        self._tasks.append(asyncio.create_task(self._forward(reader, writer)))

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = self._target
        server_reader, server_writer = await asyncio.open_connection(host, port)
        try:
            await asyncio.gather(_copy(reader, server_writer), _copy(server_reader, writer))
        finally:
            server_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)


async def test_a_connection_that_the_server_is_about_to_end_is_one_that_is_away(database_url):
    other = Database(database_url)
    async with Farewell(database_url) as between:
        database = Database(between.url)
        async with database.read() as connection:
            assert await connection.fetch_value("SELECT 1") == 1
            between.say()
            async with other.read() as elsewhere:
                for _ in range(20):  # by then it has been heard
                    await elsewhere.fetch_value("SELECT 1")
            with pytest.raises(DatabaseUnavailableError, match="cannot switch to state"):
                await connection.fetch_value("SELECT 1")
            between.hang_up()
    await database.close()
    await other.close()
