"""Rows of text in columns."""

from collections.abc import Iterable, Iterator, Sequence

import click

from riven.cli.lettering import clipped, printable, text_cells

_GAP = "  "
_WIDEST = 60


def columns(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The head and the rows, each a line; what is long is cut, but for the last column."""
    last = len(head) - 1
    shown = [[_cell(text, cut=index < last) for index, text in enumerate(row)] for row in rows]
    widths = [max(map(text_cells, column)) for column in zip(head, *shown, strict=True)]
    yield click.style(_line(head, widths), dim=True)
    yield from (_line(row, widths) for row in shown)


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = [text + " " * (width - text_cells(text)) for text, width in zip(row, widths, strict=True)]
    return _GAP.join(cells).rstrip()


def _cell(text: str, *, cut: bool) -> str:
    return clipped(printable(text), _WIDEST) if cut else printable(text)
