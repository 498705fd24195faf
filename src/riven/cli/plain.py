"""A run as plain lines, one for each change: for pipes, logs and terminals that cannot move their cursor."""

from riven.cli.lettering import printable, text_cells
from riven.cli.progress import Change, Row
from riven.cli.wording import change_words, duration_words, error_words
from riven.core.graph import Graph

_WIDEST = 32


class PlainLines:
    def __init__(self, graph: Graph) -> None:
        widths = [text_cells(node.key) for node in graph.nodes]
        self._width = min(max(widths, default=0), _WIDEST)

    def line(self, change: Change, row: Row, now: int) -> str:
        """As in `order   COMPLETED  12 ms`."""
        parts = [
            f"{printable(change.path):<{self._width}}",
            change.status.value,
            *change_words(change, row, now),
        ]
        if (error := error_words(change)) is not None:
            parts.append(error)
        if change.duration is not None:
            parts.append(duration_words(change.duration))
        return "  ".join(parts)
