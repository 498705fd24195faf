"""The one place where events of a run arrive, in the order in which they were posted."""

import asyncio
from collections.abc import Callable

from riven.core.messages import Event


class Inbox:
    """A queue for one reader, all of it inside one event loop."""

    __slots__ = ("_before_waiting", "_events", "_reader")

    def __init__(self, before_waiting: Callable[[], None] | None = None) -> None:
        """`before_waiting` is called whenever nothing is there; what it raises ends the wait, and the loop."""
        self._events: list[Event] = []
        self._before_waiting = before_waiting
        self._reader: asyncio.Future[None] | None = None

    def post(self, event: Event) -> None:
        self._events.append(event)
        self.nudge()

    def nudge(self) -> None:
        """Have a reader that waits ask again what there is to be done before waiting."""
        if self._reader is not None and not self._reader.done():
            self._reader.set_result(None)

    async def drain(self) -> list[Event]:
        """Everything that is there, at least one event."""
        while not self._events:
            if self._before_waiting is not None:
                self._before_waiting()
            self._reader = asyncio.get_running_loop().create_future()
            try:
                await self._reader
            finally:
                self._reader = None
        events, self._events = self._events, []
        return events
