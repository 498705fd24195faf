"""Durations as people write them: `500ms`, `20s`, `10m`, `2h`, `3d`, `1h30m`, ISO 8601 (`PT30S`), a number of seconds."""

import math
import re

MAX_MILLISECONDS = 10 * 366 * 24 * 3_600_000
"""Ten years: far beyond every use, and no sum of them leaves 64 bits."""

_UNITS = {"ms": 1.0, "s": 1_000.0, "m": 60_000.0, "h": 3_600_000.0, "d": 86_400_000.0}
_PART = re.compile(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)(ms|s|m|h|d)", re.ASCII)
_ISO = re.compile(
    r"P(?:(?P<weeks>[0-9]{1,9}(?:[.,][0-9]{1,9})?)W)?(?:(?P<days>[0-9]{1,9}(?:[.,][0-9]{1,9})?)D)?"
    r"(?:T(?:(?P<hours>[0-9]{1,12}(?:[.,][0-9]{1,9})?)H)?(?:(?P<minutes>[0-9]{1,12}(?:[.,][0-9]{1,9})?)M)?"
    r"(?:(?P<seconds>[0-9]{1,15}(?:[.,][0-9]{1,9})?)S)?)?",
    re.ASCII,
)
_NUMBER = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,9})?", re.ASCII)
_ISO_UNITS = {"weeks": 7 * 86_400.0, "days": 86_400.0, "hours": 3_600.0, "minutes": 60.0, "seconds": 1.0}

_EXAMPLES = "write for example 500ms, 20s, 10m, 2h, 3d, PT30S, or a number of seconds"


def parse_duration(value: str | int | float) -> int:
    """Milliseconds, rounded to the nearest; more than nothing never becomes nothing.

    Raises:
        ValueError: not a duration, negative, or longer than ten years; its text says what to write instead.
    """
    if isinstance(value, (int, float)):
        if isinstance(value, bool) or (isinstance(value, float) and not math.isfinite(value)):
            raise ValueError(f"this is no duration; {_EXAMPLES}")
        if value < 0:
            raise ValueError("a duration cannot be negative")
        if value > MAX_MILLISECONDS:  # before the arithmetic: an integer may be too large for a float
            raise ValueError("a duration can be at most ten years")
        return _bounded(value * 1_000)
    text = value.strip()
    if text.startswith("-"):
        raise ValueError(
            "a duration cannot be negative" if len(text) <= 64 else f"this is no duration; {_EXAMPLES}"
        )
    if len(text) > 64:
        raise ValueError(f"this is no duration; {_EXAMPLES}")
    found = _milliseconds(text)
    if found is None:
        raise ValueError(f"{text!r} is no duration; {_EXAMPLES}")
    return _bounded(found)


def _milliseconds(text: str) -> float | None:
    if _NUMBER.fullmatch(text):
        return float(text) * 1_000
    if text.startswith("P"):
        return _iso(text)
    total, end, seen = 0.0, 0, set[str]()
    while end < len(text):
        part = _PART.match(text, end)
        if part is None or part[2] in seen:
            return None
        seen.add(part[2])
        total += float(part[1]) * _UNITS[part[2]]
        end = part.end()
    return total if seen else None


def _iso(text: str) -> float | None:
    found = _ISO.fullmatch(text)
    if found is None or text.endswith("T"):
        return None
    parts = {name: part for name, part in found.groupdict().items() if part is not None}
    if not parts:
        return None
    return 1_000 * sum(float(part.replace(",", ".")) * _ISO_UNITS[name] for name, part in parts.items())


def _bounded(milliseconds: float) -> int:
    if milliseconds > MAX_MILLISECONDS:
        raise ValueError("a duration can be at most ten years")
    rounded = round(milliseconds)
    return 1 if rounded == 0 and milliseconds > 0 else rounded


def duration_text(milliseconds: int) -> str:
    """The shortest way to write it that `parse_duration` reads back exactly."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)):
        if milliseconds and milliseconds % size == 0:
            return f"{milliseconds // size}{unit}"
    return f"{milliseconds}ms"
