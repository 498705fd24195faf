"""Events as a server sends them: `text/event-stream`."""

import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """`snapshot`, `node` or `execution`, and the object that changed."""

    kind: str
    data: dict[str, Any]
    id: str | None = None


async def parse_events(chunks: AsyncIterator[bytes]) -> AsyncIterator[ServerEvent]:
    """Comments, and events without data, are left out; what was not finished by an empty line is none."""
    kind, data, event_id = "message", list[str](), None
    async for line in _lines(chunks):
        if not line:
            if data:
                yield ServerEvent(kind, json.loads("\n".join(data)), event_id)
            kind, data = "message", []
            continue
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "event":
                kind = value
            case "data":
                data.append(value)
            case "id":
                event_id = value
            case _:
                pass  # a comment, or what later versions of the format have


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Ended by a line feed alone: to httpx, and to str.splitlines, U+2028 in a value ends a line as well."""
    begun: list[bytes] = []
    async for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            begun.append(line)
            yield b"".join(begun).removesuffix(b"\r").decode("utf-8", errors="replace")
            begun.clear()
        begun.append(rest)
