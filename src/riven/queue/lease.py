"""A process's sign of life. It says whose runs are put back in line, and nothing else: who drives, the token says."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from riven.db.engine import Connection, Database
from riven.db.statements import load

_REGISTER = load("riven.queue", "register")
_BEAT = load("riven.queue", "beat")
_BURY = load("riven.queue", "bury")
_SUCCEED = """
UPDATE processes SET dead = true WHERE NOT dead AND role = $1 AND name = $2 AND id <> $3 RETURNING id, role, name
"""
_REPORT = "UPDATE processes SET metrics = $2 WHERE id = $1"
_CLOCK = """
SELECT extract(epoch FROM clock_timestamp())::float8 AS now, extract(epoch FROM pg_postmaster_start_time())::float8 AS server
"""
_FORGET = """
DELETE FROM processes
WHERE id IN (
    SELECT p.id FROM processes p
    WHERE p.dead AND p.seen_at < now() - make_interval(secs => $1)
      AND NOT EXISTS (SELECT FROM execution_queue q WHERE q.owner_id = p.id)
      AND NOT EXISTS (SELECT FROM workflow_executions e WHERE e.owner_id = p.id)
    LIMIT $2
    FOR UPDATE SKIP LOCKED
)
"""
_LEAVE = "DELETE FROM processes WHERE id = $1"


@dataclass(frozen=True, slots=True)
class Process:
    id: UUID
    role: str
    name: str
    engine: str = "embedded"
    enabled: bool = True
    """False: it claims nothing."""


@dataclass(frozen=True, slots=True)
class ServerClock:
    """Seconds since the epoch."""

    now: float
    server: float
    """When the server was started."""


async def register(database: Database, process: Process, room: int) -> None:
    async with database.transaction() as connection:
        await connection.execute(
            _REGISTER, process.id, process.role, process.name, room, process.engine, process.enabled
        )


async def renew(database: Database, process: Process, room: int, engine_error: str | None = None) -> bool:
    """Call it every third of the lease from the loop that does the work. False: judged dead; register anew."""
    async with database.transaction() as connection:
        return await connection.fetch_row(_BEAT, process.id, room, engine_error) is not None


async def report_metrics(database: Database, process: Process, metrics: Mapping[str, Any]) -> bool:
    """For whoever asks the API for metrics. False: the process is not registered (yet)."""
    async with database.transaction() as connection:
        return await connection.execute(_REPORT, process.id, metrics) > 0


async def leave(database: Database, process: Process) -> None:
    async with database.transaction() as connection:
        await connection.execute(_LEAVE, process.id)


async def bury_dead(database: Database, ttl: float) -> list[Process]:
    """Processes that were not seen for `ttl` seconds, judged once each.

    Whoever sweeps must itself have been connected for that long: an outage of the database kills nobody.
    """
    async with database.transaction() as connection:
        return [Process(row["id"], row["role"], row["name"]) for row in await connection.fetch(_BURY, ttl)]


async def bury_predecessors(database: Database, process: Process) -> list[Process]:
    """Those of its role and name, whose end its supervisor has seen: there is no lease to wait for."""
    async with database.transaction() as connection:
        rows = await connection.fetch(_SUCCEED, process.role, process.name, process.id)
    return [Process(row["id"], row["role"], row["name"]) for row in rows]


async def look_at_clock(database: Database) -> ServerClock:
    async with database.read() as connection:
        row = await connection.fetch_row(_CLOCK)
    assert row is not None  # noqa: S101 - a SELECT without FROM has one row
    return ServerClock(row["now"], row["server"])


async def forget_dead(connection: Connection, seconds: float, most: int) -> int:
    """Rows of processes that died so long ago and that hold nothing any more."""
    return await connection.execute(_FORGET, seconds, most)
