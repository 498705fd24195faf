"""The figures that are compared, and how far to go: docs/explanation/performance.md says why these."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    workload: str
    metric: str
    label: str
    goal: float | None = None
    """Of the embedded engine."""
    more_is_better: bool = False
    on_temporal: bool = True
    """Compared with the bare Temporal SDK, where at least 0.9 of it is the goal."""

    def times_better(self, value: float, other: float) -> float | None:
        """How many times better `value` is than `other`."""
        better, worse = (value, other) if self.more_is_better else (other, value)
        return better / worse if worse else None

    def met(self, value: float) -> bool | None:
        """None: there is no goal."""
        if self.goal is None:
            return None
        return value >= self.goal if self.more_is_better else value <= self.goal


ROWS = (
    Row("W1", "executions/s", "W1 noop1, executions/s", 1_500, more_is_better=True),
    Row("W1", "cpu_ms/execution", "W1 CPU ms an execution", 1.0),
    Row("W2", "executions/s", "W2 chain10, executions/s", 500, more_is_better=True),
    Row("W2", "cpu_ms/execution", "W2 CPU ms an execution"),
    Row("W3", "executions/s", "W3 fan50, executions/s", 240, more_is_better=True),
    Row("W3", "cpu_ms/execution", "W3 CPU ms an execution"),
    Row("W4", "p50_ms", "W4 latency p50, ms", 4),
    Row("W4", "p99_ms", "W4 latency p99, ms", 10),
    Row("W4", "p50_ms by events", "W4 followed by events, p50, ms", on_temporal=False),
    Row("W5", "one_s", "W5 20 sleeps of 0.1 s, s", 0.105),
    Row("W5", "together_s", "W5 20 executions of it at once, s", 0.15),
    Row("W6", "1000_nodes_s", "W6 1,000 nodes, s", 0.07),
    Row("W6", "10000_nodes_s", "W6 10,000 nodes, s", 0.7),
    Row("W7", "idle_pss_mib", "W7 memory idle, MiB", 150, on_temporal=False),
    Row("W7", "busy_pss_mib", "W7 memory under W2, MiB", 300, on_temporal=False),
    Row("W8", "times_alone", "W8 wait of small ones, times alone", 2, on_temporal=False),
    Row("W9", "over_limit", "W9 executions over the limit", 0, on_temporal=False),
    Row("W9", "slots_leaked", "W9 slots leaked", 0, on_temporal=False),
)
TEMPORAL_GOAL = 0.9
