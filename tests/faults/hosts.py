"""Hosts of their own on this machine: network namespaces on one bridge, each of which can be cut off and healed."""

import itertools
import os
import subprocess
from collections.abc import Sequence

_OURS = f"rv{os.getpid() % 65_536:04x}"
"""Names are the machine's: other tests may run on it."""
NETWORK = f"10.213.{os.getpid() % 250 + 1}"


def allowed() -> str | None:
    """Why there can be no such hosts here; None if there can."""
    if os.geteuid() != 0:
        return "only root can make network namespaces"
    try:
        ip("netns", "add", f"{_OURS}-probe")
        ip("netns", "del", f"{_OURS}-probe")
        ip("link", "add", f"{_OURS}-probe", "type", "bridge")
        ip("link", "del", f"{_OURS}-probe")
    except (OSError, subprocess.CalledProcessError) as error:
        return f"network namespaces are not permitted here: {error}"
    return None


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True)


class Hosts:
    """To be entered; what it has made is gone afterwards."""

    def __init__(self, *names: str) -> None:
        self._names = names
        numbers = itertools.count(1)
        self._numbers = {name: next(numbers) for name in names}

    def __enter__(self) -> "Hosts":
        self._clear()
        ip("link", "add", _OURS, "type", "bridge")
        ip("addr", "add", f"{NETWORK}.254/24", "dev", _OURS)
        ip("link", "set", _OURS, "up")
        for name in self._names:
            space, cable = self._space(name), self._cable(name)
            ip("netns", "add", space)
            ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", space)
            ip("link", "set", cable, "master", _OURS, "up")
            ip("-n", space, "addr", "add", f"{self.address(name)}/24", "dev", "eth0")
            ip("-n", space, "link", "set", "eth0", "up")
            ip("-n", space, "link", "set", "lo", "up")
        return self

    def __exit__(self, *_: object) -> None:
        self._clear()

    def address(self, name: str) -> str:
        return f"{NETWORK}.{self._numbers[name]}"

    def on(self, name: str) -> Sequence[str]:
        """What a command begins with that is to run there; the process keeps its number."""
        return ("ip", "netns", "exec", self._space(name))

    def cut_off(self, name: str) -> None:
        """Nothing that it says arrives, and it hears nothing; nobody is told."""
        ip("link", "set", self._cable(name), "down")

    def heal(self, name: str) -> None:
        ip("link", "set", self._cable(name), "up")

    def _space(self, name: str) -> str:
        return f"{_OURS}-{name}"

    def _cable(self, name: str) -> str:
        return f"{_OURS}-{self._numbers[name]}"

    def _clear(self) -> None:
        for name in self._names:
            subprocess.run(["ip", "netns", "del", self._space(name)], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", _OURS], check=False, capture_output=True)
