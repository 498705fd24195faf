"""The live picture of a run on a terminal: its nodes as a tree, a progress bar, and a question if there is one."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from riven.cli.lettering import clipped, printable, text_cells
from riven.cli.progress import TERMINAL, Progress, Row, View
from riven.cli.quantities import duration_words
from riven.cli.questions import Line
from riven.cli.wording import error_words, row_words
from riven.core.messages import ExecutionStatus, NodeStatus

_STYLES = {
    NodeStatus.PENDING: "dim",
    NodeStatus.RUNNING: "cyan",
    NodeStatus.RETRYING: "yellow",
    NodeStatus.WAITING: "magenta",
    NodeStatus.COMPLETED: "green",
    NodeStatus.FAILED: "bold red",
    NodeStatus.SKIPPED: "dim",
    NodeStatus.CANCELED: "yellow",
}
_MARKS = {
    NodeStatus.PENDING: "·",
    NodeStatus.RUNNING: "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏",
    NodeStatus.RETRYING: "↻",
    NodeStatus.WAITING: "◌",
    NodeStatus.COMPLETED: "✓",
    NodeStatus.FAILED: "✗",
    NodeStatus.SKIPPED: "-",
    NodeStatus.CANCELED: "⊘",
}
_ASCII_MARKS = {
    NodeStatus.PENDING: ".",
    NodeStatus.RUNNING: "|/-\\",
    NodeStatus.RETRYING: "~",
    NodeStatus.WAITING: "?",
    NodeStatus.COMPLETED: "+",
    NodeStatus.FAILED: "x",
    NodeStatus.SKIPPED: "-",
    NodeStatus.CANCELED: "!",
}
_WORDS = {
    NodeStatus.RUNNING: "running",
    NodeStatus.RETRYING: "retrying",
    NodeStatus.WAITING: "waiting",
    NodeStatus.COMPLETED: "completed",
    NodeStatus.FAILED: "failed",
    NodeStatus.SKIPPED: "skipped",
    NodeStatus.CANCELED: "canceled",
    NodeStatus.PENDING: "to come",
}
_ENDS = {
    ExecutionStatus.COMPLETED: NodeStatus.COMPLETED,
    ExecutionStatus.FAILED: NodeStatus.FAILED,
    ExecutionStatus.CANCELED: NodeStatus.CANCELED,
}
_ENDED = TERMINAL - {NodeStatus.SKIPPED}
_LONGEST_END = 200
"""Lines of the last picture at most; it may be longer than the screen, being scrolled and kept."""


@dataclass(slots=True)
class TreeView:
    """Asked for its lines again and again by rich; everything it shows is read at that moment."""

    name: str
    progress: Progress
    began: int
    """Milliseconds since the epoch, as everything that changes tell."""
    now: Callable[[], int]
    unicode: bool = True
    question: Sequence[Line] = ()
    notice: str | None = None
    ended: ExecutionStatus | None = None
    frame: int = field(default=0)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = max(options.max_width - 1, 20)
        below = 2 + len(self.question) + (1 if self.notice else 0)
        lines = _LONGEST_END if self.ended is not None else max(options.size.height - below - 2, 3)
        self.frame += 1
        for line in self._lines(self.progress.view(lines), width):
            line.truncate(width, overflow="ellipsis" if self.unicode else "crop")
            yield line

    def _lines(self, view: View, width: int) -> Iterator[Text]:
        labels = max((2 * row.depth + text_cells(row.label) for row in view.rows), default=0)
        labels = min(labels, max(width * 2 // 5, 12))
        types = max((len(row.type) for row in view.rows), default=0) if width >= 60 else 0
        for row in view.rows:
            yield from self._row(row, labels, min(types, 18))
        if view.left_out:
            yield Text(f"  {self._ellipsis} {_counts(view.left_out)}", style="dim")
        if self.ended is None:
            yield self._bar(width)
        if self.notice:
            yield Text(f"  {printable(self.notice)}", style="yellow")
        yield from (Text.assemble(*line, no_wrap=True) for line in self.question)

    @property
    def _ellipsis(self) -> str:
        return "…" if self.unicode else "..."

    def _row(self, row: Row, labels: int, types: int) -> Iterator[Text]:
        style = _STYLES[row.status]
        line = Text("  " + "  " * row.depth, no_wrap=True)
        line.append(self._mark(row.status), style=style)
        room = max(labels - 2 * row.depth, 4)
        label = clipped(printable(row.label), room)
        line.append(f" {label}{' ' * (room - text_cells(label))}", style="dim" if style == "dim" else "bold")
        if types:
            line.append(f"  {clipped(row.type, types):<{types}}", style="dim")
        if row.last is not None:
            now = self.now()
            words = row_words(row, now)
            if row.started is not None and row.status is NodeStatus.RUNNING:
                words.append(duration_words(now - row.started))
            elif row.duration is not None and row.status in _ENDED:
                words.append(duration_words(row.duration))
            line.append("  " + "  ".join(words), style=style if row.status is NodeStatus.FAILED else "dim")
        yield line
        if row.status in (NodeStatus.FAILED, NodeStatus.RETRYING) and row.last is not None:
            error = error_words(row.last.error)
            if error is not None:
                yield Text(
                    f"    {'  ' * row.depth}{error}",
                    style="red" if style == "bold red" else style,
                    no_wrap=True,
                )

    def _mark(self, status: NodeStatus) -> str:
        frames = (_MARKS if self.unicode else _ASCII_MARKS)[status]
        return frames[self.frame % len(frames)]

    def _bar(self, width: int) -> Text:
        done, total = self.progress.done, self.progress.total
        counts = self.progress.counts
        told = Counter(
            {
                status: counts[status]
                for status in (NodeStatus.RUNNING, NodeStatus.RETRYING, NodeStatus.WAITING, NodeStatus.FAILED)
            }
        )
        tail = f"  {done:,}/{total:,}"
        if words := _counts(+told):
            tail += f"  {words}"
        tail += f"  {duration_words(self.now() - self.began)}"
        room = max(min(width - text_cells(tail) - 4, 40), 8)
        filled = room if total == 0 else done * room // total
        full, empty = ("━", "─") if self.unicode else ("#", "-")
        line = Text("  ", no_wrap=True)
        line.append(full * filled, style="red" if counts[NodeStatus.FAILED] else "green")
        line.append(empty * (room - filled), style="dim")
        line.append(tail, style="dim")
        return line


def end_line(status: ExecutionStatus, text: str, *, unicode: bool) -> Text:
    """The last line of a run: its mark, and what became of it."""
    as_node = _ENDS.get(status, NodeStatus.FAILED)
    line = Text(no_wrap=False)
    line.append((_MARKS if unicode else _ASCII_MARKS)[as_node], style=_STYLES[as_node])
    line.append(f" {text}")
    return line


def _counts(counts: "Counter[NodeStatus]") -> str:
    return ", ".join(f"{counts[status]:,} {word}" for status, word in _WORDS.items() if counts[status])
