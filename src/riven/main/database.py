"""How a process connects to the database."""

from riven.db.engine import Database
from riven.settings import Settings


def open_database(settings: Settings, application: str) -> Database:
    """A process that is frozen inside a transaction holds its locks no longer than a third of the lease."""
    return Database(
        settings.database(),
        application=f"riven {application}",
        pool_size=settings.database_pool_size,
        idle_in_transaction_timeout=settings.lease_ttl / 3,
    )
