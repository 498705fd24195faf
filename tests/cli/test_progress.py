from time import perf_counter

import pytest

from riven.cli.progress import Progress, height
from riven.core.graph import Graph, Node, NodeKind
from riven.core.ids import NodeKey, NodePath
from riven.core.messages import NodeStatus
from riven.engines.embedded.journal import ExecutionChange


def container(key: str, kind: NodeKind, body: Graph) -> Node:
    return Node(key=NodeKey(key), type=kind.value, kind=kind, body=body)


def tell(
    progress: Progress, path: str, status: NodeStatus, *, error: bool = False, items: int | None = None
) -> None:
    fault = {"type": "EXECUTION_ERROR", "message": "no"} if error else None
    progress.apply(ExecutionChange(path=NodePath(path), status=status, at=0, error=fault, items=items))


def seen(progress: Progress, lines: int = 50) -> list[str]:
    return [row.path for row in progress.view(lines).rows]


SEND = Graph.of(["send", "note"], [("send", "note")])


def test_all_nodes_are_in_view_in_the_order_of_the_document() -> None:
    progress = Progress(Graph.of(["c", "a", "b"], []))
    tell(progress, "b", NodeStatus.COMPLETED)
    assert seen(progress) == ["c", "a", "b"]
    assert (progress.done, progress.total) == (1, 3)


def test_a_body_appears_whole_with_its_first_change() -> None:
    progress = Progress(Graph((container("each", NodeKind.FOR_EACH, SEND), *Graph.of(["end"], []).nodes)))
    assert seen(progress) == ["each", "end"]
    tell(progress, "each", NodeStatus.RUNNING, items=2)
    assert progress.total == 6  # both items are to come
    tell(progress, "each[1].send", NodeStatus.RUNNING)
    assert seen(progress) == ["each", "each[1].send", "each[1].note", "end"]
    tell(progress, "each[0].send", NodeStatus.RUNNING)
    assert seen(progress) == ["each", "each[0].send", "each[0].note", "each[1].send", "each[1].note", "end"]
    assert progress.total == 6


def test_items_beyond_a_few_fold_into_a_count_but_those_that_run_or_failed() -> None:
    progress = Progress(Graph((container("each", NodeKind.FOR_EACH, SEND),)))
    tell(progress, "each", NodeStatus.RUNNING, items=100)
    for item in range(50):
        tell(progress, f"each[{item}].send", NodeStatus.COMPLETED)
        tell(progress, f"each[{item}].note", NodeStatus.FAILED if item == 30 else NodeStatus.COMPLETED)
    tell(progress, "each[50].send", NodeStatus.RUNNING)
    assert seen(progress) == ["each", "each[30].note", "each[50].send"]
    row = progress.rows[NodePath("each")]
    assert (row.ended_items, row.items) == (50, 100)
    assert (progress.done, progress.total) == (100, 201)


def test_iterations_are_counted_as_they_come() -> None:
    progress = Progress(Graph((container("poll", NodeKind.REPEAT, SEND),)))
    tell(progress, "poll", NodeStatus.RUNNING)
    for turn in range(3):
        tell(progress, f"poll[{turn}].send", NodeStatus.COMPLETED)
        tell(progress, f"poll[{turn}].note", NodeStatus.SKIPPED)
    assert progress.rows[NodePath("poll")].items == 3
    assert (progress.done, progress.total) == (6, 7)


def test_work_to_come_is_forgotten_when_its_container_ends_early() -> None:
    progress = Progress(Graph((container("each", NodeKind.FOR_EACH, SEND),)))
    tell(progress, "each", NodeStatus.RUNNING, items=100)
    tell(progress, "each[0].send", NodeStatus.FAILED)
    tell(progress, "each[0].note", NodeStatus.CANCELED)
    tell(progress, "each", NodeStatus.FAILED)
    assert (progress.done, progress.total) == (3, 3)


def test_scopes_within_scopes() -> None:
    leaf = Graph.of(["leaf"], [])
    inner = Graph((container("call", NodeKind.CALL, leaf),))
    progress = Progress(Graph((container("each", NodeKind.FOR_EACH, inner),)))
    tell(progress, "each[2].call.leaf", NodeStatus.RUNNING)
    assert seen(progress) == ["each", "each[2].call", "each[2].call.leaf"]
    assert [row.depth for row in progress.view(50).rows] == [0, 1, 2]
    for item in range(20):
        tell(progress, f"each[{item}].call.leaf", NodeStatus.COMPLETED)
        tell(progress, f"each[{item}].call", NodeStatus.COMPLETED)
    assert seen(progress) == ["each"]


@pytest.mark.parametrize("path", ["", "nobody", "a.b", "a[0].b", "each[0]", "each[0].nobody", "each.send.x", "[", "each[x]"])  # fmt: skip
def test_what_the_graph_does_not_have_changes_nothing(path: str) -> None:
    progress = Progress(Graph((container("each", NodeKind.FOR_EACH, SEND), *Graph.of(["a"], []).nodes)))
    assert progress.apply(ExecutionChange(path=NodePath(path), status=NodeStatus.RUNNING, at=0)) is None
    assert progress.counts[NodeStatus.RUNNING] == 0


def test_a_node_may_change_its_mind() -> None:
    progress = Progress(Graph.of(["a"], []))
    for status in (NodeStatus.RUNNING, NodeStatus.RETRYING, NodeStatus.RUNNING, NodeStatus.FAILED):
        tell(progress, "a", status, error=status is NodeStatus.RETRYING)
    assert [row.path for row in progress.failed] == ["a"]
    assert list(progress.active) == []
    assert +progress.counts == {NodeStatus.FAILED: 1}


@pytest.mark.parametrize("lines", [3, 5, 10, 40])
def test_of_too_many_nodes_those_that_failed_run_or_ended_last_are_in_view(lines: int) -> None:
    progress = Progress(Graph.of([f"n{number}" for number in range(1_000)], []))
    for number in range(500):
        tell(
            progress,
            f"n{number}",
            NodeStatus.FAILED if number == 7 else NodeStatus.COMPLETED,
            error=number == 7,
        )
    for number in range(500, 505):
        tell(progress, f"n{number}", NodeStatus.RUNNING)
    view = progress.view(lines)
    assert sum(height(row) for row in view.rows) < lines
    assert sum(view.left_out.values()) + len(view.rows) == 1_000
    paths = [row.path for row in view.rows]
    if lines >= 10:
        assert "n7" in paths
        assert "n499" in paths
    assert "n500" in paths or lines == 3
    assert paths == sorted(paths, key=lambda path: int(path[1:]))


@pytest.mark.slow
def test_changes_and_looks_cost_the_same_however_large_the_run_is() -> None:
    progress = Progress(Graph.of([f"n{number}" for number in range(10_000)], []))
    began = perf_counter()
    for status in (NodeStatus.RUNNING, NodeStatus.COMPLETED):
        for number in range(10_000):
            tell(progress, f"n{number}", status)
    told = perf_counter()
    for _ in range(100):
        progress.view(40)
    looked = perf_counter()
    assert told - began < 2.0
    assert looked - told < 2.0
