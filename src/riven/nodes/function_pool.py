"""Threads for plain functions: a bounded number, and none of them holds up the end of the process.

A thread cannot be stopped from outside. Whoever stops waiting for a call abandons it: the result is dropped when it
comes, and the thread counts against the bound until then. Threads are daemons, unlike those of the standard library's
executors, which the interpreter waits for on its way out. Calls that wait take turns by caller.
"""

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

from riven.nodes.fair_line import CALLER, FairLine

ResultT = TypeVar("ResultT")

DEFAULT_SIZE = 32


@dataclass(slots=True, eq=False)
class _Job:
    call: Callable[[], Any]
    context: contextvars.Context
    loop: asyncio.AbstractEventLoop
    answer: "asyncio.Future[tuple[Any, BaseException | None]]"
    running: bool = False
    abandoned: bool = False

    def perform(self) -> None:
        """In the pool's thread."""
        outcome: tuple[Any, BaseException | None]
        try:
            outcome = (self.context.run(self.call), None)
        except BaseException as error:  # noqa: BLE001 - also SystemExit: it is the caller's to judge, not the thread's
            outcome = (None, error)
        with contextlib.suppress(RuntimeError):  # the loop may have been closed: nobody waits any more
            self.loop.call_soon_threadsafe(self._deliver, outcome)

    def _deliver(self, outcome: tuple[Any, BaseException | None]) -> None:
        if not self.answer.done():
            self.answer.set_result(outcome)


class FunctionPool:
    """At most `size` calls at a time; further ones wait, in order and by turns of `fair_line.CALLER`.

    May be shared by several event loops.
    """

    def __init__(self, size: int = DEFAULT_SIZE) -> None:
        if size < 1:
            raise ValueError("a function pool needs at least one thread")
        self.size = size
        self._lock = threading.Lock()
        self._handed_over: SimpleQueue[_Job | None] = SimpleQueue()
        self._waiting: FairLine[_Job] = FairLine()
        self._busy = 0
        self._idle = 0
        self._abandoned = 0
        self._stopped = False

    @property
    def busy(self) -> int:
        """Threads that run a call, abandoned ones included."""
        return self._busy

    @property
    def abandoned(self) -> int:
        """Calls that nobody waits for any more but that have not ended."""
        return self._abandoned

    async def run(self, call: Callable[[], ResultT]) -> ResultT:
        """The result of `call` from a thread; what it raises is raised here. Cancelling abandons it."""
        loop = asyncio.get_running_loop()
        job = _Job(call, contextvars.copy_context(), loop, loop.create_future())
        with self._lock:
            if self._stopped:
                raise RuntimeError("the function pool has been stopped")
            if self._busy < self.size:
                self._start(job)
            else:
                self._waiting.push(CALLER.get(), job)
        try:
            value, error = await job.answer
        except asyncio.CancelledError:
            with self._lock:
                job.abandoned = True
                if job.running:
                    self._abandoned += 1
            raise
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]

    def stop(self) -> None:
        """Start nothing more. Threads end when their call does; stopping twice is safe."""
        with self._lock:
            self._stopped = True
            waiting, idle = self._waiting.clear(), self._idle
            self._idle = 0
        for _ in range(idle):
            self._handed_over.put(None)
        for job in waiting:
            job.loop.call_soon_threadsafe(job.answer.cancel)

    def _start(self, job: _Job) -> None:
        """With the lock held, and a place free."""
        if self._idle:
            self._idle -= 1
            self._handed_over.put(job)
        else:
            threading.Thread(target=self._work, args=(job,), name="riven-function", daemon=True).start()
        job.running = True
        self._busy += 1

    def _work(self, first: _Job) -> None:
        job: _Job | None = first
        while job is not None:
            job.perform()
            job, idle = self._next(job)
            if idle:
                job = self._handed_over.get()

    def _next(self, ended: _Job) -> tuple[_Job | None, bool]:
        """What this thread does now: a waiting call, or idling, or neither."""
        with self._lock:
            ended.running = False
            if ended.abandoned:
                self._abandoned -= 1
            while self._waiting:
                job = self._waiting.pop()
                if not job.abandoned:
                    job.running = True
                    return job, False
            self._busy -= 1
            if self._stopped:
                return None, False
            self._idle += 1
            return None, True
