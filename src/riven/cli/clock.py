"""The time of this machine."""

import time


class SystemClock:
    def now(self) -> int:
        """Milliseconds since the epoch."""
        return time.time_ns() // 1_000_000
