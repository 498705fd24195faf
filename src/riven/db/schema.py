"""Bring a database to the schema of this code."""

from typing import Any

import asyncpg
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from riven.db.errors import StatementError, translated
from riven.db.revision import MIGRATIONS, known_revisions, latest_revision

OLDEST = 150_000
"""The oldest PostgreSQL, as `server_version_num` has it."""

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
    """Apply what is missing; answers the revision that the schema has now. Raises DatabaseError."""
    engine = schema_engine(url)
    try:
        with translated():
            return await _migrate(engine)
    except DBAPIError as error:
        cause = error.orig.__cause__ if error.orig is not None else None
        with translated():
            raise (cause or error) from None
    finally:
        await engine.dispose()


async def _migrate(engine: AsyncEngine) -> str:
    async with engine.connect() as connection:
        version = (
            await connection.execute(text("SELECT current_setting('server_version_num')::int"))
        ).scalar_one()
        if version < OLDEST:
            raise StatementError(
                f"PostgreSQL {OLDEST // 10_000} or later is needed, and this is {version // 10_000}"
            )
        await connection.commit()
        await connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _MIGRATION_LOCK})
        await connection.commit()
        try:
            return await connection.run_sync(_upgrade)
        finally:
            await connection.rollback()
            await connection.execute(text("SELECT pg_advisory_unlock(:key)"), {"key": _MIGRATION_LOCK})
            await connection.commit()


def _upgrade(connection: Connection) -> str:
    """A schema of a later version is left as it is: this code lives on it too."""
    revision = MigrationContext.configure(connection).get_current_revision()
    connection.rollback()
    if revision is not None and revision not in known_revisions():
        return revision
    config = _config()
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
    connection.commit()
    return latest_revision()


def differences(connection: Connection, metadata: Any) -> list[Any]:  # noqa: ANN401  # as Alembic has them
    """What the tables of the code and those of the database disagree on; for the test that they don't."""
    from_database = MigrationContext.configure(connection)
    return list(compare_metadata(from_database, metadata))
