import asyncio
import os

import pytest

from riven.nodes.addresses import AddressPolicy
from riven.nodes.http_client import HttpClient, SystemResolver


async def test_the_system_knows_this_machine() -> None:
    resolver = SystemResolver()
    assert {"127.0.0.1", "::1"} & set(await resolver("localhost", 80))
    resolver.pool.stop()


async def test_the_system_does_not_know_what_no_one_can() -> None:
    resolver = SystemResolver()
    with pytest.raises(OSError, match=r".+"):
        await resolver("nowhere.invalid", 80)
    resolver.pool.stop()


async def test_a_client_that_was_never_used_opens_nothing() -> None:
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208 - numbers of open files, no paths
    async with HttpClient(AddressPolicy.server()) as http:
        await asyncio.sleep(0)
        assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208 - see above
        assert http._exchange is None
