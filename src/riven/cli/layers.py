"""Which layer each item of a drawing stands in, and in which order: crossings few, every arrow pointing down.

Long arrows are broken by points, one in every layer that they pass, so that they keep clear of the boxes there.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

MAX_POINTS = 20_000
"""Beyond so many passing points the arrows are drawn straight: a drawing nobody can read must still end."""
_SWEEPS = 12
_STALE_SWEEPS = 3


@dataclass(slots=True)
class Layering:
    """Items 0..n-1 are boxes, the further ones points of arrows."""

    layers: list[list[int]]
    chains: list[list[int]]
    """For every arrow its items from source to target."""
    labels: dict[int, int] = field(default_factory=dict)
    """The point that carries an arrow's label, by arrow."""


def arrange(count: int, arrows: Sequence[tuple[int, int]], labelled: Sequence[bool]) -> Layering:
    """Layers and their order for `count` boxes; arrows must not form a cycle. `labelled` tells which have a label."""
    rank = _ranks(count, arrows)
    rank = _with_label_layers(rank, arrows, labelled)
    height = max(rank, default=-1) + 1
    layers: list[list[int]] = [[] for _ in range(height)]
    for item in range(count):
        layers[rank[item]].append(item)
    layering = Layering(layers, [])
    passing = sum(rank[target] - rank[source] - 1 for source, target in arrows)
    following = count
    for index, (source, target) in enumerate(arrows):
        chain = [source]
        if passing <= MAX_POINTS or labelled[index]:
            stop = rank[target] if passing <= MAX_POINTS else rank[source] + 2
            for layer in range(rank[source] + 1, stop):
                if labelled[index] and layer == rank[source] + 1:
                    layering.labels[index] = following
                layers[layer].append(following)
                chain.append(following)
                following += 1
        chain.append(target)
        layering.chains.append(chain)
    _order(layering, following)
    return layering


def _ranks(count: int, arrows: Sequence[tuple[int, int]]) -> list[int]:
    """The longest way from a root; roots are then moved down to just above what follows them."""
    after: list[list[int]] = [[] for _ in range(count)]
    degree = [0] * count
    for source, target in arrows:
        after[source].append(target)
        degree[target] += 1
    roots = [item for item in range(count) if degree[item] == 0]
    ready, rank = list(roots), [0] * count
    for item in ready:
        for target in after[item]:
            rank[target] = max(rank[target], rank[item] + 1)
            degree[target] -= 1
            if degree[target] == 0:
                ready.append(target)
    for item in roots:
        if after[item]:
            rank[item] = min(rank[target] for target in after[item]) - 1
    return rank


def _with_label_layers(
    rank: list[int], arrows: Sequence[tuple[int, int]], labelled: Sequence[bool]
) -> list[int]:
    """A layer of its own below each that labelled arrows leave: labels then cover neither boxes nor each other."""
    leaving = sorted({rank[source] for (source, _), has in zip(arrows, labelled, strict=True) if has})
    return [layer + bisect_right(leaving, layer - 1) for layer in rank]


def _order(layering: Layering, items: int) -> None:
    """Barycentre sweeps, down and up, as long as they lessen the crossings."""
    above: list[list[int]] = [[] for _ in range(items)]
    below: list[list[int]] = [[] for _ in range(items)]
    for chain in layering.chains:
        for upper, lower in pairwise(chain):
            above[lower].append(upper)
            below[upper].append(lower)
    place = [0] * items
    for layer in layering.layers:
        _number(layer, place)
    best, fewest, stale = [list(layer) for layer in layering.layers], _crossings(layering, below, place), 0
    for sweep in range(_SWEEPS):
        if fewest == 0 or stale == _STALE_SWEEPS:
            break
        downwards = sweep % 2 == 0
        neighbours = above if downwards else below
        for layer in layering.layers if downwards else reversed(layering.layers):
            centre = {
                item: sum(place[other] for other in neighbours[item]) / len(neighbours[item])
                if neighbours[item]
                else float(place[item])
                for item in layer
            }
            layer.sort(key=lambda item: (centre[item], place[item]))
            _number(layer, place)
        found = _crossings(layering, below, place)
        if found < fewest:
            best, fewest, stale = [list(layer) for layer in layering.layers], found, 0
        else:
            stale += 1
    layering.layers[:] = best


def _number(layer: Sequence[int], place: list[int]) -> None:
    for position, item in enumerate(layer):
        place[item] = position


def _crossings(layering: Layering, below: Sequence[Sequence[int]], place: Sequence[int]) -> int:
    """Pairs of lines between neighbouring layers that cross: inversions, counted in a binary indexed tree."""
    total = 0
    for layer in layering.layers:
        ends = [end for item in layer for end in sorted(place[other] for other in below[item])]
        size = max(ends, default=-1) + 1
        tree = [0] * (size + 1)
        for seen, end in enumerate(ends):
            behind, at = 0, end + 1
            while at > 0:
                behind += tree[at]
                at -= at & -at
            total += seen - behind
            at = end + 1
            while at <= size:
                tree[at] += 1
                at += at & -at
    return total
