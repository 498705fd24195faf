"""Ports on 127.0.0.1."""

import re
import secrets
import socket
from pathlib import Path

from riven.devstack.errors import DevstackError

_LOWEST, _HIGHEST = 15_432, 32_767
_GIVEN_TO_CLIENTS = Path("/proc/sys/net/ipv4/ip_local_port_range")


def choose_port() -> int:
    """A free port from below those that the system gives to clients.

    A client that keeps trying to reach a server which is down may otherwise be given the server's own port, and is then
    connected to itself, with the server locked out.
    """
    low, high = _client_ports()
    for _ in range(1000):
        port = _LOWEST + secrets.randbelow(_HIGHEST - _LOWEST + 1)
        if not low <= port <= high and is_free(port):
            return port
    with socket.socket() as anything:
        anything.bind(("127.0.0.1", 0))
        return int(anything.getsockname()[1])


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as servers do: old connections do not count
        try:
            probe.bind(("127.0.0.1", port))
        except (OSError, OverflowError):
            return False
        return True


def check_port(port: int) -> None:
    if not is_free(port):
        raise DevstackError(
            f"port {port} on 127.0.0.1 is taken by another program: stop it or choose another port"
        )


def _client_ports() -> tuple[int, int]:
    try:
        low, high = re.findall(r"\d+", _GIVEN_TO_CLIENTS.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return 49_152, 65_535
    return int(low), int(high)
