"""Named places at which a test may have a process die. In production a call is one comparison.

`RIVEN_TEST_CRASH_AT=NAME[:N]` (read once by main) makes the process kill itself at the N-th passage of NAME.
"""

import os
import signal

_armed: list[tuple[str, int]] = []


def arm(name: str, passage: int = 1) -> None:
    _armed[:] = [(name, passage)]


def crash_point(name: str) -> None:
    if _armed and _armed[0][0] == name:
        _pass()


def _pass() -> None:
    name, left = _armed[0]
    if left > 1:
        _armed[0] = (name, left - 1)
    else:
        os.kill(os.getpid(), signal.SIGKILL)
