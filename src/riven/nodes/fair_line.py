"""A line in which nobody waits behind a crowd of somebody else's: callers take turns, each in its own order."""

from collections import deque
from collections.abc import Hashable
from contextvars import ContextVar
from typing import Final, Generic, TypeVar

T = TypeVar("T")

CALLER: Final[ContextVar[Hashable]] = ContextVar("riven_caller", default=None)
"""For whom the current task works: the workspace, in a worker that serves several."""


class FairLine(Generic[T]):
    """As long as one caller is alone it is a plain queue, and costs about as much."""

    __slots__ = ("_length", "_lines", "_turns")

    def __init__(self) -> None:
        self._lines: dict[Hashable, deque[T]] = {}
        self._turns: deque[Hashable] = deque()
        """Callers that have something in line, the next one first."""
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def push(self, caller: Hashable, item: T) -> None:
        line = self._lines.get(caller)
        if line is None:
            self._lines[caller] = deque((item,))
            self._turns.append(caller)
        else:
            line.append(item)
        self._length += 1

    def pop(self) -> T:
        """Raises IndexError when nothing is there."""
        caller = self._turns[0]
        line = self._lines[caller]
        item = line.popleft()
        self._length -= 1
        if not line:
            del self._lines[caller]
            self._turns.popleft()
        elif len(self._turns) > 1:
            self._turns.rotate(-1)
        return item

    def clear(self) -> list[T]:
        """Take out everything."""
        left = [item for line in self._lines.values() for item in line]
        self._lines.clear()
        self._turns.clear()
        self._length = 0
        return left
