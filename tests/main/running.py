"""Processes of riven as operators start them, with what they log, signals, and functions that leave traces."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from riven.settings import child_environment

PATIENCE = 30.0
QUICK = {
    "RIVEN_LEASE_TTL": "1500ms",
    "RIVEN_DISPATCH_POLL_INTERVAL": "50ms",
    "RIVEN_STALE_SWEEP_INTERVAL": "200ms",
    "RIVEN_DRAIN_TIMEOUT": "10s",
}

FUNCTIONS = '''
"""Each call leaves a line in the file that DEEDS names."""

import asyncio
import os
import signal

from riven.authoring import function


def note(what: str) -> None:
    descriptor = os.open(os.environ["DEEDS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(descriptor, f"{what}\\n".encode())
    os.close(descriptor)


@function(name="test.deed")
async def deed(name: str, seconds: float = 0.0) -> str:
    note(f"begun {name}")
    await asyncio.sleep(seconds)
    note(f"done {name}")
    return name


@function(name="test.kill")
async def kill(after: float = 0.0) -> None:
    note("begun kill")
    await asyncio.sleep(after)
    os.kill(os.getpid(), signal.SIGKILL)


@function(name="test.until")
async def until(name: str, file: str) -> str:
    """Lasts until there is such a file."""
    note(f"begun {name}")
    while not os.path.exists(file):
        await asyncio.sleep(0.02)
    note(f"done {name}")
    return name
'''


class Running:
    """A process that was started, and the lines that it logs."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.lines: list[dict[str, Any]] = []
        self.output: list[str] = []
        self._more = asyncio.Event()
        self._reader = asyncio.create_task(self._read())

    @property
    def pid(self) -> int:
        return self.process.pid

    def events(self, name: str) -> list[dict[str, Any]]:
        return [line for line in self.lines if line.get("event") == name]

    async def logs(self, name: str, count: int = 1) -> list[dict[str, Any]]:
        """Wait until it has logged this event so often."""
        async with asyncio.timeout(PATIENCE):
            while len(self.events(name)) < count:
                assert not self._reader.done(), f"it ended without {name}: {self.output[-20:]}"
                self._more.clear()
                await self._more.wait()
        return self.events(name)

    def send(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    async def ended(self, patience: float = PATIENCE) -> int:
        async with asyncio.timeout(patience):
            await self._reader
            return await self.process.wait()

    async def end(self) -> None:
        if self.process.returncode is None:
            self.send(signal.SIGCONT)
            self.process.kill()
        await self.ended()

    async def _read(self) -> None:
        assert self.process.stderr is not None
        async for raw in self.process.stderr:
            text = raw.decode().rstrip("\n")
            self.output.append(text)
            if text.startswith("{"):
                self.lines.append(json.loads(text))
            self._more.set()
        self._more.set()


class Host:
    """Starts processes on one database; those that still live at the end are killed."""

    def __init__(self, url: str, directory: Path, before: Sequence[str] = ()) -> None:
        """`before`: what each command begins with, such as that it runs elsewhere."""
        self.url = url
        self._before = before
        self.directory = directory
        self.functions = directory / "deeds.py"
        self.functions.write_text(FUNCTIONS)
        self._deeds = directory / "deeds.txt"
        self.started: list[Running] = []

    @property
    def deeds(self) -> list[str]:
        return self._deeds.read_text().splitlines() if self._deeds.exists() else []

    async def start(self, *arguments: str, ready: bool = True, **settings: str) -> Running:
        """`settings` without their prefix. Returns when it does its work."""
        environment = {
            **{name: value for name, value in child_environment().items() if not name.startswith("RIVEN_")},
            **QUICK,
            "RIVEN_DATABASE_URL": self.url,
            "DEEDS": str(self._deeds),
            **{f"RIVEN_{name}": value for name, value in settings.items()},
        }
        process = await asyncio.create_subprocess_exec(
            *self._before, sys.executable, "-m", "riven.main.command", *arguments,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
            env=environment, limit=1 << 20,
        )  # fmt: skip
        running = Running(process)
        self.started.append(running)
        if ready:
            await running.logs("process_started")
        return running

    async def worker(self, **settings: str) -> Running:
        return await self.start("worker", "--functions", str(self.functions), **settings)

    async def maintenance(self, **settings: str) -> Running:
        return await self.start("maintenance", **settings)

    async def until_deed(self, deed: str) -> None:
        async with asyncio.timeout(PATIENCE):
            while deed not in self.deeds:  # noqa: ASYNC110 - another process does it
                await asyncio.sleep(0.01)


@asynccontextmanager
async def host(url: str, directory: Path, before: Sequence[str] = ()) -> AsyncIterator[Host]:
    made = Host(url, directory, before)
    try:
        yield made
    finally:
        for running in made.started:
            await running.end()


def fields(line: Mapping[str, Any], *names: str) -> tuple[Any, ...]:
    return tuple(line.get(name) for name in names)
