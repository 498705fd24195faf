import asyncio
import json
import os
import pwd
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO

import pytest
from tests.devstack.supervising import ROOT, as_root, on_linux

from riven.devstack.errors import LaunchError
from riven.devstack.launch import RunAs
from riven.devstack.program import ITSELF, how_it_ended, run_program, start_program

NAMESPACE = RunAs(way="namespace", uid=65534, gid=65534, enters=False)
PARENT = """
import signal, sys
from riven.devstack.program import start_program

program = start_program(["/bin/cat"], output=sys.stdout.buffer, input=sys.stdin.buffer, death_signal=signal.SIGTERM)
print(program.pid, flush=True)
signal.pause()
"""


def nobody(*, enters: bool = False) -> RunAs:
    entry = pwd.getpwnam("nobody")
    return RunAs(way="user", uid=entry.pw_uid, gid=entry.pw_gid, enters=enters)


async def output_of(*command: str, run_as: RunAs = ITSELF, reach: tuple[Path, ...] = ()) -> tuple[int, str]:
    with tempfile.TemporaryFile() as output:
        status = await run_program(command, output=output, run_as=run_as, reach=reach)
        output.seek(0)
        return status, output.read().decode()


@pytest.fixture
def private(tmp_path: Path) -> Path:
    """A file that all may read, in a directory that only its owner may enter."""
    (tmp_path / "private").mkdir(mode=0o700)
    path = tmp_path / "private" / "file"
    path.write_text("found", encoding="utf-8")
    path.chmod(0o644)
    return path


async def test_a_program_runs_and_tells_its_status() -> None:
    assert await output_of("/bin/sh", "-c", "echo out; echo err >&2; exit 3") == (3, "out\nerr\n")


async def test_a_program_sees_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=1")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    _, text = await output_of("/usr/bin/env")
    assert "PG" not in text
    assert "LC_ALL=C\n" in text


async def test_a_program_has_a_session_of_its_own_so_that_a_terminal_does_not_reach_it() -> None:
    with tempfile.TemporaryFile() as output:
        program = start_program(["/bin/sleep", "100"], output=output)
        assert os.getsid(program.pid) == program.pid != os.getsid(0)
        program.send(signal.SIGTERM)
        assert await program.wait() == -signal.SIGTERM


async def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(LaunchError, match=r"/no/such/program cannot be run \(No such file"):
        await output_of("/no/such/program")


async def test_a_cancelled_run_is_killed_with_its_children() -> None:
    with tempfile.NamedTemporaryFile("r") as pids:
        script = f"sleep 100 & echo $$ $! > {pids.name}; wait"
        run = asyncio.ensure_future(output_of("/bin/sh", "-c", script))
        while not (found := pids.read().split()):
            await asyncio.sleep(0.01)
            pids.seek(0)
        watched = [os.pidfd_open(int(pid)) for pid in found] if hasattr(os, "pidfd_open") else []
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        for descriptor in watched:
            await readable(descriptor)


async def readable(descriptor: int) -> None:
    """Of a pidfd: the process is gone."""
    loop = asyncio.get_running_loop()
    gone = loop.create_future()
    loop.add_reader(descriptor, gone.set_result, None)
    await gone
    loop.remove_reader(descriptor)
    os.close(descriptor)


@on_linux
async def test_in_a_namespace_a_program_is_another_user_and_still_enters_what_is_ours(private: Path) -> None:
    status, text = await output_of("/usr/bin/id", "-u", run_as=NAMESPACE)
    assert (status, text) == (0, "65534\n")
    assert await output_of("/bin/cat", str(private), run_as=NAMESPACE, reach=(private,)) == (0, "found")


@on_linux
async def test_what_a_program_writes_in_a_namespace_is_ours(tmp_path: Path) -> None:
    await output_of("/usr/bin/touch", str(tmp_path / "new"), run_as=NAMESPACE)
    assert (tmp_path / "new").stat().st_uid == os.geteuid()


@on_linux
async def test_a_namespace_gives_no_privileges() -> None:
    _, text = await output_of("/bin/grep", "CapEff", "/proc/self/status", run_as=NAMESPACE)
    assert int(text.split()[1], 16) == 0


@as_root
async def test_as_another_user_a_program_has_that_users_rights_and_the_obstacle_is_named(
    private: Path,
) -> None:
    private.parents[1].chmod(0o711)
    status, text = await output_of("/usr/bin/id", "-un", run_as=nobody())
    assert (status, text) == (0, "nobody\n")
    with pytest.raises(LaunchError, match=r"^/\S+ cannot be entered \(Permission denied\)$"):
        await output_of("/bin/cat", str(private), run_as=nobody(), reach=(private,))


@as_root
@on_linux
async def test_as_another_user_that_enters_a_program_passes_private_directories_and_may_no_more(
    private: Path,
) -> None:
    run_as = nobody(enters=True)
    assert await output_of("/bin/cat", str(private), run_as=run_as, reach=(private,)) == (0, "found")
    _, text = await output_of("/bin/grep", "CapEff", "/proc/self/status", run_as=run_as)
    assert int(text.split()[1], 16) in {1 << 1, 1 << 2}
    status, _ = await output_of("/bin/chown", "nobody", str(private), run_as=run_as)
    assert status != 0


@on_linux
@pytest.mark.parametrize("run_as", [ITSELF, NAMESPACE, "user", "user that enters"], ids=str)
def test_a_program_ends_with_the_process_that_started_it(run_as: RunAs | str) -> None:
    if isinstance(run_as, str):
        if os.geteuid() != 0:
            pytest.skip("only root can become somebody else")
        run_as = nobody(enters=run_as == "user that enters")
    script = PARENT.replace("death_signal", f"run_as={run_as!r}, death_signal")
    with subprocess.Popen(
        [sys.executable, "-c", script], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        pid = os.pidfd_open(int(parent.stdout.readline()))
        parent.kill()
        parent.wait()
        assert parent.stdout.read() == ""  # /bin/cat had the other end of this and of its input
        os.close(pid)


async def test_a_program_outlives_the_event_loop_it_was_started_in() -> None:
    def start_in_a_loop(output: IO[bytes]) -> int:
        async def start() -> int:
            return start_program(["/bin/sleep", "100"], output=output).pid

        return asyncio.run(start())

    with tempfile.TemporaryFile() as output:
        pid = await asyncio.to_thread(start_in_a_loop, output)
        os.kill(pid, signal.SIGKILL)


def test_the_end_of_a_program_is_told_in_words() -> None:
    assert how_it_ended(2) == "exit status 2"
    assert how_it_ended(-9) == "killed by SIGKILL"
    assert how_it_ended(-63) == "killed by signal 63"
    assert json.loads(json.dumps(ITSELF)) == ITSELF
