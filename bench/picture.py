"""The comparison as a picture: a panel for each figure, a bar for each peer."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from bench.goals import ROWS, Row
from bench.report import Results, shown

PANELS = (
    ("W1", "executions/s"),
    ("W2", "executions/s"),
    ("W3", "executions/s"),
    ("W1", "cpu_ms/execution"),
    ("W4", "p50_ms"),
    ("W6", "1000_nodes_s"),
)
COLUMNS, WIDTH, BAR, LINE, MARGIN, NAMES = 3, 300, 12, 20, 18, 104
OURS, OTHERS, GOAL = "#2563eb", "#9ca3af", "#dc2626"
STYLE = (
    "text{font:11px system-ui,sans-serif;fill:#111827}.title{font-weight:600}.note{fill:#6b7280}"
    "@media(prefers-color-scheme:dark){text{fill:#e5e7eb}.note{fill:#9ca3af}}"
)


@dataclass(frozen=True, slots=True)
class Bar:
    name: str
    value: float
    ours: bool


def picture(results: Results, ours: str = "riven") -> str:
    """SVG."""
    rows = [row for row in ROWS if (row.workload, row.metric) in PANELS]
    panels = [(row, bars) for row in rows if (bars := _bars(results, row, ours))]
    height = 3 * LINE + max((len(bars) for _, bars in panels), default=0) * LINE
    lines = -(-len(panels) // COLUMNS)
    size = f'width="{COLUMNS * WIDTH}" height="{lines * height}"'
    view = f'viewBox="0 0 {COLUMNS * WIDTH} {lines * height}"'
    drawn = [
        f'<g transform="translate({place % COLUMNS * WIDTH},{place // COLUMNS * height})">{_panel(row, bars)}</g>'
        for place, (row, bars) in enumerate(panels)
    ]
    body = "\n".join([f"<style>{STYLE}</style>", *drawn])
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {view} role="img">\n{body}\n</svg>\n'


def _bars(results: Results, row: Row, ours: str) -> list[Bar]:
    values = ((peer, results.value(peer, row)) for peer in results.peers)
    return [Bar(peer, value, peer == ours) for peer, value in values if value is not None]


def _panel(row: Row, bars: Sequence[Bar]) -> str:
    room = WIDTH - NAMES - 2 * MARGIN - 40
    most = max([*(bar.value for bar in bars), row.goal or 0.0]) or 1.0
    better = "more is better" if row.more_is_better else "less is better"
    parts = [
        f'<text class="title" x="{MARGIN}" y="{LINE}">{escape(row.label)}</text>',
        f'<text class="note" x="{MARGIN}" y="{LINE + 14}">{better}</text>',
    ]
    top = 2 * LINE
    for place, bar in enumerate(bars):
        y = top + place * LINE
        length = max(1.0, bar.value / most * room)
        x = MARGIN + NAMES
        parts += [
            f'<text x="{MARGIN}" y="{y + 10}">{escape(bar.name)}</text>',
            f'<rect x="{x}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2" fill="{OURS if bar.ours else OTHERS}"/>',
            f'<text x="{x + length + 4:.1f}" y="{y + 10}">{shown(bar.value)}</text>',
        ]
    if row.goal is not None:
        x = MARGIN + NAMES + row.goal / most * room
        parts.append(
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top - 3}" y2="{top + len(bars) * LINE - 5}" stroke="{GOAL}" '
            'stroke-dasharray="3 2"><title>goal</title></line>'
        )
    return "\n".join(parts)
