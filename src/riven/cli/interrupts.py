"""Ctrl-C and SIGTERM: the first one asks the run to end, the second one ends the process at once."""

import asyncio
import os
import signal
from collections.abc import Callable
from types import FrameType
from typing import Self, TypeAlias

Handler: TypeAlias = Callable[[int, FrameType | None], object] | int | None

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """A handler of its own instead of the event loop's: a function that blocks the loop cannot hold up the second one."""

    def __init__(self, ask: Callable[[], None], abandon: Callable[[], None], code: int) -> None:
        """`ask` is called in the event loop, `abandon` before the process is ended with `code`, in the main thread."""
        self._ask = ask
        self._abandon = abandon
        self._code = code
        self._loop: asyncio.AbstractEventLoop | None = None
        self._before: dict[signal.Signals, Handler] = {}
        self.seen = False

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """From now on `ask` can be called; an interrupt that came before is told at once."""
        self._loop = loop
        if self.seen:
            loop.call_soon(self._ask)

    def __enter__(self) -> Self:
        for number in _SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup and background jobs want it
                self._before[number] = signal.signal(number, self._interrupted)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before.clear()

    def _interrupted(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        if self.seen:
            try:
                self._abandon()
            finally:
                os._exit(self._code)
        self.seen = True
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._ask)
