"""Waiting for something in the event loop, not for time."""

import asyncio
from collections.abc import Callable


async def until(holds: Callable[[], bool]) -> None:
    """Let everything else go on until it holds; the test's own timeout ends a wait for what never comes."""
    while not holds():  # noqa: ASYNC110 - what is waited for has no event of its own
        await asyncio.sleep(0)
