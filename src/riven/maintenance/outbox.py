"""Tell the outside what has happened. Nobody has asked to be told yet, so what is an hour old goes."""

from riven.completion.outbox import remove_untold
from riven.db.engine import Database
from riven.maintenance.prune import in_batches

KEPT = 3_600.0


async def deliver(database: Database) -> None:
    await in_batches(database, "outbox", lambda connection, most: remove_untold(connection, KEPT, most))
