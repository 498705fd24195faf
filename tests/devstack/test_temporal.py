"""The Temporal server out of its wheel: started, killed, found again, never two on one directory."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from tests.devstack.supervising import on_linux, until
from tests.fixtures_temporal import FORGETFUL

from riven.devstack import temporal
from riven.devstack.errors import DirectoryBusyError, MissingServerError, ServerFailedError
from riven.devstack.temporal import EmbeddedTemporal, find_binary, servers_on
from riven.lifecycle import Lifecycle

pytestmark = pytest.mark.slow


def server_on(directory: Path, **options: object) -> EmbeddedTemporal:
    return EmbeddedTemporal(directory, **{"pragmas": FORGETFUL, **options})  # type: ignore[arg-type]


@asynccontextmanager
async def running(directory: Path, **options: object) -> AsyncIterator[EmbeddedTemporal]:
    server = server_on(directory, **options)
    await server.start()
    try:
        yield server
    finally:
        await server.stop(deadline=0)


async def temporal_cli(server: EmbeddedTemporal, *arguments: str) -> str:
    """Temporal's own command line, as people use it."""
    process = await asyncio.create_subprocess_exec(
        find_binary(), *arguments, "--address", server.address, "--output", "json",
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={},
    )  # fmt: skip
    output, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()
    return output.decode()


async def status_of(server: EmbeddedTemporal, workflow: str) -> str:
    described = json.loads(await temporal_cli(server, "workflow", "describe", "-w", workflow))
    return str(described["workflowExecutionInfo"]["status"])


async def start_workflow(server: EmbeddedTemporal, workflow: str) -> None:
    await temporal_cli(server, "workflow", "start", "--type", "t", "--task-queue", "nobody", "-w", workflow)


async def test_it_answers_on_loopback_alone_and_leaves_nothing(tmp_path: Path) -> None:
    server: Lifecycle = server_on(tmp_path / "new")
    assert isinstance(server, EmbeddedTemporal)
    assert not server.started
    await server.start()
    await server.start()  # a second time changes nothing
    assert server.started
    try:
        assert servers_on(server.database) == [server.pid]
        async with httpx.AsyncClient(trust_env=False) as client:
            assert (await client.get(server.ui_url)).status_code == 200
        assert "default" in await temporal_cli(server, "operator", "namespace", "list")
        if sys.platform == "linux":
            assert listening(server.pid)
            assert {address for address, _ in listening(server.pid)} == {"127.0.0.1"}
    finally:
        pid = server.pid
        await server.stop()
        await server.stop()
    assert servers_on(server.database) == []
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def listening(pid: int) -> list[tuple[str, int]]:
    """On which addresses and ports a process listens."""
    sockets = {str(each.readlink()) for each in Path(f"/proc/{pid}/fd").iterdir()}
    found = []
    for line in [
        *Path("/proc/net/tcp").read_text().splitlines()[1:],
        *Path("/proc/net/tcp6").read_text().splitlines()[1:],
    ]:
        parts = line.split()
        if parts[3] == "0A" and f"socket:[{parts[9]}]" in sockets:
            address, port = parts[1].split(":")
            family = socket.AF_INET if len(address) == 8 else socket.AF_INET6
            found.append((socket.inet_ntop(family, bytes.fromhex(address)[::-1]), int(port, 16)))
    return found


async def test_a_kill_loses_nothing_and_the_addresses_stay(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        address, ui_url = server.address, server.ui_url
        for turn in range(3):
            await start_workflow(server, f"w{turn}")
            os.kill(server.pid, signal.SIGKILL)
            assert await server.wait() == "killed by SIGKILL"
            assert not server.started
            await server.start()
            assert (server.address, server.ui_url) == (address, ui_url)
            for each in range(turn + 1):
                assert await status_of(server, f"w{each}") == "WORKFLOW_EXECUTION_STATUS_RUNNING"
    async with running(tmp_path) as again:
        assert (again.address, again.ui_url) == (address, ui_url)
        assert await status_of(again, "w0") == "WORKFLOW_EXECUTION_STATUS_RUNNING"


async def test_a_second_one_on_the_directory_says_so(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        code = (
            "import asyncio, sys; from pathlib import Path; from riven.devstack.temporal import EmbeddedTemporal; "
            "asyncio.run(EmbeddedTemporal(Path(sys.argv[1])).start())"
        )
        second = await asyncio.create_subprocess_exec(
            sys.executable, "-c", code, str(tmp_path), stderr=subprocess.PIPE
        )
        _, errors = await second.communicate()
        assert second.returncode != 0
        assert f"is in use by process {os.getpid()}" in errors.decode()
        assert server.started


async def test_a_server_that_was_left_running_is_ended_by_the_next_start(tmp_path: Path) -> None:
    """Started by a thread, as where no kernel ends it with riven; then nobody owns it any more."""
    left = server_on(tmp_path)
    starting = threading.Thread(target=lambda: asyncio.run(left.start()))
    starting.start()
    await asyncio.to_thread(starting.join)
    await start_workflow(left, "w")
    pid = left.pid
    left._directory.release()
    async with running(tmp_path) as server:
        assert server.pid != pid
        assert servers_on(server.database) == [server.pid]
        assert await status_of(server, "w") == "WORKFLOW_EXECUTION_STATUS_RUNNING"


async def test_a_server_that_cannot_be_ended_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(temporal, "_LEFTOVERS", ((signal.SIGURG, 0.1),))  # which it does not mind
    async with running(tmp_path) as server:
        with pytest.raises(DirectoryBusyError, match=f"end process {server.pid} first"):
            await temporal.end_leftovers(server.database, lambda: False)


@on_linux
async def test_it_ends_with_riven(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from riven.devstack.temporal import EmbeddedTemporal\n"
        "async def main():\n"
        "    server = EmbeddedTemporal(Path(sys.argv[1]))\n"
        "    await server.start()\n"
        "    print(server.pid, flush=True)\n"
        "    await server.wait()\n"
        "asyncio.run(main())"
    )
    riven = await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, str(tmp_path), stdout=subprocess.PIPE
    )
    assert riven.stdout is not None
    pid = int(await riven.stdout.readline())
    riven.kill()
    await riven.wait()
    await until(lambda: servers_on(tmp_path / "temporal.db") == [])
    assert pid > 0


async def test_a_namespace_of_one_s_own_is_made(tmp_path: Path) -> None:
    async with running(tmp_path, namespace="orders") as server:
        assert '"orders"' in await temporal_cli(server, "operator", "namespace", "list")


async def test_a_port_that_is_taken_since_is_said_and_a_new_start_takes_another(tmp_path: Path) -> None:
    async with running(tmp_path) as server:
        port = int(server.address.rpartition(":")[2])
        os.kill(server.pid, signal.SIGKILL)
        await server.wait()
        with socket.create_server(("127.0.0.1", port)):
            with pytest.raises(Exception, match=f"port {port} on 127.0.0.1 is taken"):
                await server.start()
            async with running(tmp_path) as other:
                assert other.address != server.address


async def test_a_damaged_file_is_said(tmp_path: Path) -> None:
    (tmp_path / "temporal.db").write_bytes(b"this is no database" * 1000)
    server = server_on(tmp_path)
    with pytest.raises(ServerFailedError, match=r"not a database.*temporal\.log"):
        await server.start()
    assert servers_on(server.database) == []


def test_without_the_wheel_it_says_how_to_get_it() -> None:
    with pytest.raises(MissingServerError, match=r"riven\[embedded\].*RIVEN_TEMPORAL_ADDRESS"):
        find_binary("temporal-bin-that-is-not-there")
