"""The product beside the test, in a thread: commands have event loops of their own."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from tests.product import product


@dataclass(frozen=True, slots=True)
class Served:
    url: str
    key: str
    workspace_id: str
    """Of the workspace `acme`."""


@contextmanager
def served(database_url: str, **settings: object) -> Iterator[Served]:
    """`settings` are fields of Settings."""
    ready, told = threading.Event(), list[Served]()
    running = asyncio.new_event_loop()
    asked_to_end = asyncio.Event()

    async def serve() -> None:
        try:
            async with product(database_url, **settings) as riven:
                told.append(Served(riven.url, riven.key, riven.workspace_id))
                ready.set()
                await asked_to_end.wait()
        finally:
            ready.set()

    thread = threading.Thread(target=running.run_until_complete, args=(serve(),))
    thread.start()
    ready.wait()
    try:
        [server] = told
        yield server
    finally:
        running.call_soon_threadsafe(asked_to_end.set)
        thread.join()
        running.close()
