import orjson

from riven.telemetry.instruments import Counter, Gauge, Histogram, snapshot
from riven.telemetry.names import Metric

PLAIN = Metric("riven_plain_total", "counter", "p")
LABELED = Metric("riven_labeled_total", "counter", "l", ("kind",))
LEVEL = Metric("riven_level", "gauge", "g")
TIMES = Metric("riven_times", "histogram", "h", ("kind",), (1, 5))


def test_counters_add_up_by_labels_and_begin_at_zero_where_there_are_none() -> None:
    plain, labeled = Counter(PLAIN), Counter(LABELED)
    labeled.add("a")
    labeled.add("a", by=2)
    labeled.add("b")
    assert plain.values == {(): 0}
    assert labeled.values == {("a",): 3, ("b",): 1}


def test_a_gauge_is_what_it_was_set_to_last() -> None:
    level = Gauge(LEVEL)
    level.set(5)
    level.set(3)
    assert level.values == {(): 3}


def test_a_histogram_counts_by_bucket_bounds_included() -> None:
    times = Histogram(TIMES)
    for value in (0.5, 1, 1.5, 5, 7):
        times.observe(value, "a")
    assert times.values == {("a",): [2, 2, 1, 15.0]}


def test_a_snapshot_is_json_and_leaves_out_what_nobody_touched() -> None:
    plain, labeled, times = Counter(PLAIN), Counter(LABELED), Histogram(TIMES)
    times.observe(2, "a")
    taken = snapshot([plain, labeled, times])
    assert orjson.loads(orjson.dumps(taken)) == {
        "riven_plain_total": [[[], 0]],
        "riven_times": [[["a"], [0, 1, 0, 2.0]]],
    }
    times.observe(2, "a")
    assert taken["riven_times"] == [[["a"], [0, 1, 0, 2.0]]]
