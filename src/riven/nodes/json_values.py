"""Whether a value that foreign code returned is JSON, and where it is not.

The result is a copy of plain lists and dicts, so that nobody changes afterwards what was recorded. Taken as they are
meant: tuples as lists, enum members by their value, pydantic models and dataclasses as the JSON that pydantic makes of
them (their times, UUIDs and decimals become text there). Anything else is refused; a bare time or set has no one JSON
form, and guessing one would be found out late.
"""

import dataclasses
import math
from enum import Enum
from typing import Any

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from riven.core.errors import ErrorClass
from riven.nodes.contract import NodeError
from riven.wire.document import Json

MAX_DEPTH = 100
LARGEST, SMALLEST = 2**63 - 1, -(2**63)


class _NotJsonError(Exception):
    """Travels up the value, gathering the way down to what is wrong."""

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.way: list[str] = []
        super().__init__(reason)


def json_value(value: object, whose: str) -> Json:
    """A plain copy of `value`. `whose` begins the message: "the function 'crm.lookup' returned".

    Raises:
        NodeError: VALIDATION_ERROR, naming the place and what stands there.
    """
    try:
        return _copy(value, 0)
    except _NotJsonError as error:
        place = "".join(reversed(error.way)).removeprefix(".")
        where = f" at `{place[:200]}`" if place else ""
        raise NodeError(
            ErrorClass.VALIDATION_ERROR, f"{whose} what is not JSON{where}: {error.reason}"
        ) from None


def deeper_than(value: Json, levels: int) -> bool:
    """Whether lists and mappings stand in each other more than so many times; without recursion."""
    containers = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        if not containers:
            return False
        containers = [
            child
            for each in containers
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, (dict, list))
        ]
    return bool(containers)


def _copy(value: object, depth: int) -> Json:
    kind = type(value)
    if value is None or kind is bool:
        return value
    if kind is str:
        return _text(value)
    if kind is int:
        return _integer(value)
    if kind is float:
        if not math.isfinite(value):  # type: ignore[arg-type]
            raise _NotJsonError(f"the number {value}")
        return value
    if depth >= MAX_DEPTH:
        raise _NotJsonError(f"more than {MAX_DEPTH} levels, or a value that holds itself")
    if isinstance(value, dict):
        return _mapping(value, depth)
    if isinstance(value, (list, tuple)):
        return _sequence(value, depth)
    return _other(value, depth)


def _text(value: Any) -> str:  # noqa: ANN401
    text = str.__str__(value)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _NotJsonError("a text with half a surrogate pair") from None
    return text


def _integer(value: Any) -> int:  # noqa: ANN401
    if not SMALLEST <= value <= LARGEST:
        raise _NotJsonError("an integer beyond 64 bits")
    return int(value)


def _mapping(value: dict[Any, Any], depth: int) -> dict[str, Json]:
    copy: dict[str, Json] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise _NotJsonError(f"a key that is no text but {_described(key)}")
        try:
            copy[_text(key)] = _copy(item, depth + 1)
        except _NotJsonError as error:
            error.way.append(f".{key}")
            raise
    return copy


def _sequence(value: list[Any] | tuple[Any, ...], depth: int) -> list[Json]:
    copy: list[Json] = []
    for index, item in enumerate(value):
        try:
            copy.append(_copy(item, depth + 1))
        except _NotJsonError as error:
            error.way.append(f"[{index}]")
            raise
    return copy


def _other(value: object, depth: int) -> Json:
    if isinstance(value, Enum):
        return _copy(value.value, depth + 1)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return _integer(value)
    if isinstance(value, float):
        return _copy(float(value), depth)
    if isinstance(value, BaseModel) or (dataclasses.is_dataclass(value) and not isinstance(value, type)):
        return _copy(_dumped(value), depth + 1)
    raise _NotJsonError(_described(value))


def _dumped(value: object) -> object:
    try:
        if isinstance(value, BaseModel):
            return value.model_dump(mode="json", by_alias=True)
        return TypeAdapter(type(value)).dump_python(value, mode="json")
    except (PydanticSerializationError, ValidationError, ValueError, TypeError, RecursionError) as error:
        raise _NotJsonError(f"{_described(value)} that pydantic cannot write: {error}") from None


def _described(value: object) -> str:
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    match name:
        case "datetime.datetime" | "datetime.date" | "datetime.time":
            return f"a {name} (return its isoformat())"
        case "set" | "frozenset":
            return f"a {name} (return a list)"
        case "bytes" | "bytearray":
            return f"{name} (return text)"
        case "coroutine":
            return "a coroutine that nobody awaited"
        case _:
            return f"an object of type {name}"
