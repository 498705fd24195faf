"""Events as a server sends them: `text/event-stream`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """`snapshot`, `node` or `execution`, and the object that changed."""

    kind: str
    data: dict[str, Any]
    id: str | None = None


class EventParser:
    """Takes what arrives, in any pieces. Comments, and events without data, are left out."""

    def __init__(self) -> None:
        self._rest: list[bytes] = []
        self._kind = "message"
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, chunk: bytes) -> Iterator[ServerEvent]:
        """The events that are finished by it.

        Lines end by a line feed alone: to httpx, and to str.splitlines, U+2028 in a value ends one as well.
        """
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            text = b"".join((*self._rest, line)).removesuffix(b"\r").decode("utf-8", errors="replace")
            self._rest.clear()
            if text:
                self._field(text)
            else:
                if self._data:
                    yield ServerEvent(self._kind, json.loads("\n".join(self._data)), self._id)
                self._kind, self._data = "message", []
        self._rest.append(rest)

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                self._kind = value
            case "data":
                self._data.append(value)
            case "id":
                self._id = value
            case _:
                pass  # a comment, or what later versions of the format have
