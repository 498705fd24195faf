"""Bring a database to the schema of this code."""

from typing import Any

import asyncpg
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from riven.db.revision import MIGRATIONS, latest_revision

_MIGRATION_LOCK = 7_483_102_551
"""Key of the advisory lock: of several processes that migrate at once, one does and the others find it done."""


def schema_engine(url: str) -> AsyncEngine:
    """What Alembic works on; the driver itself reads the address, which may have all that libpq knows in it."""
    return create_async_engine(
        "postgresql+asyncpg://", async_creator=lambda: asyncpg.connect(url), poolclass=NullPool
    )


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    return config


async def migrate(url: str) -> str:
    """Apply what is missing; answers the revision that the schema has now."""
    engine = schema_engine(url)
    try:
        async with engine.connect() as connection:
            await connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _MIGRATION_LOCK})
            await connection.commit()
            try:
                await connection.run_sync(_upgrade)
            finally:
                await connection.rollback()
                await connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _MIGRATION_LOCK})
                await connection.commit()
    finally:
        await engine.dispose()
    return latest_revision()


def _upgrade(connection: Connection) -> None:
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    connection.commit()


def differences(connection: Connection, metadata: Any) -> list[Any]:  # noqa: ANN401  # as Alembic has them
    """What the tables of the code and those of the database disagree on; for the test that they don't."""
    from_database = MigrationContext.configure(connection)
    return list(compare_metadata(from_database, metadata))
