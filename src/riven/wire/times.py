"""Times as the outside reads them: RFC 3339, UTC, milliseconds, `Z`."""

from datetime import UTC, datetime
from functools import lru_cache
from typing import Final

_FIRST: Final = datetime(1, 1, 1, 0, 0, 0, 1_000, UTC)
_LAST: Final = datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)


@lru_cache(maxsize=1024)
def to_rfc3339(milliseconds: int) -> str:
    """Milliseconds since the epoch as `2026-11-19T08:30:00.125Z`; cached, as nodes that run together share theirs."""
    seconds, rest = divmod(milliseconds, 1_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment.year:04d}-{moment:%m-%dT%H:%M:%S}.{rest:03d}Z"  # %Y has no leading zeros


def from_rfc3339(text: str) -> int:
    """Milliseconds since the epoch. Raises ValueError for what is no time with an offset."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"{text!r} is no time") from None
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} lacks its offset from UTC, such as Z")
    return round(moment.timestamp() * 1_000)


def storable(moment: datetime) -> datetime:
    """The same, or the millisecond beside it: the driver takes the very ends of the calendar for infinities."""
    return min(max(moment, _FIRST), _LAST)
