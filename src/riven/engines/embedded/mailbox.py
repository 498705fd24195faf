"""Signals of one run: they meet the nodes that wait for them by name, first come, first served, whoever is first."""

from collections import deque
from dataclasses import dataclass
from uuid import UUID

from riven.core.ids import NodePath
from riven.wire.document import Json


@dataclass(frozen=True, slots=True)
class Message:
    payload: Json
    at: int
    source: UUID | None = None
    """The row that it came from, where messages are rows."""


class Mailbox:
    def __init__(self) -> None:
        self._kept: dict[str, deque[Message]] = {}
        self._waiting: dict[str, deque[NodePath]] = {}

    def send(self, name: str, message: Message) -> NodePath | None:
        """The node that gets it now; None: it is kept."""
        waiting = self._waiting.get(name)
        if waiting:
            return waiting.popleft()
        self._kept.setdefault(name, deque()).append(message)
        return None

    def wait(self, name: str, path: NodePath) -> Message | None:
        """The message that was kept for this node; None: it waits from now on."""
        kept = self._kept.get(name)
        if kept:
            return kept.popleft()
        self._waiting.setdefault(name, deque()).append(path)
        return None

    def leave(self, name: str, path: NodePath) -> None:
        """The node waits no more."""
        waiting = self._waiting.get(name)
        if waiting is not None and path in waiting:
            waiting.remove(path)

    def give_back(self, name: str, message: Message) -> None:
        """Its node ended before it arrived: the next one gets it."""
        self._kept.setdefault(name, deque()).appendleft(message)
