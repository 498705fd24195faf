"""The graphs of the workloads, the same for every peer."""

import random


def layered(layers: int, width: int, parents: int = 3, seed: int = 7) -> list[list[list[int]]]:
    """For each node of each layer the places, in the layer before, of those it depends on."""
    dice = random.Random(seed)  # noqa: S311 - the same graph for all
    return [
        [[] if layer == 0 else sorted(dice.sample(range(width), min(parents, width))) for _ in range(width)]
        for layer in range(layers)
    ]
