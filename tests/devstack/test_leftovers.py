import asyncio
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest
from tests.devstack.supervising import Supervisor, on_linux, server_on

from riven.devstack import leftovers
from riven.devstack.errors import DirectoryBusyError
from riven.devstack.leftovers import (
    first_pid,
    kill_holders,
    servers_by_command,
    servers_in,
    stop_leftovers,
)


async def test_the_processes_of_a_server_are_found_by_where_they_stand(directory: Path) -> None:
    server = server_on(directory)
    assert servers_in(directory / "data") == []
    await server.start()
    found = servers_in(directory / "data")
    assert server.pid in found
    if sys.platform == "linux":
        assert len(found) > 3  # checkpointer, WAL writer and so on
    await server.stop()
    assert servers_in(directory / "data") == []


@pytest.mark.skipif(not Path("/bin/ps").exists(), reason="there is no ps")
async def test_the_first_process_of_a_server_is_found_by_its_command_line(directory: Path) -> None:
    server = server_on(directory)
    await server.start()
    assert servers_by_command(directory / "data") == [server.pid]
    assert servers_by_command(directory / "dat") == []
    assert servers_by_command(directory.parent) == []
    await server.stop()
    assert servers_by_command(directory / "data") == []


@on_linux
def test_whoever_has_a_file_open_is_killed_and_nobody_else(tmp_path: Path) -> None:
    (tmp_path / "ours").touch()
    (tmp_path / "other").touch()
    started = []
    for name in ("ours", "other"):
        with (tmp_path / name).open("rb") as file:
            started.append(subprocess.Popen(["/bin/sleep", "600"], stdin=file))
    holder, stranger = started
    try:
        os.kill(holder.pid, signal.SIGSTOP)
        with (tmp_path / "ours").open("rb"):
            assert kill_holders(tmp_path / "ours") == [holder.pid]
        assert holder.wait() == -signal.SIGKILL
        assert stranger.poll() is None
        assert kill_holders(tmp_path / "gone") == []
    finally:
        for process in started:
            process.kill()
            process.wait()


def test_other_programs_that_stand_there_are_left_alone(directory: Path) -> None:
    with subprocess.Popen(["/bin/cat"], cwd=directory / "data", stdin=subprocess.PIPE) as shell:
        assert servers_in(directory / "data") == []
        asyncio.run(stop_leftovers(directory / "data", lambda: True))
        assert shell.poll() is None
        shell.communicate()


async def test_a_pid_file_whose_pid_is_another_programs_by_now_is_not_in_the_way(directory: Path) -> None:
    (directory / "data" / "postmaster.pid").write_text(
        f"{os.getpid()}\n{directory}/data\n0\n", encoding="utf-8"
    )
    assert first_pid(directory / "data") == os.getpid()
    server = server_on(directory)
    await server.start()
    await server.stop()


@pytest.mark.slow
@pytest.mark.parametrize("text", ["", "-1\n", "x\n", "99999999999999999999\n", "\0\0\n"])
async def test_a_damaged_pid_file_is_not_in_the_way(directory: Path, text: str) -> None:
    (directory / "data" / "postmaster.pid").write_text(text, encoding="utf-8")
    server = server_on(directory)
    await server.start()
    await server.stop()


@pytest.mark.slow
async def test_a_server_that_somebody_started_by_hand_is_ended_first(directory: Path) -> None:
    other = server_on(directory)
    await other.start()
    other._directory.release()  # as if it were not ours
    said: list[str] = []
    server = server_on(directory, progress=said.append)
    await server.start()
    assert await other.wait() == "exit status 0"
    assert said == ["ending a server that was left running"]
    assert server.url == other.url
    await server.stop()


@on_linux
def test_a_server_whose_supervisor_was_killed_ends_by_itself_in_order(directory: Path) -> None:
    with Supervisor(directory) as supervisor:
        server = os.pidfd_open(supervisor.started()["pid"])
        supervisor.kill()
        select.select([server], [], [])
        os.close(server)
    assert "database system is shut down" in (directory / "postgres.log").read_text(encoding="utf-8")


@pytest.mark.slow
async def test_a_server_that_outlived_its_supervisor_is_ended_by_the_next(directory: Path) -> None:
    said: list[str] = []
    with Supervisor(
        directory, "thread"
    ) as supervisor:  # the kernel is not asked to end it with its supervisor
        started = supervisor.started()
        supervisor.kill()
        client = await asyncpg.connect(started["url"])
        server = server_on(directory, progress=said.append)
        await server.start()
        assert said == ["ending a server that was left running"]
        assert started["pid"] not in servers_in(directory / "data")
        assert server.url == started["url"]
        client.terminate()
        await server.stop()


@pytest.mark.slow
@on_linux
async def test_processes_that_outlived_their_server_are_ended_by_the_next(directory: Path) -> None:
    with Supervisor(directory, "thread") as supervisor:
        started = supervisor.started()
        client = await asyncpg.connect(started["url"])
        backend = await client.fetchval("SELECT pg_backend_pid()")
        os.kill(backend, signal.SIGSTOP)  # so that it cannot notice that its server is gone
        supervisor.kill()
        os.kill(started["pid"], signal.SIGKILL)
        server = server_on(directory)
        await server.start()
        assert backend not in servers_in(directory / "data")
        client.terminate()
        await server.stop()


async def test_a_server_that_cannot_be_found_is_waited_for_and_then_named_as_what_it_is(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "_STEPS", ((signal.SIGINT, signal.SIGTERM, 0.1),))
    with pytest.raises(DirectoryBusyError, match=r"still runs on .*another container or user"):
        await stop_leftovers(directory / "data", lambda: False)
    answers = iter([False, False, True])
    await stop_leftovers(directory / "data", lambda: next(answers))
