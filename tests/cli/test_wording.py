import pytest

from riven.cli.plain import PlainLines
from riven.cli.progress import Progress
from riven.cli.quantities import duration_words
from riven.core.graph import Graph, Node, NodeKind
from riven.core.ids import NodeKey, NodePath
from riven.core.messages import NodeStatus, SkipReason
from riven.engines.embedded.journal import Awaited, ExecutionChange


@pytest.mark.parametrize(
    ("milliseconds", "words"),
    [
        (-5, "0 ms"),
        (12.4, "12 ms"),
        (1_234, "1.2 s"),
        (59_900, "59.9 s"),
        (125_000, "2m 05s"),
        (3_725_000, "1h 02m"),
        (3 * 86_400_000, "3d 00h"),
    ],
)
def test_durations_are_as_exact_as_they_are_of_use(milliseconds: float, words: str) -> None:
    assert duration_words(milliseconds) == words


GRAPH = Graph(
    (
        Node(key=NodeKey("order"), type="http_request"),
        Node(key=NodeKey("large"), type="condition", labels=("true", "false")),
        Node(key=NodeKey("each"), type="for_each", kind=NodeKind.FOR_EACH, body=Graph.of(["send"], [])),
    )
)


STARTED = 1_000


def told(path: str, status: NodeStatus, after: int = 0, **fields: object) -> ExecutionChange:
    return ExecutionChange(path=NodePath(path), status=status, at=STARTED + after, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (told("order", NodeStatus.COMPLETED, outcome="success", after=12), "order  COMPLETED  12 ms"),
        (told("large", NodeStatus.COMPLETED, outcome="true", after=1), "large  COMPLETED  true  1 ms"),
        (
            told("order", NodeStatus.RETRYING, attempt=1, next_retry_at=STARTED + 2_000, error={"type": "TIMEOUT", "message": "20 s passed"}),
            "order  RETRYING  attempt 1 failed, again in 2.0 s  TIMEOUT: 20 s passed",
        ),
        (
            told("order", NodeStatus.FAILED, attempt=3, error={"type": "X", "message": "a\nb\x1b[2J"}, after=4_000),
            "order  FAILED  after 3 attempts  X: a b\\x1b[2J  4.0 s",
        ),
        (told("order", NodeStatus.RUNNING, attempt=2), "order  RUNNING  attempt 2"),
        (told("order", NodeStatus.SKIPPED, skip_reason=SkipReason.UPSTREAM_FAILED), "order  SKIPPED  upstream_failed"),
        (
            told("order", NodeStatus.WAITING, waiting=Awaited(kind="timer", until=STARTED + 60_000)),
            "order  WAITING  1m 00s left",
        ),
        (
            told("order", NodeStatus.WAITING, waiting=Awaited(kind="signal", name="paid")),
            "order  WAITING  for the signal paid",
        ),
        (told("order", NodeStatus.WAITING, waiting=Awaited(kind="approval")), "order  WAITING  for a decision"),
        (told("each", NodeStatus.RUNNING, items=3), "each   RUNNING  0 of 3 items"),
        (told("each", NodeStatus.COMPLETED, items=1, after=5), "each   COMPLETED  1 item  5 ms"),
        (told("each[10].send", NodeStatus.COMPLETED, after=5), "each[10].send  COMPLETED  5 ms"),
    ],
)  # fmt: skip
def test_a_change_is_one_line(change: ExecutionChange, line: str) -> None:
    progress = Progress(GRAPH)
    progress.apply(told(change.path, NodeStatus.RUNNING))
    row = progress.apply(change)
    assert row is not None
    assert PlainLines(GRAPH).line(row, STARTED) == line


def test_a_node_that_never_started_has_no_time() -> None:
    row = Progress(GRAPH).apply(told("order", NodeStatus.CANCELED))
    assert row is not None
    assert PlainLines(GRAPH).line(row, STARTED) == "order  CANCELED"
