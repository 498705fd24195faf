"""riven on Temporal: the same API, and the history that its runs leave on the server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.exchange import Exchange
from bench.peers.riven import Riven, connected, new_workspace
from bench.product import Product
from temporalio.client import Client


class RivenTemporal(Riven):
    name = "riven-temporal"

    def __init__(self, product: Product, exchange: Exchange, workspace_id: str, temporal: Client) -> None:
        super().__init__(product, exchange, workspace_id)
        self._temporal = temporal

    async def events(self, run: str) -> int:
        handle = self._temporal.get_workflow_handle(f"execution-{run}")
        await handle.result()  # the execution ends before its workflow does
        return (await handle.describe()).history_length


@asynccontextmanager
async def opened(data: str) -> AsyncIterator[RivenTemporal]:
    """On the product in this data directory."""
    product = Product(Path(data))
    temporal = await Client.connect(product.state["temporalAddress"])
    async with connected(product) as exchange:
        yield RivenTemporal(product, exchange, await new_workspace(exchange), temporal)
