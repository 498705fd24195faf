"""A real HTTP server on loopback whose answers a test writes byte by byte, and an open door to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson

from riven.nodes.addresses import AddressPolicy
from riven.nodes.http_client import HttpClient, HttpLimits, Resolver
from riven.wire.document import Json


@dataclass(slots=True)
class Received:
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int
    """Counts from 0 in the order in which they were opened."""
    writer: asyncio.StreamWriter


Answer: TypeAlias = "bytes | Awaitable[bytes | None] | None"
"""None: the handler has written itself, and the connection is closed."""
Handler: TypeAlias = Callable[[Received], Answer]


@dataclass(slots=True)
class Server:
    port: int
    requests: list[Received] = field(default_factory=list)
    connections: int = 0
    open: int = 0
    closed: asyncio.Condition = field(default_factory=asyncio.Condition)
    tasks: set["asyncio.Task[None] | None"] = field(default_factory=set)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def url_of(self, host: str) -> str:
        return f"http://{host}:{self.port}"

    async def all_closed(self) -> None:
        """Waits until no connection is open."""
        async with self.closed:
            await self.closed.wait_for(lambda: self.open == 0)


def reply(
    status: int = 200,
    body: bytes | str | Json = b"",
    headers: Mapping[str, str] | Sequence[tuple[str, str]] = (),
) -> bytes:
    """A whole response; what is neither bytes nor text goes as JSON."""
    fields = list(headers.items()) if isinstance(headers, Mapping) else list(headers)
    if isinstance(body, str):
        body = body.encode()
    elif not isinstance(body, bytes):
        body = orjson.dumps(body)
        fields.append(("Content-Type", "application/json"))
    lines = [f"HTTP/1.1 {status} Words", *(f"{name}: {value}" for name, value in fields)]
    if not any(name.lower() in {"content-length", "transfer-encoding"} for name, _ in fields):
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


@asynccontextmanager
async def serving(handler: Handler, host: str = "127.0.0.1") -> AsyncIterator[Server]:
    server = Server(0)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.tasks.add(asyncio.current_task())
        number, server.connections, server.open = server.connections, server.connections + 1, server.open + 1
        try:
            while (request := await _read(reader, writer, number)) is not None:
                server.requests.append(request)
                answer = handler(request)
                raw = await answer if isinstance(answer, Awaitable) else answer
                if raw is None:
                    break
                writer.write(raw)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # the client has gone, or the test has ended
        finally:
            writer.close()
            server.open -= 1
            async with server.closed:
                server.closed.notify_all()

    listening = await asyncio.start_server(talk, host, 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        left = [task for task in server.tasks if task is not None and not task.done()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)


async def _read(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, number: int) -> Received | None:
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Received(method, target, headers, body, number, writer)


@dataclass(slots=True)
class ScriptedResolver:
    """Answers each look-up of a name with its next list of addresses; the last one stays."""

    names: dict[str, list[list[str]]]
    asked: list[str] = field(default_factory=list)

    async def __call__(self, host: str, port: int) -> Sequence[str]:  # noqa: ARG002 - the port's signature
        self.asked.append(host)
        answers = self.names[host]
        return answers.pop(0) if len(answers) > 1 else answers[0]


@asynccontextmanager
async def client(
    policy: AddressPolicy | None = None, limits: HttpLimits | None = None, resolver: Resolver | None = None
) -> AsyncIterator[HttpClient]:
    """A client that may reach loopback."""
    chosen = policy if policy is not None else AddressPolicy.own_machine()
    async with HttpClient(chosen, limits=limits, resolver=resolver) as opened:
        yield opened
