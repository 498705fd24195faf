"""Metrics in the text format of Prometheus: of this process, of others that reported theirs, and read from rows."""

from collections.abc import Iterable, Mapping
from itertools import accumulate
from typing import Any, TypeAlias, assert_never

from prometheus_client import CollectorRegistry, metrics_core
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily

from riven.telemetry.names import COUNTED, READ, Metric

CONTENT_TYPE = CONTENT_TYPE_LATEST

Family: TypeAlias = metrics_core.Metric
Values: TypeAlias = Iterable[tuple[tuple[str, ...], float]]


class _Families:
    def __init__(self, families: list[Family]) -> None:
        self._families = families

    def collect(self) -> list[Family]:
        return self._families


def expose(processes: Mapping[str, Mapping[str, Any]], read: Mapping[Metric, Values]) -> bytes:
    """`processes`: what each has counted, by its name, which becomes the label `process`."""
    families = [_counted(metric, processes) for metric in COUNTED]
    families += [_read(metric, read.get(metric, ())) for metric in READ]
    registry = CollectorRegistry()
    registry.register(_Families(families))
    return generate_latest(registry)


def _counted(metric: Metric, processes: Mapping[str, Mapping[str, Any]]) -> Family:
    family = _family(metric, (*metric.labels, "process"))
    for process, snapshot in processes.items():
        for labels, value in snapshot.get(metric.name, ()):
            if len(labels) == len(metric.labels):  # a process of another version may count differently
                _add(family, metric, [*labels, process], value)
    return family


def _read(metric: Metric, values: Values) -> Family:
    family = _family(metric, metric.labels)
    for labels, value in values:
        _add(family, metric, list(labels), value)
    return family


def _family(metric: Metric, labels: tuple[str, ...]) -> Family:
    meaning = metric.meaning.replace("`", "")
    match metric.kind:
        case "counter":
            return CounterMetricFamily(metric.name, meaning, labels=labels)
        case "gauge":
            return GaugeMetricFamily(metric.name, meaning, labels=labels)
        case "histogram":
            return HistogramMetricFamily(metric.name, meaning, labels=labels)
        case _:
            assert_never(metric.kind)


def _add(family: Family, metric: Metric, labels: list[str], value: Any) -> None:  # noqa: ANN401 - JSON of a snapshot
    if isinstance(family, HistogramMetricFamily):
        *counts, total = value
        if len(counts) == len(metric.buckets) + 1:
            bounds = [*(_bound(bound) for bound in metric.buckets), "+Inf"]
            family.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
    elif isinstance(family, CounterMetricFamily | GaugeMetricFamily):
        family.add_metric(labels, value)


def _bound(bound: float) -> str:
    return str(float(bound))
