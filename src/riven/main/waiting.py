"""What a process waits for before it does anything: a database that has the tables it knows."""

import asyncio
import logging

from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.db.revision import is_current

FIRST, LONGEST = 0.05, 1.0
"""Seconds between two looks, the first ones soon: `riven dev` starts everything at once."""
_TELL_FIRST, _TELL_EVERY = 5, 10

_log = logging.getLogger("riven.process")


async def until_schema_is_current(database: Database) -> None:
    """A database that is away, or that lacks migrations, is waited for: the order of starts does not matter."""
    tries = 0
    while True:
        tell = tries % _TELL_EVERY == 0
        try:
            if await is_current(database):
                return
            if tell:
                _log.error("schema_not_current", extra={"advice": "run 'riven migrate'"})
        except DatabaseError as error:
            if tell:
                _log.warning("database_away", extra={"error": str(error)})
        await asyncio.sleep(min(FIRST * 2.0 ** min(tries, 16), LONGEST))
        tries += 1
