"""Server-sent events: texts with a number and a name, and comments that keep the connection open."""

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Final

import orjson
from starlette.responses import StreamingResponse

from riven.wire.document import Json

MEDIA_TYPE: Final = "text/event-stream"
KEEP_ALIVE: Final = b": still here\n\n"
_LONGEST_NUMBER: Final = 18


def format_event(number: int, name: str, data: Json) -> bytes:
    """JSON has no line breaks of its own, so that all of it is one line."""
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (number, name.encode(), orjson.dumps(data))


def read_last_id(header: str | None) -> int | None:
    """What `Last-Event-ID` says; None: it says nothing that could be a number of ours."""
    if header is None or not header.isascii() or not header.isdigit() or len(header) > _LONGEST_NUMBER:
        return None
    return int(header)


def stream(events: AsyncIterator[bytes]) -> StreamingResponse:
    headers = {"X-Accel-Buffering": "no"}  # a proxy must not keep it back
    return StreamingResponse(_closed(events), media_type=MEDIA_TYPE, headers=headers)


async def _closed(events: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """When the client leaves, so does what reads for it, at once."""
    async with aclosing(events):  # type: ignore[type-var]  # async generators all
        async for event in events:
            yield event
