"""A diagram as a picture that needs nothing but itself: no script, no font and no address from outside."""

from collections.abc import Iterator
from html import escape

from riven.cli.diagram import Diagram, Shape
from riven.cli.layout import Drawing, PlacedArrow, PlacedBox, Point, lay_out
from riven.cli.lettering import LABEL_SIZE, text_width

_MARGIN = 24.0
_TITLE_HEIGHT = 34.0
_STYLE = """\
    text { font-family: ui-sans-serif, system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1c2733; }
    .page { fill: #ffffff; }
    .heading { font-size: 15px; font-weight: 600; }
    .title { font-size: 13px; font-weight: 600; }
    .detail { font-size: 11px; fill: #5b6b7c; }
    .label { font-size: 11px; fill: #41505f; }
    .label-back { fill: #ffffff; fill-opacity: 0.92; }
    .box { stroke-width: 1.3; }
    .action { fill: #f7fafd; stroke: #7d93ab; }
    .choice { fill: #fff8e4; stroke: #d2a13a; }
    .wait { fill: #f5f0ff; stroke: #8f78c9; stroke-dasharray: 5 3; }
    .container { fill: #eef3f9; stroke: #9fb0c3; }
    .arrow { fill: none; stroke: #7b8794; stroke-width: 1.3; }
    .failed { stroke: #c2483d; }
    .tip { fill: #7b8794; }
"""

_TIP = (
    '<marker id="tip" viewBox="0 0 8 8" refX="7.5" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<path class="tip" d="M0 0.8 L8 4 L0 7.2 z"/></marker>'
)


def svg_text(diagram: Diagram) -> str:
    drawing = lay_out(diagram)
    width = max(drawing.width, text_width(diagram.title, 15.0)) + 2 * _MARGIN
    height = drawing.height + 2 * _MARGIN + _TITLE_HEIGHT
    left = (width - drawing.width) / 2
    size = f'width="{_n(width)}" height="{_n(height)}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_n(width)} {_n(height)}" {size} role="img">',
            f"  <title>{_text(diagram.title)}</title>",
            f"  <style>\n{_STYLE}  </style>",
            f"  <defs>{_TIP}</defs>",
            f'  <rect class="page" {size}/>',
            f'  <text class="heading" x="{_n(_MARGIN)}" y="{_n(_MARGIN + 11)}">{_text(diagram.title)}</text>',
            f'  <g transform="translate({_n(left)} {_n(_MARGIN + _TITLE_HEIGHT)})">',
            *_drawing(drawing, "    "),
            "  </g>",
            "</svg>",
            "",
        ]
    )


def _drawing(drawing: Drawing, indent: str) -> Iterator[str]:
    """Boxes first, as containers are backgrounds; labels last, above every line."""
    for placed in drawing.boxes:
        yield from _box(placed, indent)
    for route in drawing.arrows:
        kind = "arrow failed" if route.arrow.label == "failure" else "arrow"
        yield f'{indent}<path class="{kind}" marker-end="url(#tip)" d="{_curve(route.points)}"/>'
    for route in drawing.arrows:
        yield from _label(route, indent)


def _box(placed: PlacedBox, indent: str) -> Iterator[str]:
    box, middle = placed.box, placed.x + placed.width / 2
    radius = {Shape.WAIT: min(placed.height / 2, 20.0), Shape.CHOICE: 3.0}.get(box.shape, 7.0)
    yield f'{indent}<g id="{_text(box.path)}"><title>{_text(": ".join((box.path, *box.details)))}</title>'
    yield (
        f'{indent}<rect class="box {box.shape.value}" x="{_n(placed.x)}" y="{_n(placed.y)}" '
        f'width="{_n(placed.width)}" height="{_n(placed.height)}" rx="{_n(radius)}"/>'
    )
    y = placed.y + 20
    yield f'{indent}<text class="title" x="{_n(middle)}" y="{_n(y)}" text-anchor="middle">{_text(box.title)}</text>'
    for line in box.details:
        y += 16
        yield f'{indent}<text class="detail" x="{_n(middle)}" y="{_n(y)}" text-anchor="middle">{_text(line)}</text>'
    if placed.body is not None:
        yield from _drawing(placed.body, indent + "  ")
    yield f"{indent}</g>"


def _label(route: PlacedArrow, indent: str) -> Iterator[str]:
    if route.label is None or route.arrow.label is None:
        return
    width = text_width(route.arrow.label, LABEL_SIZE) + 6
    x, y = route.label.x, route.label.y
    yield (
        f'{indent}<rect class="label-back" x="{_n(x - width / 2)}" y="{_n(y - 8)}" width="{_n(width)}" '
        f'height="16" rx="3"/>'
    )
    yield f'{indent}<text class="label" x="{_n(x)}" y="{_n(y + 4)}" text-anchor="middle">{_text(route.arrow.label)}</text>'


def _curve(points: tuple[Point, ...]) -> str:
    """Between layers a curve that leaves and arrives upright, through a layer a straight line."""
    steps = [f"M{_n(points[0].x)} {_n(points[0].y)}"]
    for index in range(1, len(points)):
        here, there = points[index - 1], points[index]
        if abs(here.x - there.x) < 0.05:
            steps.append(f"V{_n(there.y)}")
        else:
            bend = (there.y - here.y) / 2
            steps.append(
                f"C{_n(here.x)} {_n(here.y + bend)} {_n(there.x)} {_n(there.y - bend)} {_n(there.x)} {_n(there.y)}"
            )
    return " ".join(steps)


def _text(text: str) -> str:
    """Escaped, and without what XML cannot hold at all."""
    return escape("".join(char if _allowed(char) else "\ufffd" for char in text), quote=True)


def _allowed(char: str) -> bool:
    code = ord(char)
    return code in {9, 10, 13} or 32 <= code < 0xD800 or 0xE000 <= code < 0xFFFE or code >= 0x10000


def _n(number: float) -> str:
    return f"{number:.1f}".rstrip("0").rstrip(".")
