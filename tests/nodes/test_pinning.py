import asyncio

import httpcore
import pytest
from tests.nodes.servers import ScriptedResolver

from riven.core.errors import ErrorClass
from riven.nodes.addresses import AddressPolicy
from riven.nodes.contract import NodeError
from riven.nodes.pinning import PinnedBackend


class RecordingNetwork(httpcore.AsyncNetworkBackend):
    """The network below: knows which addresses answer, and notes every one that it is asked for."""

    def __init__(self, *answering: str) -> None:
        self.asked: list[str] = []
        self._answering = answering

    async def connect_tcp(self, host, port, timeout=None, local_address=None, socket_options=None):  # noqa: ARG002, ASYNC109 - the library's signature
        self.asked.append(host)
        if host in self._answering:
            return httpcore.AsyncNetworkStream()
        raise httpcore.ConnectError(f"{host} does not answer")


def backend(addresses: list[str], *answering: str) -> tuple[PinnedBackend, RecordingNetwork]:
    network = RecordingNetwork(*answering)
    resolver = ScriptedResolver({"shop.example": [addresses]})
    return PinnedBackend(AddressPolicy.server(), resolver, network), network


async def test_connects_to_addresses_in_order_and_never_to_the_name() -> None:
    pinned, network = backend(["2606:4700::1", "1.1.1.1", "8.8.8.8"], "1.1.1.1", "8.8.8.8")
    await pinned.connect_tcp("shop.example", 443, timeout=1)
    assert network.asked == ["2606:4700::1", "1.1.1.1"]


async def test_says_that_the_last_one_does_not_answer() -> None:
    pinned, network = backend(["1.1.1.1", "8.8.8.8"])
    with pytest.raises(httpcore.ConnectError, match=r"8\.8\.8\.8"):
        await pinned.connect_tcp("shop.example", 443, timeout=1)
    assert network.asked == ["1.1.1.1", "8.8.8.8"]


@pytest.mark.parametrize("hidden", ["10.0.0.1", "::ffff:10.0.0.1", "fe80::1%2", "64:ff9b::a00:1"])
async def test_one_bad_address_anywhere_in_the_answer_refuses_all(hidden: str) -> None:
    for addresses in ([hidden, "1.1.1.1"], ["1.1.1.1", hidden]):
        pinned, network = backend(addresses, "1.1.1.1", hidden)
        with pytest.raises(NodeError) as refused:
            await pinned.connect_tcp("shop.example", 443, timeout=1)
        assert refused.value.error_class is ErrorClass.SECURITY_ERROR
        assert network.asked == []


async def test_a_mapped_address_is_connected_to_as_what_it_is() -> None:
    pinned, network = backend(["::ffff:1.1.1.1"], "1.1.1.1")
    await pinned.connect_tcp("shop.example", 443, timeout=1)
    assert network.asked == ["1.1.1.1"]


async def test_an_empty_answer_is_no_host() -> None:
    pinned, _ = backend([])
    with pytest.raises(httpcore.ConnectError, match="it has no address"):
        await pinned.connect_tcp("shop.example", 443, timeout=1)


async def test_an_address_needs_no_look_up_and_is_checked_all_the_same() -> None:
    pinned, network = backend([], "1.1.1.1")
    await pinned.connect_tcp("1.1.1.1", 443, timeout=1)
    with pytest.raises(NodeError):
        await pinned.connect_tcp("127.0.0.1", 443, timeout=1)
    assert network.asked == ["1.1.1.1"]


async def test_connecting_has_one_deadline_for_all_addresses() -> None:
    class Hanging(RecordingNetwork):
        async def connect_tcp(self, host, *_, **__):
            self.asked.append(host)
            await asyncio.get_running_loop().create_future()

    network = Hanging()
    resolver = ScriptedResolver({"shop.example": [["1.1.1.1", "8.8.8.8"]]})
    with pytest.raises(httpcore.ConnectTimeout, match=r"no connection to shop\.example within 0\.01 s"):
        await PinnedBackend(AddressPolicy.server(), resolver, network).connect_tcp(
            "shop.example", 443, timeout=0.01
        )
    assert network.asked == ["1.1.1.1"]
