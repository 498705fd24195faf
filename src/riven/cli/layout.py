"""Where everything of a drawing lies: boxes in layers from the top, never overlapping, arrows around them.

A container is laid out first, then placed as one box of its size.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import sqrt

from riven.cli.diagram import Arrow, Box, Diagram, Shape
from riven.cli.layers import Layering, arrange
from riven.cli.lettering import DETAIL_SIZE, LABEL_SIZE, TITLE_SIZE, text_width

BESIDE = 26.0
"""Between neighbours of one layer; half of it where a line passes."""
_BETWEEN = 34.0
_STEEPEST = 150.0
_PADDING = 18.0
_LINE = 17.0
_LABEL_HEIGHT = 18.0
_LONELY = 6
"""From so many boxes without any arrow on, they stand in a grid of their own, not all in one row."""


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class PlacedBox:
    """`x` and `y` are the upper left corner, in the coordinates of the whole drawing once it is finished."""

    box: Box
    x: float
    y: float
    width: float
    height: float
    body: "Drawing | None" = None


@dataclass(frozen=True, slots=True)
class PlacedArrow:
    """From the lower edge of its source to the upper edge of its target.

    It is straight where one point lies above the next, so through every layer; elsewhere it bends.
    """

    arrow: Arrow
    points: tuple[Point, ...]
    label: Point | None = None
    """The centre of the label."""


@dataclass(frozen=True, slots=True)
class Drawing:
    boxes: tuple[PlacedBox, ...]
    arrows: tuple[PlacedArrow, ...]
    width: float
    height: float


def lay_out(diagram: Diagram) -> Drawing:
    return _shift(_lay_out(diagram), 0.0, 0.0)


def _lay_out(diagram: Diagram) -> Drawing:
    sized = [_sized(box) for box in diagram.boxes]
    joined = {end for arrow in diagram.arrows for end in (arrow.source, arrow.target)}
    lonely = [index for index in range(len(sized)) if index not in joined]
    if len(lonely) < _LONELY:
        lonely = []
    apart = set(lonely)
    kept = [index for index in range(len(sized)) if index not in apart]
    number = {index: place for place, index in enumerate(kept)}
    arrows = [Arrow(number[a.source], number[a.target], a.label) for a in diagram.arrows]
    layered = _layered([sized[index] for index in kept], arrows)
    placed = dict(zip(kept, layered.boxes, strict=True))
    width, height = layered.width, layered.height
    if lonely:
        top = height + _BETWEEN if kept else 0.0
        across = max(width, _grid_width([sized[index] for index in lonely]))
        x, y, row = 0.0, top, 0.0
        for index in lonely:
            box = sized[index]
            if x > 0 and x + box.width > across:
                x, y, row = 0.0, y + row + BESIDE, 0.0
            placed[index] = replace(box, x=x, y=y)
            x, row = x + box.width + BESIDE, max(row, box.height)
            width = max(width, x - BESIDE)
        height = y + row
    routes = tuple(
        replace(route, arrow=original) for route, original in zip(layered.arrows, diagram.arrows, strict=True)
    )
    return Drawing(tuple(placed[index] for index in range(len(sized))), routes, width, height)


def _grid_width(boxes: Sequence[PlacedBox]) -> float:
    area = sum((box.width + BESIDE) * (box.height + BESIDE) for box in boxes)
    return max(sqrt(area * 1.6), *(box.width for box in boxes))


def _sized(box: Box) -> PlacedBox:
    lines = 1 + len(box.details)
    text = max(text_width(box.title, TITLE_SIZE), *(text_width(line, DETAIL_SIZE) for line in box.details))
    width, height = max(text + 28, 84.0), lines * _LINE + 14
    if box.shape is Shape.CHOICE:
        width += 12
    if box.body is None:
        return PlacedBox(box, 0.0, 0.0, width, height)
    inside = _lay_out(box.body)
    return PlacedBox(
        box, 0.0, 0.0, max(width, inside.width + 2 * _PADDING), height + inside.height + _PADDING, inside
    )


def _layered(boxes: Sequence[PlacedBox], arrows: Sequence[Arrow]) -> Drawing:
    if not boxes:
        return Drawing((), (), 0.0, 0.0)
    layering = arrange(
        len(boxes),
        [(arrow.source, arrow.target) for arrow in arrows],
        [arrow.label is not None for arrow in arrows],
    )
    widths, heights = _sizes(boxes, arrows, layering)
    centres = _centres(layering, widths, len(boxes))
    left = min(centre - width / 2 for centre, width in zip(centres, widths, strict=True))
    centres = [centre - left for centre in centres]
    tops, bottoms = _rows(layering, heights, centres)
    layer_of = {item: index for index, layer in enumerate(layering.layers) for item in layer}
    placed = tuple(
        replace(box, x=centres[item] - box.width / 2, y=tops[layer_of[item]])
        for item, box in enumerate(boxes)
    )
    routes = []
    for index, arrow in enumerate(arrows):
        chain = layering.chains[index]
        start, end = placed[arrow.source], placed[arrow.target]
        points = [Point(centres[chain[0]], start.y + start.height)]
        if (below := bottoms[layer_of[chain[0]]]) > points[0].y:
            points.append(Point(points[0].x, below))
        for item in chain[1:-1]:
            layer = layer_of[item]
            points += [Point(centres[item], tops[layer]), Point(centres[item], bottoms[layer])]
        points.append(Point(centres[chain[-1]], end.y))
        point = layering.labels.get(index)
        label = None if point is None else Point(centres[point], tops[layer_of[point]] + _LABEL_HEIGHT / 2)
        routes.append(PlacedArrow(arrow, tuple(points), label))
    width = max(centre + size / 2 for centre, size in zip(centres, widths, strict=True))
    return Drawing(placed, tuple(routes), width, bottoms[-1])


def _sizes(
    boxes: Sequence[PlacedBox], arrows: Sequence[Arrow], layering: Layering
) -> tuple[list[float], list[float]]:
    items = sum(len(layer) for layer in layering.layers)
    widths, heights = [8.0] * items, [0.0] * items
    for item, box in enumerate(boxes):
        widths[item], heights[item] = box.width, box.height
    for index, point in layering.labels.items():
        widths[point] = text_width(arrows[index].label or "", LABEL_SIZE) + 10
        heights[point] = _LABEL_HEIGHT
    return widths, heights


def _rows(
    layering: Layering, heights: Sequence[float], centres: Sequence[float]
) -> tuple[list[float], list[float]]:
    """Upper and lower edge of every layer. Far travelling lines get more room, so that they stay apart."""
    reach = [0.0] * len(layering.layers)
    layer_of = {item: index for index, layer in enumerate(layering.layers) for item in layer}
    for chain in layering.chains:
        for upper, lower in pairwise(chain):
            reach[layer_of[upper]] = max(reach[layer_of[upper]], abs(centres[upper] - centres[lower]))
    tops, bottoms, y = [], [], 0.0
    for index, layer in enumerate(layering.layers):
        tops.append(y)
        y += max((heights[item] for item in layer), default=0.0)
        bottoms.append(y)
        y += min(max(_BETWEEN, reach[index] / 7), _STEEPEST)
    return tops, bottoms


def _centres(layering: Layering, widths: Sequence[float], boxes: int) -> list[float]:
    """Each item as near to its neighbours as order and distance allow; lines weigh more, so that they are straight."""
    items = len(widths)
    above: list[list[int]] = [[] for _ in range(items)]
    below: list[list[int]] = [[] for _ in range(items)]
    for chain in layering.chains:
        for upper, lower in pairwise(chain):
            above[lower].append(upper)
            below[upper].append(lower)
    centre = [0.0] * items
    for layer in layering.layers:
        x = 0.0
        for item in layer:
            centre[item] = x + widths[item] / 2
            x += widths[item] + BESIDE
        for item in layer:
            centre[item] -= x / 2
    for sweep in range(14 if items < 3_000 else 4):
        downwards = sweep % 2 == 0
        for layer in layering.layers if downwards else reversed(layering.layers):
            wish, weight = [], []
            for item in layer:
                near = (above if downwards else below)[item] or (below if downwards else above)[item]
                wish.append(sum(centre[other] for other in near) / len(near) if near else centre[item])
                weight.append(4.0 if item >= boxes else 1.0)
            gaps = [_gap(left, right, widths, boxes) for left, right in pairwise(layer)]
            for item, x in zip(layer, _spread(wish, weight, gaps), strict=True):
                centre[item] = x
    return centre


def _gap(left: int, right: int, widths: Sequence[float], boxes: int) -> float:
    between = BESIDE if left < boxes and right < boxes else BESIDE / 2
    return (widths[left] + widths[right]) / 2 + between


def _spread(wish: Sequence[float], weight: Sequence[float], gaps: Sequence[float]) -> list[float]:
    """The positions nearest to the wishes (least squares) that keep order and gaps: pool adjacent violators."""
    offset, offsets = 0.0, [0.0]
    for gap in gaps:
        offset += gap
        offsets.append(offset)
    pools: list[
        tuple[float, float, int]
    ] = []  # mean of the wishes without their gaps, weight, how many items
    for place, wished in enumerate(wish):
        mean, heavy, size = wished - offsets[place], weight[place], 1
        while pools and pools[-1][0] > mean:
            other, more, further = pools.pop()
            mean = (mean * heavy + other * more) / (heavy + more)
            heavy, size = heavy + more, size + further
        pools.append((mean, heavy, size))
    means = [mean for mean, _, size in pools for _ in range(size)]
    return [mean + offset for mean, offset in zip(means, offsets, strict=True)]


def _shift(drawing: Drawing, x: float, y: float) -> Drawing:
    """From each container's own coordinates to those of the whole."""
    boxes = tuple(
        replace(box, x=box.x + x, y=box.y + y, body=_shifted_body(box, x, y)) for box in drawing.boxes
    )
    arrows = tuple(
        PlacedArrow(
            route.arrow,
            tuple(Point(point.x + x, point.y + y) for point in route.points),
            None if route.label is None else Point(route.label.x + x, route.label.y + y),
        )
        for route in drawing.arrows
    )
    return Drawing(boxes, arrows, drawing.width, drawing.height)


def _shifted_body(placed: PlacedBox, x: float, y: float) -> Drawing | None:
    if placed.body is None:
        return None
    left = placed.x + x + (placed.width - placed.body.width) / 2
    return _shift(placed.body, left, placed.y + y + placed.height - placed.body.height - _PADDING)
