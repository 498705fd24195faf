"""A server that answers as it is told, one answer after the other, and remembers what it was asked."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

HANG_UP = b""
"""No answer at all: the connection breaks off."""


@dataclass(frozen=True, slots=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(slots=True)
class Scripted:
    answers: list[bytes]
    asked: list[Asked] = field(default_factory=list)
    url: str = ""
    connections: set["asyncio.Task[None]"] = field(default_factory=set)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.connections.add(task)
        try:
            try:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            except asyncio.IncompleteReadError:
                return  # it connected and then thought better of it
            first, *lines = head.strip().split("\r\n")
            method, path, _ = first.split(" ")
            headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            self.asked.append(Asked(method, path, headers, body))
            writer.write(self.answers.pop(0))
            await writer.drain()
        finally:
            writer.close()


def answer(status: int, value: Any = None, **headers: str) -> bytes:  # noqa: ANN401 - JSON
    return raw(status, json.dumps(value).encode(), **headers)


def problem(status: int, detail: str, **headers: str) -> bytes:
    return answer(
        status, {"type": "/problems/x", "title": "No", "status": status, "detail": detail}, **headers
    )


def raw(status: int, body: bytes, **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Said", "Connection: close", f"Content-Length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


def stream(*events: str) -> bytes:
    """A stream of events that ends, orderly or not, after these."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    return (head + "".join(events)).encode()


def event(kind: str, number: int, data: Any) -> str:  # noqa: ANN401 - JSON
    return f"event: {kind}\nid: {number}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


@asynccontextmanager
async def scripted(answers: Sequence[bytes]) -> AsyncIterator[Scripted]:
    script = Scripted(list(answers))
    server = await asyncio.start_server(script.serve, "127.0.0.1", 0)
    script.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    async with server:
        yield script
        await asyncio.gather(*script.connections)
    assert script.answers == [], "not all answers were asked for"
