"""The migrations make the tables that the code describes, once, and several processes may try at the same time."""

import asyncio

import pytest
from sqlalchemy import Connection
from tests.fixtures_postgres import run_statements

from riven.db.engine import Database
from riven.db.errors import DatabaseUnavailableError, StatementError
from riven.db.revision import is_current, latest_revision
from riven.db.schema import differences, migrate, schema_engine
from riven.db.tables.queue import processes


async def compared(url: str):
    engine = schema_engine(url)
    try:
        async with engine.connect() as connection:
            return await connection.run_sync(lambda sync: differences(sync, processes.metadata))
    finally:
        await engine.dispose()


async def constraints(url: str) -> dict[str, str]:
    """Alembic compares neither CHECKs nor the conditions of partial indexes."""
    database = Database(url)
    try:
        async with database.read() as connection:
            checks = await connection.fetch(
                "SELECT conrelid::regclass || '.' || conname AS name, pg_get_constraintdef(oid) AS definition"
                " FROM pg_constraint WHERE contype = 'c'"
            )
            indexes = await connection.fetch(
                "SELECT tablename || '.' || indexname AS name, indexdef AS definition FROM pg_indexes"
                " WHERE schemaname = 'public'"
            )
            tables = await connection.fetch(
                "SELECT relname AS name, reloptions::text AS definition FROM pg_class"
                " WHERE reloptions IS NOT NULL AND relnamespace = 'public'::regnamespace"
            )
        return {row["name"]: row["definition"] for row in (*checks, *indexes, *tables)}
    finally:
        await database.close()


async def test_the_migrations_make_the_tables_of_the_code(database_url):
    assert await compared(database_url) == []


async def test_a_difference_would_be_seen(database_url):
    await asyncio.to_thread(run_statements, database_url, "ALTER TABLE processes DROP COLUMN room")
    assert await compared(database_url)


async def test_checks_conditions_and_storage_are_those_of_the_code_too(database_url, empty_database_url):
    def create(connection: Connection) -> None:
        processes.metadata.create_all(connection)
        connection.commit()

    engine = schema_engine(empty_database_url)
    try:
        async with engine.connect() as connection:
            await connection.run_sync(create)
    finally:
        await engine.dispose()
    by_migrations, by_code = await constraints(database_url), await constraints(empty_database_url)
    by_migrations = {name: text for name, text in by_migrations.items() if "alembic_version" not in name}
    assert by_migrations == by_code


async def test_of_processes_that_migrate_at_once_one_does_and_the_others_find_it_done(empty_database_url):
    assert await asyncio.gather(*[migrate(empty_database_url) for _ in range(3)]) == [latest_revision()] * 3
    database = Database(empty_database_url)
    try:
        assert await is_current(database)
        async with database.read() as connection:
            assert await connection.fetch_value("SELECT count(*) FROM workspace_tiers") == 3
    finally:
        await database.close()


@pytest.mark.parametrize(
    ("prepare", "current"),
    [
        ("DROP TABLE alembic_version", False),
        ("DELETE FROM alembic_version", False),
        ("UPDATE alembic_version SET version_num = '9999_of_a_later_version'", True),
    ],
)
async def test_a_schema_is_good_enough_from_the_revision_of_the_code_on(database_url, prepare, current):
    """Old code lives on the new schema: a process that starts while a newer version is rolled out must start."""
    await asyncio.to_thread(run_statements, database_url, prepare)
    database = Database(database_url)
    try:
        assert await is_current(database) is current
    finally:
        await database.close()


@pytest.mark.parametrize("options", ["?sslmode=disable", "?application_name=x"])
async def test_the_address_may_have_options_of_libpq(database_url, options):
    assert await migrate(f"{database_url}{options}") == latest_revision()


async def test_a_schema_of_a_later_version_is_left_as_it_is(database_url):
    await asyncio.to_thread(
        run_statements,
        database_url,
        "UPDATE alembic_version SET version_num = '9999_later'",
        "DROP TABLE outbox",
    )
    assert await migrate(database_url) == "9999_later"
    database = Database(database_url)
    try:
        async with database.read() as connection:
            assert await connection.fetch_value("SELECT version_num FROM alembic_version") == "9999_later"
            assert await connection.fetch_value("SELECT to_regclass('outbox')") is None
    finally:
        await database.close()


async def test_a_database_that_is_not_there_is_told_in_words_of_ours(database_url):
    with pytest.raises(DatabaseUnavailableError):
        await migrate("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(StatementError, match="does not exist"):
        await migrate(f"{database_url}_other")
