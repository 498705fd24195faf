"""A clock and timers that a test moves by hand."""

import heapq
from collections.abc import Callable

START = 1_795_075_200_000
"""2026-11-19T08:00:00Z"""


class _Timer:
    def __init__(self, call: Callable[[], None]) -> None:
        self.call: Callable[[], None] | None = call

    def cancel(self) -> None:
        self.call = None


class ManualTime:
    def __init__(self, now: int = START) -> None:
        self._now = now
        self._heap: list[tuple[int, int, _Timer]] = []
        self._count = 0

    def now(self) -> int:
        return self._now

    def at(self, due: int, call: Callable[[], None]) -> _Timer:
        timer = _Timer(call)
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, timer))
        return timer

    @property
    def due(self) -> list[int]:
        """Milliseconds from the start at which something is due."""
        return sorted(due - START for due, _, timer in self._heap if timer.call is not None)

    def advance(self, milliseconds: int) -> None:
        """Let time pass; what becomes due fires, in order, at its own time."""
        end = self._now + milliseconds
        while self._heap and self._heap[0][0] <= end:
            due, _, timer = heapq.heappop(self._heap)
            call, timer.call = timer.call, None
            if call is not None:
                self._now = max(self._now, due)
                call()
        self._now = end

    def advance_to_next(self) -> None:
        """Let time pass until the next thing is due."""
        self.advance(START + self.due[0] - self._now)
