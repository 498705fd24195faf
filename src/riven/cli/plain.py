"""A run as plain lines, one for each change: for pipes, logs and terminals that cannot move their cursor."""

from riven.cli.lettering import printable, text_cells
from riven.cli.progress import TERMINAL, Row
from riven.cli.quantities import duration_words
from riven.cli.wording import error_words, row_words
from riven.core.graph import Graph
from riven.core.messages import NodeStatus

_WIDEST = 32
_ENDED = TERMINAL - {NodeStatus.SKIPPED}


class PlainLines:
    def __init__(self, graph: Graph) -> None:
        widths = [text_cells(node.key) for node in graph.nodes]
        self._width = min(max(widths, default=0), _WIDEST)

    def line(self, row: Row, now: int) -> str:
        """As in `order   COMPLETED  12 ms`."""
        parts = [f"{printable(row.path):<{self._width}}", row.status.value, *row_words(row, now)]
        if row.last is not None and (error := error_words(row.last.error)) is not None:
            parts.append(error)
        if row.status in _ENDED and row.duration is not None:
            parts.append(duration_words(row.duration))
        return "  ".join(parts)
