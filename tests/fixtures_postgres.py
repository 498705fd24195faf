"""A real PostgreSQL for tests: one server for all of them, a database of its own for each.

All that makes it differ from the product's is that it does not wait for the disk.
"""

import asyncio
import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import asyncpg
import pytest

from riven.db.schema import migrate
from riven.devstack.postgres import EmbeddedPostgres

FORGETFUL = {"fsync": "off", "full_page_writes": "off", "max_connections": "200"}
"""A kill of its processes costs nothing that was committed; a crash of the machine would."""

TEMPLATE = "template_of_tests"

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedPostgres]:
    """One server for the whole session: a test that ends it takes a server of its own instead."""
    server = EmbeddedPostgres(tmp_path_factory.mktemp("postgres"), settings=FORGETFUL)
    asyncio.run(server.start())
    yield server
    asyncio.run(server.stop())


@pytest.fixture(scope="session")
def migrated_template(postgres_server: EmbeddedPostgres) -> str:
    """The name of a database that has the schema and nothing in it."""
    run_statements(postgres_server.url, f"CREATE DATABASE {TEMPLATE} TEMPLATE template0")
    asyncio.run(migrate(with_database(postgres_server.url, TEMPLATE)))
    return TEMPLATE


@pytest.fixture
def database_url(postgres_server: EmbeddedPostgres, migrated_template: str) -> Iterator[str]:
    """A database with the schema, for this test alone."""
    with new_database(postgres_server.url, template=migrated_template) as url:
        yield url


@pytest.fixture
def empty_database_url(postgres_server: EmbeddedPostgres) -> Iterator[str]:
    """A database without any table, for this test alone."""
    with new_database(postgres_server.url, template="template0") as url:
        yield url


@contextmanager
def new_database(server_url: str, *, template: str) -> Iterator[str]:
    name = f"test_{next(_numbers)}"
    run_statements(server_url, f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield with_database(server_url, name)
    finally:
        run_statements(server_url, f"DROP DATABASE {name} WITH (FORCE)")


def with_database(url: str, name: str) -> str:
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def run_statements(url: str, *statements: str) -> None:
    asyncio.run(_run_statements(url, statements))


async def _run_statements(url: str, statements: tuple[str, ...]) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()
