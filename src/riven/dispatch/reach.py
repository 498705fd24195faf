"""Whether an engine that is elsewhere can be reached: asked from time to time, and less and less often while it cannot.

While it cannot, nothing is claimed: an item that is not touched costs nothing, and whoever asks why it waits is told by
what the process says of the engine.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0

_log = logging.getLogger("riven.dispatch")


class Reach:
    def __init__(self, ask: Callable[[], Awaitable[str | None]], every: float) -> None:
        """`ask` answers what is wrong, None if nothing is; it is asked `every` so many seconds at least."""
        self._ask = ask
        self._every = every
        self._next = 0.0
        self._pause = FIRST_PAUSE
        self.error: str | None = None

    @property
    def next_look(self) -> float:
        """By the clock of the event loop."""
        return self._next

    @property
    def pause(self) -> float:
        """Seconds that what could not be started now waits at least."""
        return self._pause

    async def look(self) -> bool:
        """Whether it is there, asked anew if it is time."""
        if self._now() >= self._next:
            error = await self._ask()
            if error is None:
                self.worked()
            else:
                self.failed(error)
        return self.error is None

    def worked(self) -> None:
        if self.error is not None:
            _log.info("engine_back")
        self.error = None
        self._pause = FIRST_PAUSE
        self._next = self._now() + self._every

    def failed(self, error: str) -> None:
        """Starts that were under way together fail together: that counts once."""
        if self.error is not None and self._now() < self._next:
            return
        if self.error is None:
            _log.warning("engine_away", extra={"error": error})
        else:
            self._pause = min(self._pause * 2, LONGEST_PAUSE)
        self.error = error
        self._next = self._now() + self._pause

    def _now(self) -> float:
        return asyncio.get_running_loop().time()
