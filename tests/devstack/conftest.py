"""Servers of their own, for tests that end them."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.devstack.supervising import server_on


@pytest.fixture(scope="session")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a server that was started once, and stopped; whoever uses it leaves it so."""
    directory = tmp_path_factory.mktemp("shared") / "postgres"

    async def make() -> None:
        server = server_on(directory)
        await server.start()
        await server.stop()

    asyncio.run(make())
    return directory


@pytest.fixture
def own_directory(directory: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of it, for a test that spoils it; gone at once, so that it never reaches the disk."""
    copy = tmp_path / "postgres"
    shutil.copytree(directory, copy)
    yield copy
    shutil.rmtree(copy, ignore_errors=True)
