"""The product in the process of a test: API, worker and maintenance, as `riven all` has them, on a free port.

async def test_a_start_is_carried_out(database_url: str) -> None:
    async with product(database_url) as riven:
        await riven.client.publish(...)
"""

import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from uuid import UUID

from riven.client.http import Client
from riven.db.engine import Database
from riven.main.api import Api
from riven.main.process import Part
from riven.main.worker import Worker
from riven.nodes.functions import Functions
from riven.settings import Settings
from riven.tenancy.keys import create_first_platform_key


@dataclass(frozen=True, slots=True)
class Product:
    url: str
    key: str
    workspace_id: str
    client: Client

    async def publish(self, document: str) -> None:
        """A document whose first line is its name."""
        name = document.strip().partition("\n")[0].removeprefix("name: ")
        saved = await self.client.put_workflow(self.workspace_id, name, document)
        assert saved["problems"] == [], saved["problems"]
        await self.client.publish(self.workspace_id, name)


@asynccontextmanager
async def product(database_url: str, **settings: object) -> AsyncIterator[Product]:
    """`settings` are fields of Settings."""
    asked = replace(Settings(database_url=database_url, drain_timeout=2.0), **settings)  # type: ignore[arg-type]
    key = await _platform_key(database_url)
    listening = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listening.getsockname()[1]}"
    functions = Functions.discover()
    async with AsyncExitStack() as running:
        for part in (Api(asked, functions, listening), Worker(asked, functions)):
            await running.enter_async_context(_running(part))
        client = await running.enter_async_context(Client(url, key))
        made = await client.create_workspace("acme", "ENTERPRISE")
        yield Product(url, key, str(UUID(made["workspaceId"])), client)


@asynccontextmanager
async def _running(part: Part) -> AsyncIterator[None]:
    await part.start()
    try:
        await part.ready.wait()
        yield
    finally:
        await part.stop(2.0)


async def _platform_key(database_url: str) -> str:
    database = Database(database_url, pool_size=1)
    try:
        async with database.transaction() as connection:
            made = await create_first_platform_key(connection, name="tests")
    finally:
        await database.close()
    assert made is not None
    return made.secret
