"""A step under way: how it can be ended from outside, and how its coroutine learns of it.

It is ended by canceling its task, once for each reason; the first reason counts. Whoever catches the cancellation
takes exactly these cancellations back, so that the task can go on with something else.
"""

import asyncio
from collections.abc import Callable, Coroutine
from enum import Enum
from typing import Any, TypeVar

from riven.effects.context import Timers

ResultT = TypeVar("ResultT")


class Ending(Enum):
    TIMEOUT = "timeout"
    CANCEL = "cancel"


class Attempt:
    __slots__ = ("_cancels", "_on_end", "_task", "ending")

    def __init__(self, task: "asyncio.Task[Any]", on_end: Callable[[], None] | None = None) -> None:
        """`on_end` is called when it is first asked to end, which it should do soon."""
        self._task = task
        self._on_end = on_end
        self._cancels = 0
        self.ending: Ending | None = None

    def end(self, reason: Ending) -> None:
        first = self.ending is None
        if first:
            self.ending = reason
        self._cancels += 1
        self._task.cancel()
        if first and self._on_end is not None:
            self._on_end()

    def caught(self) -> bool:
        """Take back what `end` did to the task. False: it was canceled by somebody else, who wants it to end."""
        for _ in range(self._cancels):
            self._task.uncancel()
        self._cancels = 0
        return self._task.cancelling() == 0

    async def run(self, work: Coroutine[Any, Any, ResultT], timers: Timers, due: int) -> ResultT:
        """Wait for the work until `due`, then end it."""
        timer = timers.at(due, self._expire)
        try:
            return await work
        finally:
            timer.cancel()

    def _expire(self) -> None:
        self.end(Ending.TIMEOUT)
