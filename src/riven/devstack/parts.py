"""Parts of riven as processes of their own: started, watched, and started again when they die.

Each has a line to the supervisor as its standard input: over it the part says once that it does its work, and it ends
when the line breaks, so that none outlives the supervisor for long, however that ends. And each has a session of its
own, so that Ctrl-C in the terminal is the supervisor's alone, which lets them drain.
"""

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from riven.devstack.errors import DevstackError
from riven.devstack.program import how_it_ended
from riven.devstack.serverlog import ServerLog, reason_in

FIRST_DELAY = 0.2
LONGEST_DELAY = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a part is started."""

    name: str
    also: Sequence[str] = ()
    """Names of what else runs in the same process."""
    command: Sequence[str]
    environment: Mapping[str, str]
    descriptors: Sequence[int] = ()
    """Open files that it inherits, such as the socket that it serves."""
    log: ServerLog | None = None
    """Where its output goes; None: to where that of the supervisor goes."""


class PartFailedError(DevstackError):
    """A part ended before it did any work."""


class Parts:
    def __init__(self, changed: Callable[[], None], said: Callable[[str], None]) -> None:
        """`changed` is called when a part has been started, `said` with what happened, in a few words."""
        self._changed = changed
        self._said = said
        self._parts: dict[str, _Part] = {}
        self._stopping = asyncio.Event()

    @property
    def pids(self) -> dict[str, int]:
        """Of those that live, under each of their names."""
        return {
            name: part.process.pid
            for part in self._parts.values()
            if part.process is not None and part.process.returncode is None
            for name in (part.plan.name, *part.plan.also)
        }

    def start(self, plan: Plan) -> None:
        """Returns at once; `ready` tells what became of it."""
        part = self._parts[plan.name] = _Part(plan)
        part.watch = asyncio.get_running_loop().create_task(self._watch(part), name=f"watch {plan.name}")

    async def ready(self) -> None:
        """Returns when all that were started do their work. Raises PartFailedError when one of them ended instead."""
        await asyncio.gather(*(asyncio.shield(part.works) for part in self._parts.values()))

    async def stop(self, names: Iterable[str], deadline: float) -> None:
        """Ask these to end, and kill those that have not after `deadline` seconds. None is started again."""
        self._stopping.set()
        running = [part for name in names if (part := self._parts.get(name)) is not None and part.alive]
        for part in running:
            part.send(signal.SIGTERM)
        await _within(deadline, *(part.ended() for part in running))
        for part in running:
            if part.alive:
                self._said(f"{part.plan.name} did not end within {deadline:g} s and is killed")
                part.send(signal.SIGKILL)
                await part.ended()

    def hurry(self) -> None:
        """Whatever is being stopped shall wait for nothing any more."""
        for part in self._parts.values():
            part.send(signal.SIGTERM)

    async def close(self) -> None:
        """Whatever still runs is killed."""
        self._stopping.set()
        watches = [part.watch for part in self._parts.values() if part.watch is not None]
        for watch in watches:
            watch.cancel()
        await asyncio.gather(*watches, return_exceptions=True)
        for part in self._parts.values():
            if part.alive:
                part.send(signal.SIGKILL)
                await part.ended()
            part.hang_up()

    async def _watch(self, part: "_Part") -> None:
        delay = FIRST_DELAY
        while not self._stopping.is_set():
            try:
                await part.spawn()
            except OSError as error:
                how = f"it cannot be started: {error.strerror}"
            else:
                self._changed()
                listening = asyncio.ensure_future(part.listen())
                how = how_it_ended(await part.ended())
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)
            if self._stopping.is_set():
                return
            if not part.works.done():
                part.works.set_exception(
                    PartFailedError(f"{part.plan.name} does not start: {part.reason(how)}")
                )
                part.works.exception()  # it is told by `ready`, if anybody asks
                return
            if part.worked:  # it was not its start that failed
                delay = FIRST_DELAY
            self._said(f"{part.plan.name} ended ({how}) and is started again")
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST_DELAY)


class _Part:
    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.process: asyncio.subprocess.Process | None = None
        self.watch: asyncio.Task[None] | None = None
        self.worked = False
        """The process that was started last has said that it does its work."""
        self.works: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._line: socket.socket | None = None

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.returncode is None

    async def spawn(self) -> None:
        self.hang_up()
        self.worked = False
        plan = self.plan
        self._line, its_end = socket.socketpair()
        self._line.setblocking(False)  # noqa: FBT003 - it has no name
        with its_end, contextlib.ExitStack() as opened:
            output = None if plan.log is None else opened.enter_context(plan.log.open())
            self.process = await asyncio.create_subprocess_exec(
                *plan.command,
                env=dict(plan.environment),
                stdin=its_end.fileno(),
                stdout=output,
                stderr=None if output is None else subprocess.STDOUT,
                pass_fds=tuple(plan.descriptors),
                start_new_session=True,
            )

    async def listen(self) -> None:
        """Until it says that it does its work, or will never say so."""
        assert self._line is not None  # noqa: S101 - it was spawned
        with contextlib.suppress(OSError):
            self.worked = bool(await asyncio.get_running_loop().sock_recv(self._line, 1))
        if self.worked and not self.works.done():
            self.works.set_result(None)

    async def ended(self) -> int:
        assert self.process is not None  # noqa: S101 - it was spawned
        return await self.process.wait()

    def send(self, number: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.process.pid, number)

    def hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None

    def reason(self, how: str) -> str:
        """Why it ended: its own last words, if it had any."""
        lines = [] if self.plan.log is None else self.plan.log.new_lines()
        return reason_in(lines) if lines else how


async def _within(seconds: float, *waits: Awaitable[object]) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.gather(*waits), seconds)
