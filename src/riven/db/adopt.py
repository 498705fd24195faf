"""A connection of somebody else's, in a transaction that he has begun and will end."""

from typing import Any

import asyncpg
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncSession

from riven.core.errors import RivenError
from riven.db.engine import Connection


class NotInTransactionError(RivenError):
    """What is done on such a connection belongs to a transaction: begin one first."""


async def adopt(connection: object) -> Connection:
    """An asyncpg connection (also out of a pool), or an AsyncConnection or AsyncSession of SQLAlchemy on asyncpg.

    Nothing about it is changed: its codecs, its settings and its transaction stay as they are. Statements that are to run
    on it send and read JSON as text.

    Raises:
        NotInTransactionError
        TypeError: it is something else.
    """
    raw = await _driver_connection(connection)
    if not raw.is_in_transaction():
        raise NotInTransactionError(
            "the connection is in no transaction; begin one, and commit it afterwards"
        )
    return Connection(raw)


async def _driver_connection(connection: object) -> Any:  # noqa: ANN401  # asyncpg's, or what its pool wraps around it
    if isinstance(connection, AsyncSession):
        connection = await connection.connection()
    if isinstance(connection, AsyncConnection):
        await connection.execute(
            text("SELECT 1")
        )  # SQLAlchemy begins the transaction with its first statement
        connection = (await connection.get_raw_connection()).driver_connection
    if isinstance(connection, asyncpg.Connection | asyncpg.pool.PoolConnectionProxy):
        return connection
    raise TypeError(
        f"this is no connection of asyncpg, nor of SQLAlchemy on it, but a {type(connection).__name__}"
    )
