"""What counts as JSON: a private copy of it, or a refusal that names the place.

Values that nodes leave are shared by everything that reads them later, so they are copied once, here, and not changed
afterwards. Copying through text at C speed also measures them.
"""

import math
import re
from dataclasses import dataclass
from typing import Any

import orjson

from riven.core.errors import RivenError
from riven.wire.document import Json

MAX_DEPTH = 250
_MIN_INTEGER, _MAX_INTEGER = -(2**63), 2**63 - 1
_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_NUL = rb"\u0000"


@dataclass(frozen=True, slots=True)
class Copy:
    value: Json
    text: bytes


class NotJsonError(RivenError):
    """`path` is where, below the value: `items[3].price`, or empty for the value itself."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path}: {reason}" if path else reason)


def copy_json(value: object) -> Copy:
    """A copy that shares nothing with `value`; tuples become lists, subclasses of plain types plain.

    Raises:
        NotJsonError: it holds something that JSON has not, an integer beyond 64 bits, NaN or an infinity, or a NUL
            character, which PostgreSQL keeps in no text.
    """
    try:
        text = orjson.dumps(value)
        copied = orjson.loads(text)
    except (orjson.JSONEncodeError, orjson.JSONDecodeError, RecursionError):
        return _carefully(value)
    # NaN is written as null, dates and such as text: then the copy differs from what was given. Integers from 2**63 to
    # 2**64 are written as they are.
    if copied != value or (len(text) >= 19 and _LONG_NUMBER.search(text)) or _NUL in text:
        return _carefully(value)
    return Copy(copied, text)


def _carefully(value: object) -> Copy:
    copied = _plain(value, "", 0)
    return Copy(copied, orjson.dumps(copied))


def _plain(value: object, path: str, depth: int) -> Json:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, path)
    if isinstance(value, int):
        if not _MIN_INTEGER <= value <= _MAX_INTEGER:
            raise NotJsonError(path, "this integer needs more than 64 bits; give it as text")
        return int(value)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise NotJsonError(path, f"{value} is no JSON number")
        return float(value)
    if depth >= MAX_DEPTH:
        raise NotJsonError(path, f"this is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return {_key(key, path): _plain(item, _below(path, key), depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{index}]", depth + 1) for index, item in enumerate(value)]
    raise NotJsonError(path, f"a value of the Python type {type(value).__name__} is no JSON")


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise NotJsonError(path, "this text is no valid Unicode: it holds half of a character") from None
    if "\0" in value:
        raise NotJsonError(path, "this text holds a NUL character, which cannot be kept; take it out")
    return str(value)


def _key(key: Any, path: str) -> str:  # noqa: ANN401 - whatever an author used as a key
    if not isinstance(key, str):
        raise NotJsonError(
            path, f"the key {key!r} is of the type {type(key).__name__}; JSON has only text as keys"
        )
    return _text(key, path)


def _below(path: str, key: object) -> str:
    return f"{path}.{key}" if path else str(key)
