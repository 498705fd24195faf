"""A PostgreSQL of riven's kind, with riven's settings, for the peers that need one and for the raw limits."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import asyncpg
from bench.product import own_directory

from riven.devstack.cluster import SETTINGS
from riven.devstack.postgres import EmbeddedPostgres


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    pid: int

    async def new_database(self, name: str) -> str:
        """Its address."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute(f'CREATE DATABASE "{name}"')
        finally:
            await connection.close()
        return f"{self.url.rpartition('/')[0]}/{name}"


@asynccontextmanager
async def postgres() -> AsyncIterator[Server]:
    with own_directory("postgres") as directory:
        server = EmbeddedPostgres(directory / "server")
        await server.start()
        try:
            yield Server(server.url, server.pid)
        finally:
            await asyncio.shield(server.stop())


DURABLE = {name: SETTINGS[name] for name in ("fsync", "synchronous_commit", "full_page_writes")}

# Statistics come late; this process asks for its own last, and those of idle ones are there after a second.
STATISTICS_AFTER = 1.2
_COUNTERS = """
SELECT (SELECT xact_commit FROM pg_stat_database WHERE datname = current_database())::float8 AS commits,
       (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal')::float8 AS wal_fsyncs,
       (pg_current_wal_lsn() - '0/0')::float8 / 1024 AS wal_kib
"""


async def database_counters(url: str) -> dict[str, float]:
    connection = await asyncpg.connect(url)
    try:
        await asyncio.sleep(STATISTICS_AFTER)
        return dict(await connection.fetchrow(_COUNTERS))
    finally:
        await connection.close()
