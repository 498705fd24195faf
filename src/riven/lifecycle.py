"""The one lifecycle of everything that runs."""

from typing import Protocol


class Lifecycle(Protocol):
    """Start, started, stop.

    `start` returns when the thing does its work, and raises when it cannot; whoever cancels it finds nothing left
    behind. Starting what runs changes nothing. `stop` may be called twice, or without a start; it returns within about
    `deadline` seconds whatever happens, gently as long as there is time.
    """

    @property
    def started(self) -> bool: ...

    async def start(self) -> None: ...

    async def stop(self, deadline: float = ...) -> None: ...
