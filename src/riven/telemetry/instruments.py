"""Counters, gauges and histograms of one process: plain numbers, touched by its event loop alone.

They know nothing of Prometheus: `exposition` writes them in its format, those of other processes among them, which
arrive as the JSON that `snapshot` gives.
"""

from bisect import bisect_left
from collections.abc import Iterable
from typing import Any

from riven.telemetry.names import Metric


class Counter:
    __slots__ = ("metric", "values")

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.values: dict[tuple[str, ...], float] = {} if metric.labels else {(): 0}

    def add(self, *labels: str, by: float = 1) -> None:
        self.values[labels] = self.values.get(labels, 0) + by

    def snapshot(self) -> list[Any]:
        return [[list(labels), value] for labels, value in self.values.items()]


class Gauge(Counter):
    __slots__ = ()

    def set(self, value: float, *labels: str) -> None:
        self.values[labels] = value


class Histogram:
    __slots__ = ("bounds", "metric", "values")

    def __init__(self, metric: Metric) -> None:
        self.metric = metric
        self.bounds = metric.buckets
        self.values: dict[tuple[str, ...], list[float]] = {}
        """For each labels: how many fell into each bucket and above the last, then the sum of all."""
        if not metric.labels:
            self.values[()] = [0] * (len(self.bounds) + 2)

    def observe(self, value: float, *labels: str) -> None:
        counts = self.values.get(labels)
        if counts is None:
            counts = self.values[labels] = [0] * (len(self.bounds) + 2)
        counts[bisect_left(self.bounds, value)] += 1
        counts[-1] += value

    def snapshot(self) -> list[Any]:
        return [[list(labels), list(counts)] for labels, counts in self.values.items()]


def snapshot(instruments: Iterable[Counter | Histogram]) -> dict[str, Any]:
    """What has been counted so far, as JSON, by the names of the metrics."""
    return {each.metric.name: found for each in instruments if (found := each.snapshot())}
