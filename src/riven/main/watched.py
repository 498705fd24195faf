"""A process that somebody watches over: it says when it does its work, and does not outlive whoever watches.

The line between the two is its standard input, a socket. When it breaks, the supervisor is gone, and with it, most
likely, the database: there is nothing to wait for.
"""

import contextlib
import os
import signal
import threading
import time

_LINE = 0
_MERCY = 5.0
"""Seconds to end in, before the end is put to it."""


def watch_supervisor() -> None:
    """From now on this process ends when its standard input does."""
    threading.Thread(target=_end_with_supervisor, name="riven-watched", daemon=True).start()


def tell_supervisor() -> None:
    """This process does its work."""
    with contextlib.suppress(OSError):  # it may be gone; the thread sees to that
        os.write(_LINE, b"\n")


def _end_with_supervisor() -> None:
    with contextlib.suppress(OSError):
        while os.read(_LINE, 1):
            pass
    for _ in range(2):  # the second one says: at once
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.1)
    time.sleep(_MERCY)
    os.kill(os.getpid(), signal.SIGKILL)
