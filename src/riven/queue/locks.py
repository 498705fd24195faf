"""Duties that one replica does at a time: a lease with a name, kept for as long as it is renewed."""

from uuid import UUID

from riven.db.engine import Connection, Database

_ACQUIRE = """
INSERT INTO locks (name, owner_id, until) VALUES ($1, $2, now() + make_interval(secs => $3))
ON CONFLICT (name) DO UPDATE SET owner_id = excluded.owner_id, until = excluded.until
WHERE locks.owner_id = excluded.owner_id OR locks.until < now()
RETURNING name
"""
_PRUNE = """
DELETE FROM locks WHERE name IN (
    SELECT name FROM locks WHERE until < now() - make_interval(secs => $1) LIMIT $2 FOR UPDATE SKIP LOCKED
)
"""
_RELEASE = "DELETE FROM locks WHERE name = $1 AND owner_id = $2"


async def acquire(database: Database, name: str, owner: UUID, seconds: float) -> bool:
    """Whether the duty is ours for so long; also renews it."""
    async with database.transaction() as connection:
        return await connection.fetch_row(_ACQUIRE, name, owner, seconds) is not None


async def release(database: Database, name: str, owner: UUID) -> None:
    async with database.transaction() as connection:
        await connection.execute(_RELEASE, name, owner)


async def prune_locks(connection: Connection, seconds: float, most: int) -> int:
    """Duties that nobody has had for so long: they were renamed."""
    return await connection.execute(_PRUNE, seconds, most)
