"""A real Temporal for tests: one development server for all of them; tests keep apart by the ids they use.

All that makes it differ from the product's is that it does not wait for the disk.
"""

import asyncio
from collections.abc import Iterator

import pytest

from riven.devstack.temporal import EmbeddedTemporal

FORGETFUL = {"synchronous": "off"}


@pytest.fixture(scope="session")
def temporal_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedTemporal]:
    """One server for the whole session: a test that ends it takes a server of its own instead."""
    server = EmbeddedTemporal(tmp_path_factory.mktemp("temporal"), pragmas=FORGETFUL)
    asyncio.run(server.start())
    yield server
    asyncio.run(server.stop())
