"""One process: its log, its event loop, its signals, and the parts that it is made of.

SIGTERM or SIGINT: every part takes nothing new, finishes what ends in time, gives back the rest; the process exits 0. A
second one ends the waiting. A part that ends by itself ends the process with 1: whoever watches it starts it anew.
"""

import asyncio
import contextlib
import gc
import importlib.metadata
import logging
import signal
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

import uvloop

from riven.main.watched import tell_supervisor, watch_supervisor
from riven.settings import Settings
from riven.telemetry.crashpoints import arm

DONE, BROKEN = 0, 1

_log = logging.getLogger("riven.process")


class Part(Protocol):
    """What a process does; several of them may share one."""

    ready: asyncio.Event
    """It does its work."""

    async def start(self) -> None:
        """Returns soon, also when the database is away. Raises what ends the process."""

    async def wait(self) -> None:
        """Returns or raises only when it ended by itself."""

    async def stop(self, deadline: float) -> None:
        """Within about `deadline` seconds; `hurry` shortens it."""

    def hurry(self) -> None:
        """Wait for nothing any more."""


Build: TypeAlias = Callable[[], Sequence[Part]]
"""Makes the parts, inside the event loop."""


class Stop:
    """What signals ask for."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()

    def ask(self) -> None:
        if self.asked.is_set():
            self.at_once.set()
        self.asked.set()


def run_process(role: str, settings: Settings, build: Build, *, watched: bool = False) -> int:
    """Until it is asked to end; answers the exit code. `build` is called inside the event loop.

    `watched`: a supervisor holds the other end of the standard input; see `watched`.
    """
    if settings.test_crash_at is not None:
        arm(*settings.test_crash_at)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_serve(role, settings, build, watched=watched))


async def _serve(role: str, settings: Settings, build: Build, *, watched: bool) -> int:
    stop = Stop()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.ask)
    if watched:
        watch_supervisor()
    started: list[Part] = []
    broken: list[str] = []
    watchers: list[asyncio.Task[None]] = []
    try:
        for part in build():
            started.append(part)
            await part.start()
            watchers.append(loop.create_task(_watch(part, stop, broken), name="riven-watch"))
        watchers.append(
            loop.create_task(_tell_when_ready(role, started, watched=watched), name="riven-ready")
        )
        # What exists now lives as long as the process: no search for garbage looks at it again.
        gc.collect()
        gc.freeze()
        await stop.asked.wait()
        _log.info("process_stopping", extra={"role": role})
    finally:
        for watcher in watchers:
            watcher.cancel()
        await _stop(started, stop, settings.drain_timeout)
    _log.info("process_stopped", extra={"role": role})
    return BROKEN if broken else DONE


async def _tell_when_ready(role: str, parts: Sequence[Part], *, watched: bool) -> None:
    for part in parts:
        await part.ready.wait()
    _log.info("process_started", extra={"role": role, "version": importlib.metadata.version("riven")})
    if watched:
        tell_supervisor()


async def _watch(part: Part, stop: Stop, broken: list[str]) -> None:
    try:
        await part.wait()
    except Exception as error:  # noqa: BLE001 - whatever it is, the process ends in order and says so
        _log.exception("process_broke", extra={"error": str(error)})
    broken.append(type(part).__name__)
    stop.ask()


async def _stop(parts: Sequence[Part], stop: Stop, deadline: float) -> None:
    """All at once: each has the whole time."""

    async def hurry() -> None:
        await stop.at_once.wait()
        for part in parts:
            part.hurry()

    hurrying = asyncio.get_running_loop().create_task(hurry(), name="riven-hurry")
    try:
        for done in await asyncio.gather(*[part.stop(deadline) for part in parts], return_exceptions=True):
            if isinstance(done, Exception):
                _log.error("process_broke", extra={"error": str(done)}, exc_info=done)
    finally:
        hurrying.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await hurrying
