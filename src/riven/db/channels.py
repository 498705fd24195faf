"""What processes tell each other through PostgreSQL, and how: short texts on a channel, heard by whoever listens."""

from collections.abc import Iterable, Iterator
from typing import Final
from uuid import UUID

from riven.db.engine import Database

CONTROL: Final = "riven_control"
"""Ids of executions of which something was asked: whoever drives one reads it."""
CHANGES: Final = "riven_changes"
"""Ids of executions whose rows have changed, as far as anybody watches them."""
WATCH: Final = "riven_watch"
"""Ids of executions that somebody watches, said again and again while that is so; `?` asks who watches what."""

_NOTIFY: Final = "SELECT pg_notify($1, $2)"
_MOST: Final = 200
"""So many ids fit into one notification, which has at most 8,000 bytes."""


async def notify(database: Database, channel: str, payload: str) -> None:
    """By itself, never inside the transaction that it tells of: that would put commits in one line."""
    async with database.read() as connection:
        await connection.execute(_NOTIFY, channel, payload)


async def notify_of(database: Database, channel: str, ids: Iterable[UUID]) -> None:
    listed = [str(each) for each in ids]
    for start in range(0, len(listed), _MOST):
        await notify(database, channel, ",".join(listed[start : start + _MOST]))


def read_ids(payload: str) -> Iterator[UUID]:
    """The ids of a notification; what is none is passed over: anybody may notify."""
    for each in payload.split(","):
        try:
            yield UUID(each)
        except ValueError:
            continue
