"""Parts: started, watched, started again; asked to end, or killed; none outlives its supervisor."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.devstack.supervising import ROOT, until

from riven.devstack.parts import FIRST_DELAY, PartFailedError, Parts, Plan
from riven.devstack.serverlog import ServerLog


class Seen:
    def __init__(self) -> None:
        self.changes: asyncio.Queue[dict[str, int]] = asyncio.Queue()
        self.said: list[str] = []
        self.parts = Parts(lambda: self.changes.put_nowait(self.parts.pids), self.said.append)


@asynccontextmanager
async def supervised() -> AsyncIterator[Seen]:
    seen = Seen()
    try:
        yield seen
    finally:
        await seen.parts.close()


def plan(directory: Path, what: str, name: str = "part", **more: object) -> Plan:
    environment = {"PYTHONPATH": f"{ROOT}"}
    command = (sys.executable, "-m", "tests.devstack.part", str(directory), what)
    return Plan(
        name=name, command=command, environment=environment, log=ServerLog(directory / f"{name}.log"), **more
    )  # type: ignore[arg-type]


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_a_part_is_ready_when_it_says_so(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "works"))
        await seen.parts.ready()
        [pid] = seen.parts.pids.values()
        assert (tmp_path / f"begun-{pid}").exists()


async def test_a_part_that_says_nothing_is_not_ready(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "mute"))
        pids = await seen.changes.get()
        await until((tmp_path / f"begun-{pids['part']}").exists)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(seen.parts.ready(), 0.05)


async def test_parts_in_one_process_share_its_pid(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "works", "api", also=("maintenance",)))
        pids = await seen.changes.get()
        assert list(pids) == ["api", "maintenance"]
        assert len(set(pids.values())) == 1


async def test_a_part_that_is_killed_is_started_again(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "works"))
        await seen.parts.ready()
        first = (await seen.changes.get())["part"]
        os.kill(first, signal.SIGKILL)
        second = (await seen.changes.get())["part"]
        assert second != first
        assert seen.said == ["part ended (killed by SIGKILL) and is started again"]


@pytest.mark.slow
async def test_a_part_that_has_worked_is_always_started_again_soon(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "works"))
        await seen.parts.ready()
        pid = (await seen.changes.get())["part"]
        for _ in range(6):
            os.kill(pid, signal.SIGKILL)
            pid = (await asyncio.wait_for(seen.changes.get(), 10 * FIRST_DELAY))["part"]
            await until((tmp_path / f"begun-{pid}").exists)
            await until(lambda: seen.parts._parts["part"].worked)


async def test_a_part_that_never_works_is_no_start_and_says_why(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "works", "good"))
        seen.parts.start(plan(tmp_path, "fails", "bad"))
        with pytest.raises(PartFailedError, match=r"^bad does not start: it lacks an arm$"):
            await seen.parts.ready()


async def test_the_status_is_told_of_a_part_without_last_words(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "silent"))
        with pytest.raises(PartFailedError, match="exit status 4"):
            await seen.parts.ready()


async def test_a_program_that_is_not_there_is_no_start(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(Plan(name="part", command=(str(tmp_path / "gone"),), environment={}))
        with pytest.raises(PartFailedError, match="No such file"):
            await seen.parts.ready()


async def test_a_part_that_is_asked_to_end_does_so_and_stays_away(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "works"))
        await seen.parts.ready()
        await seen.parts.stop(["part", "unknown"], deadline=10)
        assert (tmp_path / "ended").exists()
        assert seen.parts.pids == {}
        assert seen.said == []


async def test_a_part_that_does_not_hear_is_killed(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "deaf"))
        await seen.parts.ready()
        [pid] = seen.parts.pids.values()
        await seen.parts.stop(["part"], deadline=0.1)
        assert not lives(pid)
        assert seen.said == ["part did not end within 0.1 s and is killed"]


async def test_closing_leaves_nothing_running(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "works"))
        await seen.parts.ready()
        [pid] = seen.parts.pids.values()
    assert not lives(pid)


async def test_its_output_goes_into_its_log(tmp_path: Path) -> None:
    async with supervised() as seen:
        seen.parts.start(plan(tmp_path, "fails"))
        with pytest.raises(PartFailedError):
            await seen.parts.ready()
    assert (tmp_path / "part.log").read_text(encoding="utf-8") == "something before\nERROR: it lacks an arm\n"


@pytest.mark.slow
def test_a_part_ends_when_its_supervisor_is_killed(tmp_path: Path) -> None:
    program = f"""
import asyncio, os
from pathlib import Path
from tests.devstack.test_parts import Seen, plan
async def main():
    seen = Seen()
    seen.parts.start(plan(Path({str(tmp_path)!r}), "works"))
    await seen.parts.ready()
    print(seen.parts.pids["part"], flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
    supervisor = subprocess.Popen(
        [sys.executable, "-c", program], cwd=ROOT, stdout=subprocess.PIPE, text=True
    )
    with supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())
        assert lives(pid)
        supervisor.kill()
    asyncio.run(asyncio.wait_for(until((tmp_path / "ended").exists), 10))
