"""JSON into CEL and back.

CEL has values that JSON has not. In a result, bytes become base64 text, times RFC 3339 text in UTC, durations seconds as
`90s`, types their names, unsigned integers integers; the keys of objects that CEL made are in alphabetical order, since
its own order changes from process to process. An optional, infinity, NaN, and keys that are not text have no JSON: an
error says so.
"""

import base64
import ctypes
import math
import sys
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, TypeAlias

import orjson
from cel_expr_python import cel

from riven.expressions.bounds import SCALAR, Size, largest
from riven.expressions.errors import ExpressionCode
from riven.wire.document import Json

MAX_TEXT: Final = 16 * 1024 * 1024
"""Bytes of JSON, or of text, that one rendering may yield."""
MAX_LEVELS: Final = 100
"""Lists and objects inside of each other that a template may have."""

_INTEGERS: Final = range(-(2**63), 2**64)
_LIBRARY_LOSES_NONE: Final = sys.version_info < (3, 12)
"""cel-expr-python 0.1 gives away a reference to None for each null in a result. Where None is not immortal, an
interpreter that evaluates long enough dies of it, so we give one back."""

_keep: Final = ctypes.pythonapi.Py_IncRef
_keep.argtypes = [ctypes.py_object]
_keep.restype = None


class UnfitError(Exception):
    """A value that does not pass between JSON and CEL; the caller knows the expression."""

    def __init__(self, code: ExpressionCode, reason: str) -> None:
        self.code: ExpressionCode = code
        self.reason = reason
        super().__init__(reason)


# ---- into CEL -----------------------------------------------------------------------------------------------------


def weigh(value: Json) -> float:
    """The bytes of a value as JSON; raises UnfitError for what the library would cut off, crash on or not take."""
    if value is None or isinstance(value, bool | float):
        return SCALAR
    if isinstance(value, int):
        if value not in _INTEGERS:
            raise UnfitError("number_out_of_range", "an integer beyond 64 bits cannot be computed with")
        return SCALAR
    if isinstance(value, str):
        return _weigh_text(value)
    try:
        data = orjson.dumps(value, option=orjson.OPT_PASSTHROUGH_SUBCLASS | orjson.OPT_PASSTHROUGH_DATETIME)
    except TypeError as error:
        raise _unfit(value, error) from None
    # A backslash that is itself escaped gives the same six characters, so only then a closer look is worth it.
    if b"\\u0000" in data and _has_nul(value):
        raise UnfitError("unsupported_text", _NUL)
    return float(len(data))


_NUL: Final = "a text with a NUL character can be passed on as it is, but not be computed with"
_SURROGATE: Final = "a text with half of a surrogate pair can be passed on as it is, but not be computed with"


def _weigh_text(value: str) -> float:
    if "\0" in value:
        raise UnfitError("unsupported_text", _NUL)
    if value.isascii():
        return len(value) + 2.0
    try:
        return len(value.encode()) + 2.0
    except UnicodeEncodeError:
        raise UnfitError("unsupported_text", _SURROGATE) from None


def _unfit(value: Json, error: TypeError) -> UnfitError:
    said = str(error).lower()
    if "recursion" in said:
        return UnfitError("value_too_deep", "a value is nested too deep to be computed with")
    if "surrogate" in said or "utf-8" in said or "unicode" in said:
        return UnfitError("unsupported_text", _SURROGATE)
    if "integer" in said:
        return UnfitError("number_out_of_range", "an integer beyond 64 bits cannot be computed with")
    return UnfitError("not_json", f"a value of type {type(value).__name__} is not plain JSON: {error}")


def _has_nul(value: Json) -> bool:
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, str):
            if "\0" in each:
                return True
        elif isinstance(each, dict):
            pending.extend(each)
            pending.extend(each.values())
        elif isinstance(each, list):
            pending.extend(each)
    return False


def measure(value: Json, levels: int) -> Size:
    """As `weigh`, and how many elements it has; and how large they are, so many levels down."""
    if isinstance(value, list):
        parts = value
    elif isinstance(value, dict):
        parts = [*value, *value.values()]
    else:
        return Size(weigh(value), 0.0, text=value if isinstance(value, str) else None)
    if levels == 0:
        return Size(weigh(value), float(len(value)))
    return Size(weigh(value), float(len(value)), largest([measure(each, levels - 1) for each in parts]))


# ---- out of CEL ---------------------------------------------------------------------------------------------------

Container: TypeAlias = Literal["LIST", "MAP"]


def to_json(value: cel.Value, type_name: str, *, careful: bool) -> Json:
    """`careful` where the result may hold an optional: reading it at once would crash the process."""
    if type_name == "NULL":
        return None
    if type_name.startswith(("LIST", "MAP")):
        if careful:
            return _part_to_json(value)
        plain = value.plain_value()
        if _LIBRARY_LOSES_NONE:
            for _ in range(_nulls(plain)):
                _keep(None)
        return _plain_to_json(plain)
    if type_name == "ERROR":  # not an error, or the caller had said so: the library has no name for optionals
        raise _optional()
    return _scalar_to_json(value.value())


def _nulls(plain: object) -> int:
    if isinstance(plain, list):
        return sum(1 if each is None else _nulls(each) for each in plain)
    if isinstance(plain, dict):
        return sum(1 if each is None else _nulls(each) for each in plain.values())
    return 0


def _plain_to_json(plain: object) -> Json:
    if isinstance(plain, str | int) or plain is None:
        return plain
    if isinstance(plain, list):
        return [_plain_to_json(each) for each in plain]
    if isinstance(plain, dict):
        return {_key(key): _plain_to_json(plain[key]) for key in _sorted(plain)}
    return _scalar_to_json(plain)


def _part_to_json(value: cel.Value) -> Json:
    type_name = value.type().name()
    if type_name == "NULL":
        return None
    if type_name == "ERROR":
        raise _optional()
    inner = value.value()
    if isinstance(inner, list):
        return [_part_to_json(each) for each in inner]
    if isinstance(inner, dict):
        return {_key(key): _part_to_json(inner[key]) for key in _sorted(inner)}
    return _scalar_to_json(inner)


def _sorted(plain: dict[object, object]) -> list[object]:
    return sorted(plain, key=str)


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    shown = {True: "true", False: "false"}.get(key, str(key)) if isinstance(key, bool) else str(key)
    raise UnfitError(
        "not_json", f"the result has the key {shown}; keys of an object must be text: {{'{shown}': ...}}"
    )


def _scalar_to_json(plain: object) -> Json:
    match plain:
        case str() | bool() | int() | None:
            return plain
        case float():
            if math.isfinite(plain):
                return plain
            raise UnfitError("not_json", f"the result is {_not_a_number(plain)}, which is no number in JSON")
        case bytes() | bytearray():
            return base64.b64encode(plain).decode()
        case datetime():
            return plain.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case timedelta():
            return _seconds(plain)
        case cel.Type():
            return plain.name().partition("<")[0].lower()
        case _:
            raise UnfitError("not_json", f"the result is a {type(plain).__name__}, which is no JSON value")


def _not_a_number(value: float) -> str:
    return "not a number (NaN)" if math.isnan(value) else "infinity" if value > 0 else "minus infinity"


def _seconds(value: timedelta) -> str:
    micros = value // timedelta(microseconds=1)
    whole, rest = divmod(abs(micros), 1_000_000)
    fraction = f".{rest:06}".rstrip("0") if rest else ""
    return f"{'-' if micros < 0 else ''}{whole}{fraction}s"


def _optional() -> UnfitError:
    return UnfitError(
        "optional_result",
        "with .? the result may be absent: say what it is then, by .orValue(null) or another value at the end",
    )


# ---- into text ----------------------------------------------------------------------------------------------------


def to_text(value: Json) -> str:
    """A value inside of a text: strings as they are, others as compact JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        raise UnfitError("null_in_text", "this is null, which has no place inside of text")
    try:
        return orjson.dumps(value).decode()
    except TypeError as error:
        raise _unfit(value, error) from None
