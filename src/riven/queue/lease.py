"""A process's sign of life. It says whose runs are put back in line, and nothing else: who drives, the token says."""

from dataclasses import dataclass
from uuid import UUID

from riven.db.engine import Database
from riven.db.statements import load

_REGISTER = load("riven.queue", "register")
_BEAT = load("riven.queue", "beat")
_BURY = load("riven.queue", "bury")
_LEAVE = "DELETE FROM processes WHERE id = $1"


@dataclass(frozen=True, slots=True)
class Process:
    id: UUID
    role: str
    name: str
    engine: str = "embedded"


async def register(database: Database, process: Process, room: int) -> None:
    async with database.transaction() as connection:
        await connection.execute(_REGISTER, process.id, process.role, process.name, room, process.engine)


async def renew(database: Database, process: Process, room: int, engine_error: str | None = None) -> bool:
    """Call it every third of the lease from the loop that does the work. False: judged dead; register anew."""
    async with database.transaction() as connection:
        return await connection.fetch_row(_BEAT, process.id, room, engine_error) is not None


async def leave(database: Database, process: Process) -> None:
    async with database.transaction() as connection:
        await connection.execute(_LEAVE, process.id)


async def bury_dead(database: Database, ttl: float) -> list[Process]:
    """Processes that were not seen for `ttl` seconds, judged once each.

    Whoever sweeps must itself have been connected for that long: an outage of the database kills nobody.
    """
    async with database.transaction() as connection:
        return [Process(row["id"], row["role"], row["name"]) for row in await connection.fetch(_BURY, ttl)]
