"""How often one credential may ask: a bucket of tokens for each, in this process."""

import time
from collections.abc import Callable
from typing import Final

from riven.api.problems import ProblemError

_MOST: Final = 10_000
"""Buckets that are kept; a forgotten one is a full one."""


class RateLimiter:
    """`rate` requests a second in the long run, at most `burst` at once; a rate of 0 sets no limit."""

    def __init__(
        self, rate: float = 10_000.0, burst: float | None = None, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = max(1.0, 2 * rate if burst is None else burst)
        self._now = now
        self._buckets: dict[str, tuple[float, float]] = {}

    def admit(self, who: str) -> None:
        """Raises a 429."""
        if not self._rate:
            return
        now = self._now()
        tokens, since = self._buckets.pop(who, (self._burst, now))
        tokens = min(self._burst, tokens + (now - since) * self._rate)
        if tokens < 1:
            self._buckets[who] = (tokens, now)
            raise ProblemError(
                "rate_limited",
                f"more than {self._rate:g} requests a second with this credential; wait, then go on more slowly",
                retry_after=(1 - tokens) / self._rate,
            )
        if len(self._buckets) >= _MOST:
            del self._buckets[next(iter(self._buckets))]
        self._buckets[who] = (tokens - 1, now)
