"""HTTP for nodes: one client a worker, with its address policy, its limits and its connections.

This module is the port, and light. What speaks HTTP is `http_exchange`, which is loaded by name when the first request
is sent: the HTTP library costs more to import than validating a small document takes.
"""

import functools
import importlib
import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

from riven.nodes.addresses import AddressPolicy
from riven.nodes.function_pool import FunctionPool


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    connections: int = 256
    """Open at a time, for each of http and https."""
    per_host: int = 32
    """Requests under way to one host and port; further ones wait in order."""
    idle_seconds: float = 2.0
    """How long an unused connection is kept: shorter than servers do, so that none is taken as it closes."""
    connect_seconds: float = 10.0
    """For looking up the host, connecting and TLS. The rest of a request is bounded by its node's timeout."""
    redirects: int = 5
    body_bytes: int = 16 * 1024 * 1024
    """Of a response, as sent and as unpacked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    method: str
    url: str
    headers: Sequence[tuple[str, str]] = ()
    body: bytes | None = None
    follow_redirects: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpAnswer:
    status: int
    reason: str
    headers: Mapping[str, str]
    """Names in small letters; the values of a repeated one joined by commas."""
    body: bytes
    """Unpacked."""
    shown: str
    """Method and URL of the last hop for messages, without the query."""
    redirects: int = 0


class Resolver(Protocol):
    """Looks a host name up: its addresses, best first. Raises OSError when there are none."""

    async def __call__(self, host: str, port: int) -> Sequence[str]: ...


class Exchange(Protocol):
    """What `http_exchange` implements."""

    async def send(self, call: HttpCall) -> HttpAnswer: ...
    async def aclose(self) -> None: ...


class _OpenExchange(Protocol):
    def __call__(
        self, policy: AddressPolicy, limits: HttpLimits, resolver: Resolver, tls: ssl.SSLContext | None
    ) -> Exchange: ...


@dataclass(slots=True)
class SystemResolver:
    """The operating system's, in threads that do not hold up the end of the process."""

    pool: FunctionPool = field(default_factory=lambda: FunctionPool(16))

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        look_up = functools.partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await self.pool.run(look_up)
        return list(dict.fromkeys(str(address[4][0]) for address in found))


class HttpClient:
    """Sends requests under one address policy. For one event loop; `aclose` it there."""

    def __init__(
        self,
        policy: AddressPolicy,
        *,
        limits: HttpLimits | None = None,
        resolver: Resolver | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`tls`: None for the system's and Mozilla's certificate authorities."""
        self.policy = policy
        self.limits = limits if limits is not None else HttpLimits()
        self._resolver = resolver if resolver is not None else SystemResolver()
        self._tls = tls
        self._exchange: Exchange | None = None

    async def send(self, call: HttpCall) -> HttpAnswer:
        """The response, whatever its status.

        Raises:
            NodeError: SECURITY_ERROR for what the policy refuses, VALIDATION_ERROR for a request that cannot be sent
                or a response that is too large, NETWORK_ERROR or TIMEOUT when there was no whole response.
        """
        if self._exchange is None:
            self._exchange = _open_exchange()(self.policy, self.limits, self._resolver, self._tls)
        return await self._exchange.send(call)

    async def aclose(self) -> None:
        """Close the connections. Twice is safe; a later request opens new ones."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            await exchange.aclose()

    async def __aenter__(self) -> "HttpClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _open_exchange() -> _OpenExchange:
    module = importlib.import_module("riven.nodes.http_exchange")
    return cast("_OpenExchange", module.HttpExchange)
