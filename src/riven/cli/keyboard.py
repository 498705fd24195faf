"""Keys of the terminal as they are typed, while the picture above them goes on."""

import os
import sys
import termios
import tty
from typing import TypeAlias

Settings: TypeAlias = list[int | list[bytes | int]]


class Keyboard:
    """Line editing and echo are off between `open` and `close`; Ctrl-C still interrupts."""

    def __init__(self) -> None:
        self._before: Settings | None = None

    @property
    def opened(self) -> bool:
        return self._before is not None

    @staticmethod
    def usable() -> bool:
        """A terminal that is ours: a job in the background would be stopped for touching it."""
        try:
            return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
        except (OSError, ValueError):
            return False

    @property
    def number(self) -> int:
        """The file descriptor to wait for."""
        return sys.stdin.fileno()

    def open(self) -> None:
        if self._before is None:
            self._before = termios.tcgetattr(self.number)
        tty.setcbreak(self.number, termios.TCSADRAIN)  # what was typed ahead is an answer too

    def read(self) -> bytes:
        """What has been typed; empty when the terminal is gone."""
        try:
            return os.read(self.number, 4096)
        except OSError:
            return b""

    def close(self) -> None:
        if self._before is not None:
            termios.tcsetattr(self.number, termios.TCSADRAIN, self._before)
            self._before = None
