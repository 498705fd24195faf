"""All that waits for a time in this process: one heap and one alarm of the event loop, by the wall clock.

The alarm rings at least once a minute while anything waits, so a machine that slept, or whose clock was set, is late
by no more than that.
"""

import asyncio
import heapq
from collections.abc import Callable

from riven.nodes.contract import Clock

_LONGEST_SLEEP = 60_000
_TIDY_FROM = 64


class _Timer:
    __slots__ = ("call", "out", "timers")

    def __init__(self, timers: "WallTimers", call: Callable[[], None]) -> None:
        self.timers = timers
        self.call: Callable[[], None] | None = call
        self.out = False
        """Taken out of the heap."""

    def cancel(self) -> None:
        if self.call is not None:
            self.call = None
            if not self.out:
                self.timers.one_dead()


class WallTimers:
    """Belongs to one event loop."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._heap: list[tuple[int, int, _Timer]] = []
        self._count = 0
        self._dead = 0
        self._alarm: asyncio.TimerHandle | None = None
        self._alarm_due = 0

    def __len__(self) -> int:
        """Timers that may still fire."""
        return len(self._heap) - self._dead

    def at(self, due: int, call: Callable[[], None]) -> _Timer:
        timer = _Timer(self, call)
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, timer))
        if self._alarm is None or due < self._alarm_due:
            self._set_alarm()
        return timer

    def close(self) -> None:
        """Nothing fires any more; twice is safe."""
        self._heap.clear()
        self._dead = 0
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def one_dead(self) -> None:
        """A timer in the heap was canceled."""
        self._dead += 1
        if self._dead > _TIDY_FROM and self._dead * 2 > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[2].call is not None]
            heapq.heapify(self._heap)
            self._dead = 0

    def _set_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if not self._heap:
            return
        now = self._clock.now()
        self._alarm_due = min(self._heap[0][0], now + _LONGEST_SLEEP)
        delay = max(0, self._alarm_due - now) / 1_000
        self._alarm = asyncio.get_running_loop().call_later(delay, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        now = self._clock.now()
        due: list[_Timer] = []
        while self._heap and (self._heap[0][0] <= now or self._heap[0][2].call is None):
            timer = heapq.heappop(self._heap)[2]
            if timer.call is None:
                self._dead -= 1
            else:
                timer.out = True
                due.append(timer)
        for timer in due:
            call, timer.call = timer.call, None
            if call is not None:  # an earlier one of them may have canceled it
                call()
        if self._alarm is None:
            self._set_alarm()
