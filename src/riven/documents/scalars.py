"""Plain words of YAML 1.2 to values, by the core schema: `on`, `yes` and dates are text."""

import math
import re
from typing import Final

from riven.documents.builder import LARGEST, SMALLEST
from riven.wire.document import Json

_CONSTANTS: Final[dict[str, Json]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NUMBER_BEGINS: Final = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)
_PREFIXED = re.compile(r"0(?:o[0-7]+|x[0-9a-fA-F]+)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_LONGEST_INTEGER = 19
_LONGEST_FLOAT = 1_000


class NumberRangeError(ValueError):
    """A number that JSON, or 64 bits, cannot hold. `code` is the problem's."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


def plain(text: str) -> Json:
    """Raises NumberRangeError."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text[0] not in _NUMBER_BEGINS:
        return text
    if _INTEGER.fullmatch(text):
        return integer(text)
    if _FLOAT.fullmatch(text):
        return decimal(text)
    if _PREFIXED.fullmatch(text):
        return _within(int(text, 0), text) if len(text) <= 32 else _beyond()
    if _NOT_FINITE.fullmatch(text):
        raise NumberRangeError("not_finite", f"{text} is no number that JSON has; use a finite one")
    return text


def integer(text: str) -> int:
    """Raises NumberRangeError."""
    digits = text.lstrip("+-").lstrip("0")
    return _within(int(text), text) if len(digits) <= _LONGEST_INTEGER else _beyond()


def decimal(text: str) -> float:
    """Raises NumberRangeError."""
    number = float(text) if len(text) <= _LONGEST_FLOAT else math.inf
    if not math.isfinite(number):
        raise NumberRangeError("not_finite", "the number is too large; use one below 1.8e308")
    return number


def check_number(value: int | float) -> None:
    """Raise NumberRangeError for what no document may hold."""
    if isinstance(value, int):
        if not SMALLEST <= value <= LARGEST:
            _beyond()
    elif not math.isfinite(value):
        raise NumberRangeError(
            "not_finite", "NaN and Infinity are no numbers that JSON has; use a finite one"
        )


def _within(number: int, text: str) -> int:
    if SMALLEST <= number <= LARGEST:
        return number
    raise NumberRangeError("integer_range", f"{text} is beyond 64 bits; write it as a text, in quotes")


def _beyond() -> int:
    raise NumberRangeError("integer_range", "the integer is beyond 64 bits; write it as a text, in quotes")
