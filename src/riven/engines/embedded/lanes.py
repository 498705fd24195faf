"""Bounded concurrency without a task for each attempt.

A lane is a task that takes jobs from one line, oldest first, until nothing is in line. As long as jobs end without
waiting for anything, one lane does them all, one after the other; only when a job waits does the next lane go on with
the line. So true parallelism costs tasks, and nothing else does. Workspaces take turns as soon as several are in line.
"""

import asyncio
import logging
from collections.abc import Hashable
from typing import Protocol

from riven.nodes.fair_line import FairLine

_log = logging.getLogger("riven.engine")

_TURNS = 100
"""Jobs that a lane does before it lets others have the event loop."""

_LAST_ROUNDS = 10
"""Turns of the event loop that canceled lanes get to clean up."""


class Job(Protocol):
    abandoned: bool
    """Given up by whoever waited for it: its lane is no longer counted."""
    caller: Hashable
    """Whose turn it takes: its workspace."""

    async def perform(self) -> None:
        """Raises nothing but CancelledError, when its lane is to end."""


class Lanes:
    """At most `limit` jobs are under way at a time; belongs to one event loop."""

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError("at least one node must be able to run at a time")
        self.limit = limit
        self._line: FairLine[Job] = FairLine()
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._counted = 0
        self._looking = False
        """A lane is about to look at the line."""
        self._closed = False

    @property
    def waiting(self) -> int:
        return len(self._line)

    @property
    def open(self) -> int:
        """Lanes that exist and count against the limit."""
        return self._counted

    def submit(self, job: Job) -> None:
        self._line.push(job.caller, job)
        self._open_lane()

    def abandon(self, job: Job) -> None:
        """Nobody waits for this job any more, though it does not end: let another lane have its place."""
        job.abandoned = True
        self._counted -= 1
        self._open_lane()

    async def close(self) -> None:
        """End every lane. Jobs that are still there are canceled; those that refuse are left to themselves."""
        self._closed = True
        self._line.clear()
        for task in list(self._tasks):
            task.cancel()
        for _ in range(_LAST_ROUNDS):
            if not self._tasks:
                return
            await asyncio.sleep(0)

    def _open_lane(self) -> None:
        if self._line and not self._looking and self._counted < self.limit and not self._closed:
            self._looking = True
            self._counted += 1
            task = asyncio.get_running_loop().create_task(self._lane(), name="riven-lane")
            self._tasks[task] = None
            task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        del self._tasks[task]
        if not task.cancelled() and task.exception() is not None:
            _log.error("lane_broke", exc_info=task.exception())

    async def _lane(self) -> None:
        me = asyncio.current_task()
        turns = 0
        self._looking = False
        try:
            while self._line or await self._more():
                job = self._line.pop()
                if self._line:
                    self._open_lane()
                await job.perform()
                if job.abandoned:
                    self._counted += 1  # `abandon` took it off, the end of this lane does so again
                    return
                if me is not None and me.cancelling():
                    return
                turns += 1
                if turns % _TURNS == 0:
                    await asyncio.sleep(0)
        finally:
            self._counted -= 1
            self._open_lane()

    async def _more(self) -> bool:
        """Nothing is in line. What follows from the last job is often there one turn of the loop later."""
        if self._looking or self._closed:
            return False
        self._looking = True
        try:
            await asyncio.sleep(0)
        finally:
            self._looking = False
        return bool(self._line)
