"""Tables of what was measured: beside the goals, beside the peers, with ratios."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bench.figures import Figure
from bench.goals import ROWS, TEMPORAL_GOAL, Row
from bench.workloads import A_NODE


@dataclass(frozen=True, slots=True)
class Table:
    head: list[str]
    rows: list[list[str]]

    def text(self) -> str:
        every = [self.head, *self.rows]
        widths = [max(len(row[column]) for row in every) for column in range(len(self.head))]
        lines = []
        for row in every:
            cells = [f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)]
            lines.append("  ".join([f"{row[0]:{widths[0]}}", *cells]).rstrip())
        return "\n".join(lines)

    def markdown(self) -> str:
        ruler = ["---", *("---:" for _ in self.head[1:])]
        return "\n".join("| " + " | ".join(row) + " |" for row in (self.head, ruler, *self.rows))


class Results:
    """Figures by what they are of."""

    def __init__(self, figures: Iterable[Figure]) -> None:
        self._figures: Mapping[tuple[str, str, str], Figure] = {
            (figure.peer, figure.workload, figure.metric): figure for figure in figures
        }

    @property
    def peers(self) -> list[str]:
        """Those that took workloads, in the order in which they were measured."""
        return list(dict.fromkeys(peer for peer, workload, _ in self._figures if workload != "raw"))

    @property
    def versions(self) -> dict[str, str]:
        """Of the peers."""
        told = {figure.peer: figure.settings.get("version") for figure in self._figures.values()}
        return {peer: str(version) for peer, version in told.items() if version}

    def value(self, peer: str, row: Row) -> float | None:
        found = self._figures.get((peer, row.workload, row.metric))
        return None if found is None else found.value

    def of(self, workload: str) -> list[Figure]:
        return [figure for figure in self._figures.values() if figure.workload == workload]


def comparison(results: Results, ours: str = "riven") -> Table:
    """Ratios say how many times better than the peer of the column ours is."""
    others = [peer for peer in results.peers if peer != ours]
    rows = []
    for row in ROWS:
        value = results.value(ours, row)
        if value is None and all(results.value(peer, row) is None for peer in others):
            continue
        cells = [
            row.label,
            "" if row.goal is None else shown(row.goal),
            "" if value is None else _judged(row, value),
        ]
        rows.append([*cells, *(_beside(row, value, results.value(peer, row)) for peer in others)])
    return Table(["", "goal", ours, *others], rows)


def on_temporal(results: Results, ours: str, bare: str) -> Table:
    """How much of the bare SDK's figure ours has, 1 being the same."""
    rows = []
    for row in (row for row in ROWS if row.on_temporal):
        value, other = results.value(ours, row), results.value(bare, row)
        if value is None or other is None:
            continue
        share = row.times_better(value, other)
        judged = "" if share is None else f"{share:.2f} {'met' if share >= TEMPORAL_GOAL else 'MISSED'}"
        rows.append([row.label, shown(value), shown(other), judged])
    events = {(figure.peer, figure.metric): figure.value for figure in results.of("events")}
    for metric in dict.fromkeys(metric for _, metric in events):
        value, other = events.get((ours, metric)), events.get((bare, metric))
        if value is not None and other is not None:
            more = f"{value - other:+.3g}"
            if metric == A_NODE:  # of nodes side by side it is chance how many share a workflow task
                more += " met" if value <= other else " MISSED"
            rows.append([f"history events, {metric}", shown(value), shown(other), more])
    return Table(["", ours, bare, f"of it, goal {TEMPORAL_GOAL}"], rows)


def by_part(results: Results, peers: Sequence[str]) -> Table:
    """Which process the CPU and the memory go to."""
    columns = [(w, "cpu_ms/execution ") for w in ("W1", "W2", "W3")] + [("W7", "idle_pss_mib ")]
    cells: dict[str, dict[str, float]] = {}
    for workload, prefix in columns:
        for figure in results.of(workload):
            if figure.peer in peers and figure.metric.startswith(prefix):
                part = f"{figure.peer}: {figure.metric.removeprefix(prefix)}"
                cells.setdefault(part, {})[workload] = figure.value
    rows = [
        [part, *(shown(values.get(workload)) for workload, _ in columns)] for part, values in cells.items()
    ]
    return Table(["CPU ms an execution, and idle MiB", "W1", "W2", "W3", "W7"], rows)


def limits(results: Results) -> Table:
    return Table(["raw limits", ""], [[figure.metric, shown(figure.value)] for figure in results.of("raw")])


def shown(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def _judged(row: Row, value: float) -> str:
    met = row.met(value)
    return shown(value) + ("" if met is None else " met" if met else " MISSED")


def _beside(row: Row, value: float | None, other: float | None) -> str:
    if other is None:
        return ""
    times = None if value is None else row.times_better(value, other)
    return shown(other) + ("" if times is None else f" ({times:.2g}x)" if times < 10 else f" ({times:,.0f}x)")
