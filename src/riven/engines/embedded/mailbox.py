"""Signals of one run: they meet the nodes that wait for them by name, first come, first served, whoever is first."""

from collections import deque

from riven.core.ids import NodePath
from riven.wire.document import Json


class Mailbox:
    def __init__(self) -> None:
        self._kept: dict[str, deque[Json]] = {}
        self._waiting: dict[str, deque[NodePath]] = {}

    def send(self, name: str, payload: Json) -> NodePath | None:
        """The node that gets it now; None: it is kept."""
        waiting = self._waiting.get(name)
        if waiting:
            return waiting.popleft()
        self._kept.setdefault(name, deque()).append(payload)
        return None

    def wait(self, name: str, path: NodePath) -> tuple[Json] | None:
        """The payload that was kept for this node; None: it waits from now on."""
        kept = self._kept.get(name)
        if kept:
            return (kept.popleft(),)
        self._waiting.setdefault(name, deque()).append(path)
        return None

    def leave(self, name: str, path: NodePath) -> None:
        """The node waits no more."""
        waiting = self._waiting.get(name)
        if waiting is not None and path in waiting:
            waiting.remove(path)

    def give_back(self, name: str, payload: Json) -> None:
        """Its node ended before it arrived: the next one gets it."""
        self._kept.setdefault(name, deque()).appendleft(payload)
