"""Connections to checked addresses: a host is looked up once, and what was checked is what is connected to.

The HTTP library asks a network backend for a connection by host name. This one resolves the name, has every address
judged, and connects to an address, never to the name: between check and connect there is no second look-up that could
answer otherwise. TLS and the Host header still see the name.
"""

import asyncio
import ipaddress
from collections.abc import Iterable, Sequence
from typing import Any

import httpcore

from riven.core.errors import ErrorClass
from riven.nodes.addresses import Address, AddressPolicy, plain
from riven.nodes.contract import NodeError
from riven.nodes.http_client import Resolver

_FIRST_TRIES = 2.5
"""Seconds for each address but the last: a host whose IPv6 is a dead end still answers by IPv4."""


class PinnedBackend(httpcore.AsyncNetworkBackend):
    def __init__(
        self,
        policy: AddressPolicy,
        resolver: Resolver,
        network: httpcore.AsyncNetworkBackend | None = None,
    ) -> None:
        self._policy = policy
        self._resolver = resolver
        self._network = network if network is not None else httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._checked(host, port)
                *first, last = addresses
                for address in first:
                    try:
                        return await self._network.connect_tcp(
                            str(address), port, _FIRST_TRIES, local_address, socket_options
                        )
                    except (httpcore.ConnectError, httpcore.ConnectTimeout):
                        continue
                return await self._network.connect_tcp(str(last), port, None, local_address, socket_options)
        except TimeoutError:
            raise httpcore.ConnectTimeout(f"no connection to {host} within {timeout:g} s") from None

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)

    async def _checked(self, host: str, port: int) -> Sequence[Address]:
        addresses = await self._addresses(host, port)
        for address in addresses:
            refusal = self._policy.refusal(host, port, address)
            if refusal is not None:
                raise NodeError(ErrorClass.SECURITY_ERROR, refusal)
        return [plain(address) for address in addresses]

    async def _addresses(self, host: str, port: int) -> Sequence[Address]:
        try:
            return [ipaddress.ip_address(host)]
        except ValueError:
            pass
        found: Sequence[str] = ()
        fault = "it has no address"
        try:
            found = await self._resolver(host, port)
        except OSError as error:
            fault = error.strerror or str(error)
        except UnicodeError as error:
            fault = str(error)
        if not found:
            raise httpcore.ConnectError(f"the host {host} cannot be found: {fault}")
        return [ipaddress.ip_address(address) for address in found]
