"""A way to PostgreSQL that can swallow one answer, or fall silent: nothing says that the other end is gone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit


class Proxy:
    """Once armed with some bytes, the first request that holds them gets no answer, and its connection breaks."""

    def __init__(self, host: str, port: int) -> None:
        self._host = host
        self._port = port
        self._marker: bytes | None = None
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.swallowed = 0
        self._silenced = 0
        self._connections = 0

    def fall_silent(self) -> None:
        """For whoever is connected now: what they say reaches nobody, and nothing breaks. New connections are well."""
        self._silenced = self._connections

    def swallow(self, marker: bytes) -> None:
        self._marker = marker

    async def start(self) -> int:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return int(self._server.sockets[0].getsockname()[1])

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream, downstream = await asyncio.open_connection(self._host, self._port)
        self._connections += 1
        number = self._connections
        answers = asyncio.create_task(self._answer(number, upstream, writer))
        try:
            while data := await reader.read(1 << 16):
                if number <= self._silenced:
                    continue
                if self._marker is not None and self._marker in data:
                    self._marker = None
                    answers.cancel()
                    await asyncio.gather(answers, return_exceptions=True)
                    downstream.write(data)
                    await upstream.read(1 << 16)  # the answer, and with it the commit
                    self.swallowed += 1
                    return
                downstream.write(data)
        finally:
            answers.cancel()
            for each in (writer, downstream):
                each.transport.abort()
            await asyncio.gather(answers, return_exceptions=True)

    async def _answer(
        self, number: int, upstream: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await upstream.read(1 << 16):
            if number > self._silenced:
                writer.write(data)
        writer.close()


@asynccontextmanager
async def proxied(database_url: str) -> AsyncIterator[tuple[Proxy, str]]:
    parts = urlsplit(database_url)
    assert parts.hostname is not None
    assert parts.port is not None
    proxy = Proxy(parts.hostname, parts.port)
    port = await proxy.start()
    try:
        netloc = f"{parts.netloc.rpartition(':')[0]}:{port}"
        yield proxy, parts._replace(netloc=netloc).geturl()
    finally:
        await proxy.stop()
