"""The lines of a source around a place in it, the place marked below: tabs, wide characters and long lines included."""

import re
from collections.abc import Sequence

from riven.cli.lettering import char_cells, text_cells

_BREAK = re.compile(r"\r\n|\r|\n")
"""What ends a line for those who count them in problems."""
_TAB = 4
_SMALLEST = 20


def source_lines(text: str) -> list[str]:
    return _BREAK.split(text)


def excerpt(lines: Sequence[str], line: int, column: int | None, width: int) -> list[str]:
    """The line and the one before it with their numbers, and a mark below `column`; both count from 1.

    A place beyond the end is shown as the end: what is missing is often noticed only there.
    """
    if not lines:
        return []
    last = min(max(line, 1), len(lines))
    margin = len(str(last))
    room = max(width - margin - 5, _SMALLEST)
    place = None if column is None else max(column, 1) if line == last else len(lines[last - 1]) + 1
    target, mark = _shown(lines[last - 1], place, room)
    shown = []
    if last > 1:
        before, _ = _shown(lines[last - 2], 1, room)
        shown.append(f"  {last - 1:>{margin}} | {before}".rstrip())
    shown.append(f"  {last:>{margin}} | {target}".rstrip())
    if mark is not None:
        shown.append(f"  {'':>{margin}} | {' ' * mark}^")
    return shown


def _shown(text: str, column: int | None, room: int) -> tuple[str, int | None]:
    """The part of a line that fits, and the cell in it at which `column` stands."""
    cells: list[str] = []
    used = 0
    place: int | None = None
    for index, char in enumerate(text):
        if column is not None and index == column - 1:
            place = used
        shown = _visible(char, used)
        cells.append(shown)
        used += text_cells(shown)
    if column is not None and place is None:
        place = used
    if used <= room:
        return "".join(cells), place
    return _window("".join(cells), place, room)


def _window(text: str, place: int | None, room: int) -> tuple[str, int | None]:
    """`room` cells of `text` with `place` about a third from the left; an ellipsis where it was cut."""
    start = max(0, (place or 0) - room // 3)
    kept: list[str] = ["…"] if start else []
    used, at, mark = len(kept), 0, None
    for char in text:
        size = char_cells(char)
        if place is not None and at >= place and mark is None:
            mark = used
        if at > start or (at == start and not start):
            if used + size > room - 1:
                kept.append("…")
                break
            kept.append(char)
            used += size
        at += size
    return "".join(kept), used if place is not None and mark is None else mark


def _visible(char: str, used: int) -> str:
    if char == "\t":
        return " " * (_TAB - used % _TAB)
    return char if char.isprintable() or char in "\u00a0\u3000" else "\ufffd"
