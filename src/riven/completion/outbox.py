"""What is to be told outside: written with what it tells of, taken by whoever delivers it."""

from riven.db.engine import Connection

_REMOVE_UNTOLD = """
DELETE FROM outbox
WHERE id IN (
    SELECT id FROM outbox
    WHERE available_at < now() - make_interval(secs => $1)
    ORDER BY available_at, id
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
"""


async def remove_untold(connection: Connection, seconds: float, most: int) -> int:
    """What nobody has asked for within so many seconds."""
    return await connection.execute(_REMOVE_UNTOLD, seconds, most)
