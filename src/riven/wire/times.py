"""Times as the outside reads them: RFC 3339, UTC, milliseconds, `Z`."""

from datetime import UTC, datetime
from functools import lru_cache


@lru_cache(maxsize=1024)
def to_rfc3339(milliseconds: int) -> str:
    """Milliseconds since the epoch as `2026-11-19T08:30:00.125Z`; cached, as nodes that run together share theirs."""
    seconds, rest = divmod(milliseconds, 1_000)
    moment = datetime.fromtimestamp(seconds, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"
