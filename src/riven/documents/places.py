"""Where things stand in a document: locations, the dotted paths people read, and lines and columns.

A location is the way down from the top, key by key. Written out it is a path such as `nodes.order.with.url` or
`edges[2].to`; a key that would be read wrongly so is put in brackets and quotes: `with.headers["a.b"]`.
"""

import json
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from riven.wire.document import Json

Location: TypeAlias = tuple[str | int, ...]

_PLAIN_KEY = re.compile(r"[^\s.\[\]\"\\]{1,128}")
_LINE_END = re.compile(r"\r\n|\r|\n")
_LONGEST_KEY = 128


def dotted(location: Location) -> str:
    parts: list[str] = []
    for step in location:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN_KEY.fullmatch(step) and step.isprintable():
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{json.dumps(shorten(step, _LONGEST_KEY), ensure_ascii=False)}]")
    return "".join(parts)


def shorten(text: str, limit: int = 80) -> str:
    """One line of at most `limit` characters that any terminal can print."""
    line = text if len(text) <= limit else f"{text[: limit - 1]}…"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in line)


@dataclass(slots=True)
class Lines:
    """Lines and columns of a text, both counted from 1, columns in characters."""

    text: str
    _starts: list[int] = field(default_factory=list)

    def at(self, offset: int) -> tuple[int, int]:
        if not self._starts:
            self._starts = [0, *(end.end() for end in _LINE_END.finditer(self.text))]
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


Offsets: TypeAlias = list[int]
"""Of a mapping: key, value, key, value, ... in its order; of a list: its elements."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A value that was read from text, and where each part of it stands.

    A container is known by its identity: an alias gives the same one twice, standing where its anchor stands.
    """

    value: Json
    start: int
    lines: Lines
    offsets: dict[int, tuple[Json, Offsets]]

    def position(self, location: Location, *, key: bool = False) -> tuple[int, int]:
        """Line and column of a value; of its key where `key` asks for it or where the value is a container.

        Of what does not exist, the position of the innermost thing around it that does: a missing field stands where
        its node stands.
        """
        value, offset = self.value, self.start
        for depth, step in enumerate(location):
            found = self._step(value, step)
            if found is None:
                break
            value, key_offset, value_offset = found
            wants_key = key and depth == len(location) - 1
            offset = key_offset if wants_key or isinstance(value, (dict, list)) else value_offset
        return self.lines.at(offset)

    def _step(self, value: Json, step: str | int) -> tuple[Json, int, int] | None:
        known = self.offsets.get(id(value))
        if known is None:
            return None
        offsets = known[1]
        if isinstance(value, dict):
            if step not in value:
                return None
            index = 2 * list(value).index(step)
            return value[step], offsets[index], offsets[index + 1]
        if isinstance(step, int) and step < len(value):
            return value[step], offsets[step], offsets[step]
        return None


def find(value: Json, location: Location) -> tuple[Json, Location]:
    """The innermost value on the way of a location that exists, and how far the way went."""
    for depth, step in enumerate(location):
        in_mapping = isinstance(value, dict) and step in value
        in_list = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if not (in_mapping or in_list):
            return value, location[:depth]
        value = value[step]
    return value, location


def texts(value: Json) -> Iterator[tuple[Location, str]]:
    """Every string in a value, with its place; without recursion."""
    todo: list[tuple[Location, Json]] = [((), value)]
    while todo:
        place, each = todo.pop()
        if isinstance(each, str):
            yield place, each
        elif isinstance(each, dict):
            todo += [
                ((*place, key), inner)
                for key, inner in reversed(each.items())
                if isinstance(inner, str | dict | list)
            ]
        elif isinstance(each, list):
            todo += [((*place, index), each[index]) for index in range(len(each) - 1, -1, -1)]
