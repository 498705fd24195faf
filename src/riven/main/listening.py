"""The API's address: taken, told, and asked whether somebody serves it."""

import asyncio
import errno
import socket
import time

from riven.devstack.errors import DevstackError


async def listen(host: str, port: int, *, patience: float) -> socket.socket:
    """A socket, listening. `patience`: seconds for which an address that is taken may become free."""
    end = time.monotonic() + patience
    while True:
        try:
            return _bind(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > end:
                taken = error.errno in (errno.EADDRINUSE, errno.EACCES)
                what = "port with --port (0: a free one)" if taken else "address with --host"
                reason = error.strerror or str(error)
                raise DevstackError(
                    f"cannot listen on {host}:{port}: {reason}; choose another {what}"
                ) from error
        await asyncio.sleep(0.05)


def _bind(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(1024)
    except OSError:
        listening.close()
        raise
    return listening


async def is_ready(host: str, port: int) -> bool:
    try:
        reader, writer = await asyncio.open_connection(host, port)
        try:
            writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            return b" 200 " in await reader.readline()
        finally:
            writer.close()
    except OSError:  # it has died and is started again
        return False


def reachable(host: str) -> str:
    """Where a server is found on this machine that listens everywhere."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - nothing listens here


def in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host
