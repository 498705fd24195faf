import pytest

from riven.cli.plain import PlainLines
from riven.cli.progress import Change, Progress
from riven.cli.wording import duration_words
from riven.core.graph import Graph, Node, NodeKind
from riven.core.ids import NodeKey, NodePath
from riven.core.messages import NodeStatus, SkipReason


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


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            Change(path=NodePath("order"), status=NodeStatus.COMPLETED, outcome="success", duration=12),
            "order  COMPLETED  12 ms",
        ),
        (
            Change(path=NodePath("large"), status=NodeStatus.COMPLETED, outcome="true", duration=1),
            "large  COMPLETED  true  1 ms",
        ),
        (
            Change(path=NodePath("order"), status=NodeStatus.RETRYING, attempt=1, due=3_000, error=("TIMEOUT", "20 s passed")),
            "order  RETRYING  attempt 1 failed, again in 2.0 s  TIMEOUT: 20 s passed",
        ),
        (
            Change(path=NodePath("order"), status=NodeStatus.FAILED, attempt=3, duration=4_000, error=("X", "a\nb\x1b[2J")),
            "order  FAILED  after 3 attempts  X: a b\\x1b[2J  4.0 s",
        ),
        (
            Change(path=NodePath("order"), status=NodeStatus.SKIPPED, reason=SkipReason.UPSTREAM_FAILED),
            "order  SKIPPED  upstream_failed",
        ),
        (Change(path=NodePath("order"), status=NodeStatus.WAITING, due=61_000), "order  WAITING  1m 00s left"),
        (Change(path=NodePath("order"), status=NodeStatus.CANCELED), "order  CANCELED"),
        (Change(path=NodePath("each"), status=NodeStatus.RUNNING, items=3), "each   RUNNING  0 of 3 items"),
        (Change(path=NodePath("each"), status=NodeStatus.COMPLETED, items=1), "each   COMPLETED  1 item"),
        (
            Change(path=NodePath("each[10].send"), status=NodeStatus.COMPLETED, duration=5),
            "each[10].send  COMPLETED  5 ms",
        ),
    ],
)  # fmt: skip
def test_a_change_is_one_line(change: Change, line: str) -> None:
    row = Progress(GRAPH).apply(change, 0.0)
    assert row is not None
    assert PlainLines(GRAPH).line(change, row, 1_000) == line
