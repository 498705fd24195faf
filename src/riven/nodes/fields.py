"""Kinds of configuration fields that several node types share, each with its JSON Schema."""

import math
import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, TypeAlias

import orjson
from pydantic import PlainValidator, WithJsonSchema

from riven.wire.document import Json
from riven.wire.durations import parse_duration

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMESTAMP = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2})[Tt ]([0-9]{2}:[0-9]{2}:[0-9]{2})(?:\.([0-9]{1,12}))?"
    r"([Zz]|[+-][0-9]{2}:[0-9]{2})",
    re.ASCII,
)


def text_of(value: Json) -> str:
    """A value as text, joined as templates join it: strings as they are, others as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _text(value: object) -> str:
    if value is None:
        raise ValueError("write a text; null is none")
    try:
        return text_of(value)
    except orjson.JSONEncodeError as error:
        raise ValueError(f"this cannot be written as text: {error}") from None


def _duration(value: object) -> int:
    if not isinstance(value, (str, int, float)):
        raise ValueError("write a duration such as 20s, 10m or 3d, or a number of seconds")  # noqa: TRY004 - pydantic reads it
    return parse_duration(value)


def parse_timestamp(value: object) -> int:
    """Milliseconds since the epoch of an RFC 3339 time, rounded up: nothing that waits for it is early.

    Raises:
        ValueError: its text says what to write instead.
    """
    example = "write a time with its zone, such as 2030-01-31T09:00:00Z or 2030-01-31T09:00:00+01:00"
    found = _TIMESTAMP.fullmatch(value.strip()) if isinstance(value, str) and len(value) <= 64 else None
    if found is None:
        raise ValueError(example)
    day, clock, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(f"{day}T{clock}{'+00:00' if zone in 'Zz' else zone}")
    except ValueError as error:
        raise ValueError(f"there is no such time ({error}); {example}") from None
    whole = (moment - _EPOCH) // timedelta(milliseconds=1)
    return whole + math.ceil(int((fraction or "0").ljust(12, "0")) / 1_000_000_000)


Text: TypeAlias = Annotated[
    str, PlainValidator(_text), WithJsonSchema({"type": ["string", "number", "boolean"]})
]
"""Text for people or for the wire; a number or another JSON value is written out."""

Duration: TypeAlias = Annotated[
    int,
    PlainValidator(_duration),
    WithJsonSchema(
        {"type": ["string", "number"], "examples": ["500ms", "20s", "10m", "2h", "3d", "PT30S", 1.5]}
    ),
]
"""Milliseconds; in the document a duration as people write it, or a number of seconds."""

Timestamp: TypeAlias = Annotated[
    int, PlainValidator(parse_timestamp), WithJsonSchema({"type": "string", "format": "date-time"})
]
"""Milliseconds since the epoch; in the document RFC 3339, always with a zone."""
