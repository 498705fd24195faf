"""Kill everything while it writes, again and again: what was committed is there, and nothing is there twice."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

import asyncpg
import pytest
from tests.devstack.supervising import Supervisor, until

from riven.devstack.leftovers import servers_in

WRITERS = 4
GONE = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)

KILLS = {
    "supervisor and server": ["supervisor", "server"],
    "server, then supervisor": ["server", "supervisor"],
    "all processes": ["supervisor", "all"],
    "supervisor alone": ["supervisor"],
    "supervisor stopped first": ["stop supervisor", "server", "supervisor"],
}


async def grown_by(committed: list[tuple[int, int]], count: int) -> None:
    enough = len(committed) + count
    await until(lambda: len(committed) >= enough)


async def write(url: str, writer: int, first: int, committed: list[tuple[int, int]]) -> None:
    """Rows one by one, remembered once they are committed, until the server is gone."""
    connection = await asyncpg.connect(url)
    try:
        for number in range(first, sys.maxsize):
            await connection.execute("INSERT INTO written VALUES ($1, $2, $3)", writer, number, "x" * 500)
            committed.append((writer, number))
    except GONE:
        pass
    finally:
        connection.terminate()


async def rows(url: str) -> list[tuple[int, int]]:
    connection = await asyncpg.connect(url)
    try:
        return [tuple(row) for row in await connection.fetch("SELECT writer, number FROM written")]
    finally:
        await connection.close()


async def prepare(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(
        "CREATE TABLE written (writer int, number int, filling text, PRIMARY KEY (writer, number))"
    )
    await connection.close()


@pytest.mark.slow
async def test_kill_9_of_everything_under_load_loses_no_committed_row(own_directory: Path) -> None:
    committed: list[tuple[int, int]] = []
    url = ""
    for turn, steps in enumerate(KILLS.values()):
        with Supervisor(own_directory, durable=True) as supervisor:
            started = supervisor.started()
            assert not url or started["url"] == url
            url = started["url"]
            if turn == 0:
                await prepare(url)
            found = await rows(url)
            assert set(committed) <= set(found)
            assert (
                len(found) - len(committed) <= WRITERS * turn
            )  # a commit whose answer was lost, a writer and kill
            committed = found
            first = max((number for _, number in found), default=-1) + 1
            writers = [asyncio.ensure_future(write(url, n, first, committed)) for n in range(WRITERS)]
            await grown_by(committed, 200)
            for step in steps:
                match step:
                    case "supervisor":
                        supervisor.kill()
                    case "stop supervisor":
                        supervisor.process.send_signal(signal.SIGSTOP)
                    case "server":
                        os.kill(started["pid"], signal.SIGKILL)
                    case "all":
                        for pid in servers_in(own_directory / "data"):
                            with contextlib.suppress(ProcessLookupError):  # ended with the one before
                                os.kill(pid, signal.SIGKILL)
            await asyncio.gather(*writers)
            with Supervisor(
                own_directory, durable=True
            ) as next_one:  # while the last processes may still be ending
                found = await rows(next_one.started()["url"])
                assert set(committed) <= set(found)
                next_one.end()


@pytest.mark.slow
async def test_a_server_killed_alone_is_back_on_its_port_and_its_clients_with_it(own_directory: Path) -> None:
    committed: list[tuple[int, int]] = []
    with Supervisor(own_directory, durable=True) as supervisor:
        said = supervisor.started()
        await prepare(said["url"])
        for turn in range(3):
            writers = [
                asyncio.ensure_future(write(said["url"], n, turn * 10**6, committed)) for n in range(WRITERS)
            ]
            await grown_by(committed, 100)
            os.kill(said["pid"], signal.SIGKILL)
            await asyncio.gather(*writers)
            said = supervisor.said()
            assert said["died"] == "killed by SIGKILL"
        assert set(committed) <= set(await rows(said["url"]))
        supervisor.end()


@pytest.mark.slow
async def test_a_process_of_the_server_killed_alone_is_mended_by_the_server_itself(
    own_directory: Path,
) -> None:
    committed: list[tuple[int, int]] = []
    with Supervisor(own_directory, durable=True) as supervisor:
        said = supervisor.started()
        await prepare(said["url"])
        client = await asyncpg.connect(said["url"])
        writing = asyncio.ensure_future(write(said["url"], 0, 0, committed))
        await grown_by(committed, 50)
        os.kill(await client.fetchval("SELECT pg_backend_pid()"), signal.SIGKILL)
        await writing
        client.terminate()
        found = None
        while found is None:
            try:
                found = await rows(said["url"])
            except GONE:
                await asyncio.sleep(0.01)
        assert set(committed) <= set(found)
        assert said["pid"] in servers_in(own_directory / "data")
        supervisor.end()
