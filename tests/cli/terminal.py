"""The real command in a process of its own, with pipes or at a terminal of its own."""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

RIVEN = (sys.executable, "-m", "riven.main.command")
Call: TypeAlias = Callable[..., subprocess.CompletedProcess[str]]
"""What the fixture `call` gives."""
_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07]*\x07)")
PATIENCE = 20.0


def riven(
    *arguments: str,
    directory: Path | None = None,
    stdin: str | None = None,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run it to its end, through pipes."""
    return subprocess.run(
        [*_with(env), *RIVEN, *arguments],
        cwd=directory,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="surrogateescape",
        timeout=60,
        check=False,
    )


def _with(env: Mapping[str, str] | None) -> list[str]:
    return ["env", *(f"{name}={value}" for name, value in (env or {}).items())]


class Terminal:
    """A process at a pseudo terminal; what it wrote so far is `text`."""

    def __init__(
        self,
        *arguments: str,
        directory: Path,
        rows: int = 30,
        columns: int = 100,
        env: Mapping[str, str] | None = None,
    ) -> None:
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.master = master
        self.before = termios.tcgetattr(slave)
        self.process = subprocess.Popen(
            [*_with({"TERM": "xterm-256color", **(env or {})}), *RIVEN, *arguments],
            cwd=directory,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_take_terminal,  # noqa: PLW1509 - the tests have one thread
        )
        self.slave = slave
        self.raw = b""

    @property
    def text(self) -> str:
        return _ESCAPE.sub("", self.raw.decode("utf-8", errors="replace"))

    def wait_for(self, *words: str) -> None:
        """Until all of them have been written."""
        deadline = time.monotonic() + PATIENCE
        while not all(word in self.text for word in words):
            left = deadline - time.monotonic()
            assert left > 0, f"no {words} in {self.text[-2000:]!r}"
            self._read(min(left, 0.5))

    def type(self, text: str) -> None:
        os.write(self.master, text.encode())

    def interrupt(self) -> None:
        """Ctrl-C, as the terminal makes it."""
        self.type("\x03")

    def end(self) -> int:
        """Its exit code, all it wrote being read."""
        deadline = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < deadline, f"it goes on: {self.text[-2000:]!r}"
            self._read(0.1)
        self._read(0.0)
        return self.process.returncode

    def restored(self) -> bool:
        """Whether the terminal echoes again, as it did before."""
        return termios.tcgetattr(self.slave)[3] == self.before[3]

    def restore(self) -> None:
        """As a shell does when a job stops."""
        termios.tcsetattr(self.slave, termios.TCSANOW, self.before)

    def wait_until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < deadline, f"it does not come: {self.text[-2000:]!r}"
            self._read(0.05)

    def _read(self, seconds: float) -> None:
        while select.select([self.master], [], [], seconds)[0]:
            try:
                data = os.read(self.master, 65_536)
            except OSError:
                return
            if not data:
                return
            self.raw += data
            seconds = 0.0

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)


def _take_terminal() -> None:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
