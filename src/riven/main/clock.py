"""What a process is called, and what time it is."""

import os
import socket
import time


class WallClock:
    """Milliseconds since the epoch."""

    def now(self) -> int:
        return time.time_ns() // 1_000_000


def wall_seconds() -> float:
    return time.time_ns() / 1e9


def machine_and_number() -> str:
    """This process, among all of an installation."""
    return f"{socket.gethostname()}:{os.getpid()}"


def process_name(role: str) -> str:
    """Where nobody has given it a name."""
    return f"{role}@{machine_and_number()}"
