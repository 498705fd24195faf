"""The text that Prometheus reads, read back by its own parser."""

from prometheus_client.parser import text_string_to_metric_families

from riven.telemetry import names
from riven.telemetry.exposition import expose
from riven.telemetry.names import COUNTED, READ


def samples(text: bytes) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_counts_of_every_process_stand_beside_each_other() -> None:
    found = samples(
        expose(
            {
                "worker-1": {"riven_claims_total": [[[], 3]]},
                "worker-2": {
                    "riven_claims_total": [[[], 4]],
                    "riven_items_processed_total": [[["failed"], 1]],
                },
            },
            {},
        )
    )
    assert found[("riven_claims_total", (("process", "worker-1"),))] == 3
    assert found[("riven_claims_total", (("process", "worker-2"),))] == 4
    assert found[("riven_items_processed_total", (("process", "worker-2"), ("result", "failed")))] == 1


def test_buckets_of_a_histogram_include_those_below() -> None:
    counts = [0] * (len(names.FEW) + 2)
    counts[0], counts[2], counts[-2], counts[-1] = 5, 2, 1, 61
    found = samples(expose({"w": {"riven_dispatch_attempts": [[[], counts]]}}, {}))

    def bucket(bound: str) -> float:
        return found[("riven_dispatch_attempts_bucket", (("le", bound), ("process", "w")))]

    assert (bucket("1.0"), bucket("2.0"), bucket("3.0"), bucket("20.0"), bucket("+Inf")) == (5, 5, 7, 7, 8)
    assert found[("riven_dispatch_attempts_sum", (("process", "w"),))] == 61
    assert found[("riven_dispatch_attempts_count", (("process", "w"),))] == 8


def test_what_the_rows_tell_has_no_process() -> None:
    found = samples(
        expose({}, {names.QUEUE_DEPTH: [(("w1",), 7), (("other",), 2)], names.RUNNING: [((), 4)]})
    )
    assert found[("riven_queue_depth", (("workspace", "w1"),))] == 7
    assert found[("riven_executions_running", ())] == 4


def test_a_process_of_another_version_breaks_nothing() -> None:
    odd = {
        "riven_unheard_of": [[[], 1]],
        "riven_claims_total": [[["a", "b"], 1]],
        "riven_dispatch_attempts": [[[], [1, 2]]],
    }
    assert samples(expose({"old": odd}, {})) == {}


def test_every_metric_is_described_even_before_there_is_a_value() -> None:
    described = expose({}, {}).decode()
    for metric in (*COUNTED, *READ):
        assert f"# TYPE {metric.name} {metric.kind}\n" in described
