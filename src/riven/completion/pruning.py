"""Delete finished executions with everything that belongs to them. The audit trail stays."""

from riven.db.engine import Connection
from riven.db.statements import load

_PRUNE = load("riven.completion", "prune")


async def prune_executions(connection: Connection, seconds: float, most: int) -> int:
    """Those that finished longer ago than so many seconds, oldest first; answers how many."""
    count: int = await connection.fetch_value(_PRUNE, seconds, most)
    return count
