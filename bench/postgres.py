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
