"""Parts of riven as processes of their own: started, watched, and started again when they die.

A part stops when its standard input closes, so that none outlives the supervisor, however that ends; and each has a
session of its own, so that Ctrl-C in the terminal is the supervisor's alone, which lets them drain.
"""

import asyncio
import contextlib
import os
import signal
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

FIRST_DELAY = 0.2
LONGEST_DELAY = 5.0
_STEADY = 10.0
"""Seconds after which a part that dies is started again at once: it was not its start that failed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How a part is started."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str]
    descriptors: Sequence[int] = ()
    """Open files that it inherits, such as the socket that it serves."""


class Parts:
    def __init__(self, changed: Callable[[], None], said: Callable[[str], None]) -> None:
        """`changed` is called when a part has started, `said` with what happened, in a few words."""
        self._changed = changed
        self._said = said
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._watches: dict[str, asyncio.Task[None]] = {}
        self._stopping = False

    @property
    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self._processes.items() if process.returncode is None}

    async def start(self, plan: Plan) -> None:
        await self._spawn(plan)
        self._watches[plan.name] = asyncio.get_running_loop().create_task(self._watch(plan))

    async def _spawn(self, plan: Plan) -> None:
        if self._stopping:
            return
        self._processes[plan.name] = await asyncio.create_subprocess_exec(
            *plan.arguments,
            env=dict(plan.environment),
            stdin=asyncio.subprocess.PIPE,
            pass_fds=tuple(plan.descriptors),
            start_new_session=True,
        )
        self._changed()

    async def _watch(self, plan: Plan) -> None:
        delay = FIRST_DELAY
        while True:
            begun = time.monotonic()
            status = await self._processes[plan.name].wait()
            if self._stopping:
                return
            if time.monotonic() - begun > _STEADY:
                delay = FIRST_DELAY
            self._said(f"{plan.name} ended ({how_it_ended(status)}); it is started again")
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST_DELAY)
            await self._spawn(plan)

    async def stop(self, names: Sequence[str], deadline: float) -> None:
        """Ask these parts to end, and end those that have not after `deadline` seconds."""
        self._stopping = True
        processes = [self._processes[name] for name in names if name in self._processes]
        for process in processes:
            _send(process, signal.SIGTERM)
        await _within(deadline, *(process.wait() for process in processes))
        for name, process in zip(names, processes, strict=False):
            if process.returncode is None:
                self._said(f"{name} did not end within {deadline:g} s and is killed")
                _send(process, signal.SIGKILL)
                await process.wait()

    async def close(self) -> None:
        """After everything was stopped."""
        self._stopping = True
        for watch in self._watches.values():
            watch.cancel()
        await asyncio.gather(*self._watches.values(), return_exceptions=True)


def how_it_ended(status: int) -> str:
    return f"killed by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}"


def _send(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, number)


async def _within(seconds: float, *waits: Awaitable[object]) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*waits), seconds)
