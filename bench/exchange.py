"""HTTP for the loader: as little CPU a request as Python allows, for it shares the machine with what it measures.

One connection a request under way, kept open for the next. Nothing is tried again: a failed request fails the run.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Mapping
from typing import Any, Self, cast
from urllib.parse import urlsplit

import httptools

KEPT = 2.0
"""Seconds for which an idle connection is used again; servers close theirs after some five, and a request that crosses
with that is lost."""


class ExchangeError(Exception):
    """The answer is not what was asked for, or there is none."""


class Exchange:
    """Requests to one address."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "", parts.port or 80
        given = {"Host": f"{self._host}:{self._port}", **(headers or {})}
        self._headers = "".join(f"{name}: {value}\r\n" for name, value in given.items()).encode()
        self._idle: list[_Connection] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for connection in self._idle:
            connection.close()

    async def ask(
        self, method: str, path: str, body: object = None, *, expect: tuple[int, ...] = (200,)
    ) -> Any:  # noqa: ANN401 - JSON
        """The JSON of the answer."""
        status, answer = await self.send(method, path, b"" if body is None else json.dumps(body).encode())
        if status not in expect:
            raise ExchangeError(f"{method} {path}: {status} {answer[:500].decode(errors='replace')}")
        return json.loads(answer) if answer else None

    async def send(self, method: str, path: str, body: bytes = b"") -> tuple[int, bytes]:
        """Status and body."""
        connection = await self._connection()
        answer = await connection.send(self._request(method, path, body))
        if connection.reusable:
            connection.idle_since = time.monotonic()
            self._idle.append(connection)
        return answer

    async def stream(self, path: str) -> AsyncIterator[bytes]:
        """What comes, as it comes; the connection is closed after it."""
        connection = await self._connection()
        try:
            async for part in connection.stream(self._request("GET", path, b"")):
                yield part
        finally:
            connection.close()

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        kind = b"Content-Type: application/json\r\n" if body else b""
        return b"%s %s HTTP/1.1\r\n%s%sContent-Length: %d\r\n\r\n%s" % (
            method.encode(),
            path.encode(),
            self._headers,
            kind,
            len(body),
            body,
        )

    async def _connection(self) -> "_Connection":
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable and time.monotonic() - connection.idle_since < KEPT:
                return connection
            connection.close()
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(_Connection, self._host, self._port))[1]


class _Connection(asyncio.Protocol):
    def __init__(self) -> None:
        self.reusable = False
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._arrived: asyncio.Queue[bytes | None] | None = None
        self._parts: list[bytes] = []
        self._parser = httptools.HttpResponseParser(self)

    async def send(self, request: bytes) -> tuple[int, bytes]:
        self._begin(request)
        self._answer = asyncio.get_running_loop().create_future()
        return await self._answer

    async def stream(self, request: bytes) -> AsyncIterator[bytes]:
        self._arrived = asyncio.Queue()
        self._begin(request)
        while (part := await self._arrived.get()) is not None:
            yield part

    def close(self) -> None:
        self.reusable = False
        if self._transport is not None:
            self._transport.close()

    def _begin(self, request: bytes) -> None:
        if self._transport is None:
            raise ExchangeError("the connection is not open")
        self._parser = httptools.HttpResponseParser(self)
        self._parts = []
        self._transport.write(request)

    # ---- called by the transport ----------------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport, self.reusable = cast(asyncio.Transport, transport), True  # uvloop's are none by name

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.reusable = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ExchangeError(f"the connection was lost: {exc}"))
        if self._arrived is not None:
            self._arrived.put_nowait(None)

    # ---- called by the parser -------------------------------------------------------------------------------------

    def on_body(self, part: bytes) -> None:
        if self._arrived is not None:
            self._arrived.put_nowait(part)
        else:
            self._parts.append(part)

    def on_message_complete(self) -> None:
        self.reusable = self.reusable and self._arrived is None and self._parser.should_keep_alive()
        if self._arrived is not None:
            self._arrived.put_nowait(None)
        elif self._answer is not None and not self._answer.done():
            self._answer.set_result((self._parser.get_status_code(), b"".join(self._parts)))
