"""What a process waits for before it does anything: a database that has the tables it knows."""

import asyncio
import logging

from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.db.revision import is_current

AGAIN = 1.0
_TELL_EVERY = 10

_log = logging.getLogger("riven.process")


async def until_schema_is_current(database: Database) -> None:
    """A database that is away, or that lacks migrations, is waited for: the order of starts does not matter."""
    tries = 0
    while True:
        try:
            if await is_current(database):
                return
            event, fields = logging.ERROR, {"advice": "run 'riven migrate'"}
            name = "schema_not_current"
        except DatabaseError as error:
            event, fields = logging.WARNING, {"error": str(error)}
            name = "database_away"
        if tries % _TELL_EVERY == 0:
            _log.log(event, name, extra=fields)
        tries += 1
        await asyncio.sleep(AGAIN)
