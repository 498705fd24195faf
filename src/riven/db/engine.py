"""One pool of connections a process, and the only place that commits.

    async with database.transaction() as connection:   # READ COMMITTED; commits at its end, rolls back on an exception
        await connection.fetch(CLAIM, workspace_ids)
    async with database.read() as connection:          # single statements, each for itself

JSON columns arrive as Python values and leave as they came. Times are the database's: take them from it (`now()`).
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeAlias, TypeVar

import asyncpg
import orjson

from riven.db.errors import DatabaseUnavailableError, translated

Row: TypeAlias = asyncpg.Record
T = TypeVar("T")


class Connection:
    """What may be done on a connection; errors are translated."""

    __slots__ = ("raw",)

    def __init__(self, raw: "asyncpg.Connection[Any] | asyncpg.pool.PoolConnectionProxy[Any]") -> None:
        self.raw = raw

    async def fetch(self, statement: str, *values: object) -> list[Row]:
        with translated():
            return await self.raw.fetch(statement, *values)

    async def fetch_row(self, statement: str, *values: object) -> Row | None:
        with translated():
            return await self.raw.fetchrow(statement, *values)

    async def fetch_value(self, statement: str, *values: object) -> Any:  # noqa: ANN401  # as PostgreSQL has it
        with translated():
            return await self.raw.fetchval(statement, *values)

    async def execute(self, statement: str, *values: object) -> int:
        """Answers the number of rows that were written."""
        with translated():
            tag = await self.raw.execute(statement, *values)
        count = tag.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def execute_many(self, statement: str, rows: Iterable[Sequence[object]]) -> None:
        with translated():
            await self.raw.executemany(statement, rows)

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """What fails inside is undone alone."""
        with translated():
            async with self.raw.transaction():
                yield


class Database:
    """Connects when it is first used, and again whenever it has to: a restart of PostgreSQL is no reason to end."""

    def __init__(
        self,
        url: str,
        *,
        application: str = "riven",
        pool_size: int = 10,
        connect_timeout: float = 5.0,
        statement_timeout: float | None = 30.0,
        idle_in_transaction_timeout: float | None = None,
    ) -> None:
        """Timeouts in seconds. A process that is frozen inside a transaction holds its locks no longer than the last."""
        self.url = url
        self._pool: asyncpg.Pool[Row] | None = None
        self._options: dict[str, Any] = {
            "dsn": url,
            "min_size": 0,
            "max_size": pool_size,
            "timeout": connect_timeout,
        }
        self._options["server_settings"] = {"application_name": application, "jit": "off", "timezone": "UTC"}
        if statement_timeout is not None:
            self._options["server_settings"]["statement_timeout"] = str(round(statement_timeout * 1000))
        if idle_in_transaction_timeout is not None:
            idle = str(round(idle_in_transaction_timeout * 1000))
            self._options["server_settings"]["idle_in_transaction_session_timeout"] = idle

    async def _ready(self) -> "asyncpg.Pool[Row]":
        if self._pool is None:
            # min_size 0: creating the pool opens nothing, so it cannot fail while PostgreSQL is away
            self._pool = asyncpg.create_pool(
                init=_prepare, reset=_leave_as_it_is, max_inactive_connection_lifetime=60, **self._options
            )
            await self._pool
        return self._pool

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        async with self._acquired() as raw:
            with translated():
                async with raw.transaction():
                    yield Connection(raw)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Connection]:
        async with self._acquired() as raw:
            yield Connection(raw)

    @asynccontextmanager
    async def _acquired(self) -> "AsyncIterator[asyncpg.pool.PoolConnectionProxy[Any]]":
        with translated():
            pool = await self._ready()
            async with pool.acquire() as raw:
                yield raw

    async def retried(self, work: Callable[[Connection], Awaitable[T]], *, tries: int = 3) -> T:
        """A transaction that is begun anew when its connection turns out to be broken before it did anything."""
        for left in reversed(range(tries)):
            try:
                async with self.transaction() as connection:
                    return await work(connection)
            except DatabaseUnavailableError:
                if not left:
                    raise
        raise AssertionError("tries must be positive")

    async def dedicated(self) -> "asyncpg.Connection[Any]":
        """A connection of its own, outside the pool, for LISTEN and NOTIFY; the caller closes it."""
        with translated():
            return await asyncpg.connect(
                self.url,
                timeout=self._options["timeout"],
                server_settings={"application_name": "riven wake-ups"},
            )

    async def close(self) -> None:
        if self._pool is not None:
            pool, self._pool = self._pool, None
            with translated():
                await pool.close()


async def _prepare(connection: "asyncpg.Connection[Any]") -> None:
    for name in ("json", "jsonb"):
        await connection.set_type_codec(
            name, encoder=_encode, decoder=orjson.loads, schema="pg_catalog", format="text"
        )


async def _leave_as_it_is(connection: "asyncpg.Connection[Any]") -> None:
    """Nothing of ours outlives a transaction on a pooled connection, so none pays for a reset; asyncpg rolls back."""


def _encode(value: object) -> str:
    return orjson.dumps(value).decode()
