"""Requests over pooled, pinned connections, redirects included.

httpcore, the transport layer of httpx, is used directly: a client of httpx keeps cookies between requests, which would
carry them from one tenant to the next, reads proxies from the environment, and unpacks bodies without a bound.
"""

import asyncio
import os
import ssl
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urljoin

import certifi
import httpcore

from riven.core.errors import ErrorClass
from riven.nodes.addresses import AddressPolicy
from riven.nodes.contract import NodeError
from riven.nodes.hosts import ForbiddenUrlError, Target, UrlError, read_url
from riven.nodes.http_body import BodyBrokenError, BodyError, read_body
from riven.nodes.http_client import HttpAnswer, HttpCall, HttpLimits, Resolver
from riven.nodes.http_headers import (
    Fields,
    complete,
    header_fault,
    without_body,
    without_credentials,
)
from riven.nodes.pinning import PinnedBackend

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_REPEATABLE = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True)
class _Hop:
    """One request of a chain of redirects."""

    method: str
    target: Target
    fields: Fields
    body: bytes | None

    @property
    def shown(self) -> str:
        return f"{self.method} {self.target.shown}"


@dataclass(slots=True)
class _Gate:
    places: asyncio.Semaphore
    users: int = 0


class HttpExchange:
    def __init__(
        self, policy: AddressPolicy, limits: HttpLimits, resolver: Resolver, tls: ssl.SSLContext | None
    ) -> None:
        self._limits = limits
        self._tls = tls
        self._backend = PinnedBackend(policy, resolver)
        self._pools: dict[str, httpcore.AsyncConnectionPool] = {}
        self._gates: dict[tuple[str, int], _Gate] = {}

    async def send(self, call: HttpCall) -> HttpAnswer:
        for name, value in call.headers:
            fault = header_fault(name, value)
            if fault is not None:
                raise NodeError(ErrorClass.VALIDATION_ERROR, fault)
        hop = _Hop(call.method, _target(call.url, call.method), tuple(call.headers), call.body)
        start = hop
        for redirects in range(self._limits.redirects + 1):
            answer = await self._answer(hop)
            location = answer.headers.get("location")
            if not call.follow_redirects or answer.status not in _REDIRECTS or location is None:
                return replace(answer, redirects=redirects)
            hop = _redirected(hop, answer.status, location)
        raise NodeError(
            ErrorClass.SECURITY_ERROR, f"{start.shown}: more than {self._limits.redirects} redirects"
        )

    async def aclose(self) -> None:
        pools = list(self._pools.values())
        self._pools.clear()
        for pool in pools:
            await pool.aclose()

    async def _answer(self, hop: _Hop) -> HttpAnswer:
        try:
            async with self._place(hop.target.host, hop.target.port):
                return await self._exchanged(hop)
        except NodeError as error:
            raise NodeError(error.error_class, f"{hop.shown}: {error}") from None
        except BodyBrokenError as error:
            raise NodeError(ErrorClass.NETWORK_ERROR, f"{hop.shown}: the response {error}") from None
        except BodyError as error:
            raise NodeError(ErrorClass.VALIDATION_ERROR, f"{hop.shown}: the response {error}") from None
        except httpcore.TimeoutException as error:
            raise NodeError(ErrorClass.TIMEOUT, f"{hop.shown}: {_reason(error)}") from error
        except httpcore.LocalProtocolError as error:
            raise NodeError(ErrorClass.VALIDATION_ERROR, f"{hop.shown}: {_reason(error)}") from error
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError) as error:
            raise NodeError(ErrorClass.NETWORK_ERROR, f"{hop.shown}: {_reason(error)}") from error

    async def _exchanged(self, hop: _Hop) -> HttpAnswer:
        connected: list[str] = []

        async def watch(event: str, _: Any) -> None:  # noqa: ANN401 - the library's signature
            if event == "connection.connect_tcp.started":
                connected.append(event)

        try:
            return await self._once(hop, watch)
        except (httpcore.ReadError, httpcore.WriteError, httpcore.RemoteProtocolError):
            # A kept connection may be closed by the server in the moment in which it is used again.
            if connected or hop.method not in _REPEATABLE:
                raise
        return await self._once(hop, watch)

    async def _once(self, hop: _Hop, watch: Any) -> HttpAnswer:  # noqa: ANN401 - the library's signature
        target = hop.target
        request = httpcore.Request(
            hop.method,
            httpcore.URL(
                scheme=target.scheme.encode(),
                host=target.host.encode(),
                port=target.port,
                target=target.path.encode(),
            ),
            headers=complete(hop.fields, target.authority, hop.body, hop.method),
            content=hop.body,
            extensions={"timeout": {"connect": self._limits.connect_seconds}, "trace": watch},
        )
        response = await self._pool(target.scheme).handle_async_request(request)
        try:
            headers = _joined(response.headers)
            if response.status == 101:
                raise httpcore.RemoteProtocolError("the server wants to speak another protocol")
            body = await self._body(response, headers)
        finally:
            await response.aclose()
        reason = response.extensions.get("reason_phrase", b"").decode("latin-1")
        return HttpAnswer(status=response.status, reason=reason, headers=headers, body=body, shown=hop.shown)

    async def _body(self, response: httpcore.Response, headers: dict[str, str]) -> bytes:
        if response.status in _REDIRECTS and "location" in headers:
            return b""
        assert isinstance(response.stream, AsyncIterable)  # noqa: S101 - of an asynchronous pool it is
        chunks = aiter(response.stream)
        try:
            return await read_body(chunks, headers.get("content-encoding", ""), self._limits.body_bytes)
        except BodyError:
            # The library's stream is made of generators in generators. Left half-way they would be finished later, by
            # tasks that nobody waits for; a closed connection finishes them now.
            await response.aclose()
            with suppress(httpcore.NetworkError, httpcore.ProtocolError):
                async for _ in chunks:
                    pass
            raise

    def _pool(self, scheme: str) -> httpcore.AsyncConnectionPool:
        if scheme not in self._pools:
            self._pools[scheme] = httpcore.AsyncConnectionPool(
                ssl_context=(self._tls or _tls_context()) if scheme == "https" else None,
                max_connections=self._limits.connections,
                keepalive_expiry=self._limits.idle_seconds,
                network_backend=self._backend,
            )
        return self._pools[scheme]

    @asynccontextmanager
    async def _place(self, host: str, port: int) -> AsyncIterator[None]:
        gate = self._gates.setdefault((host, port), _Gate(asyncio.Semaphore(self._limits.per_host)))
        gate.users += 1
        try:
            async with gate.places:
                yield
        finally:
            gate.users -= 1
            if gate.users == 0:
                self._gates.pop((host, port), None)


def _tls_context() -> ssl.SSLContext:
    """The system's certificate authorities (and SSL_CERT_FILE), and Mozilla's where the system has none."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _target(url: str, method: str, before: str = "") -> Target:
    try:
        return read_url(url)
    except ForbiddenUrlError as error:
        raise NodeError(ErrorClass.SECURITY_ERROR, f"{before or method}: {error}") from None
    except UrlError as error:
        raise NodeError(ErrorClass.VALIDATION_ERROR, f"{before or method}: {error}") from None


def _redirected(hop: _Hop, status: int, location: str) -> _Hop:
    """As browsers do: 303 becomes a GET, and so does a POST that is answered by 301 or 302."""
    try:
        url = urljoin(hop.target.url, location)
    except ValueError:
        url = location
    target = _target(url, hop.method, f"{hop.shown}: redirected")
    fields, method, body = hop.fields, hop.method, hop.body
    if (status == 303 and method != "HEAD") or (status in {301, 302} and method == "POST"):
        method, body, fields = "GET", None, without_body(fields)
    if not _same_party(hop.target, target):
        fields = without_credentials(fields)
    return _Hop(method, target, tuple(fields), body)


def _same_party(one: Target, other: Target) -> bool:
    """The same origin, or the same host moving from http to https on their usual ports."""
    upgraded = one.host == other.host and (one.scheme, one.port) == ("http", 80)
    return one.origin == other.origin or (upgraded and (other.scheme, other.port) == ("https", 443))


def _joined(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    joined: dict[str, str] = {}
    for raw_name, raw_value in headers:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        joined[name] = f"{joined[name]}, {value}" if name in joined else value
    return joined


def _reason(error: BaseException) -> str:
    """The most telling text on the way down to the cause."""
    cause: BaseException | None = error
    told = str(error)
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"the certificate is not trusted: {cause.verify_message}"
        if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and (cause.errno or 0) > 0:
            told = os.strerror(cause.errno or 0)
        cause = cause.__cause__ or cause.__context__  # the library raises again `from None`
    return told or type(error).__name__
