"""The loader's HTTP against a server of the standard library's streams."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from bench.exchange import Exchange, ExchangeError

Answer = Callable[[bytes, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def server(answer: Answer) -> AsyncIterator[tuple[str, list[bytes]]]:
    """Its address, and the first lines of what it was asked, by connection."""
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("peername")[1]
        while head := await reader.readline():
            length = 0
            while (line := await reader.readline()) != b"\r\n":
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split()[1])
            body = await reader.readexactly(length)
            asked.append(b"%d %s" % (port, head.strip()))
            await answer(body, writer)
            await writer.drain()
            if writer.is_closing():
                break
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        host, port = listening.sockets[0].getsockname()[:2]
        yield f"http://{host}:{port}", asked


async def echo(body: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))


async def hang_up(_: bytes, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def two_parts(_: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n")
    await writer.drain()
    writer.write(b"3\r\ntwo\r\n0\r\n\r\n")


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(work(), 20))  # type: ignore[arg-type]


def test_one_connection_serves_requests_that_follow_each_other() -> None:
    async def work() -> None:
        async with server(echo) as (url, asked), Exchange(url) as exchange:
            assert await exchange.ask("POST", "/a", {"x": 1}) == {"x": 1}
            assert await exchange.ask("POST", "/b", [2]) == [2]
            assert [line.split(b" ", 1)[1] for line in asked] == [b"POST /a HTTP/1.1", b"POST /b HTTP/1.1"]
            assert len({line.split()[0] for line in asked}) == 1

    run(work)


def test_a_connection_that_was_idle_for_long_is_not_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def work() -> None:
        async with server(echo) as (url, asked), Exchange(url) as exchange:
            await exchange.ask("POST", "/", 1)
            monkeypatch.setattr("bench.exchange.KEPT", 0.0)
            await exchange.ask("POST", "/", 2)
            assert len({line.split()[0] for line in asked}) == 2

    run(work)


def test_requests_at_once_have_connections_of_their_own() -> None:
    async def work() -> None:
        async with server(echo) as (url, asked), Exchange(url) as exchange:
            answers = await asyncio.gather(*(exchange.ask("POST", "/", number) for number in range(1, 6)))
            assert answers == [1, 2, 3, 4, 5]
            assert len({line.split()[0] for line in asked}) == 5

    run(work)


def test_an_unwanted_status_and_a_lost_connection_are_errors() -> None:
    async def work() -> None:
        async with server(echo) as (url, _), Exchange(url) as exchange:
            with pytest.raises(ExchangeError, match="GET /: 200"):
                await exchange.ask("GET", "/", expect=(201,))
        async with server(hang_up) as (url, _), Exchange(url) as exchange:
            with pytest.raises(ExchangeError, match="lost"):
                await exchange.ask("GET", "/")

    run(work)


def test_a_stream_comes_in_parts_and_ends() -> None:
    async def work() -> None:
        async with server(two_parts) as (url, _), Exchange(url) as exchange:
            parts = [part async for part in exchange.stream("/events")]
            assert b"".join(parts) == b"onetwo"

    run(work)
