"""The ready queue, by the scenarios of the system that it comes from (docs/reference/origins.md)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.core.errors import UnknownNodeError
from riven.core.ready import ReadyQueue, Topology


def order_of(queue: ReadyQueue[str]) -> list[list[str]]:
    """Batches, completing each whole before asking for the next."""
    batches = []
    while batch := queue.get_ready_nodes():
        batches.append(batch)
        for node in batch:
            queue.mark_node_completed(node)
    return batches


def test_linear_gives_one_after_the_other():
    queue = ReadyQueue(["a", "b", "c"], [("a", "b"), ("b", "c")])
    assert order_of(queue) == [["a"], ["b"], ["c"]]


def test_linear_gives_no_successor_before_its_source_is_completed():
    queue = ReadyQueue(["a", "b"], [("a", "b")])
    assert queue.get_ready_nodes() == ["a"]
    assert queue.get_ready_nodes() == []
    queue.mark_node_completed("a")
    assert queue.get_ready_nodes() == ["b"]


def test_diamond_gives_both_arms_at_once_and_the_end_after_both():
    queue = ReadyQueue(["a", "b", "c", "d"], [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")])
    assert queue.get_ready_nodes() == ["a"]
    queue.mark_node_completed("a")
    assert queue.get_ready_nodes() == ["b", "c"]
    queue.mark_node_completed("c")
    assert queue.get_ready_nodes() == []
    queue.mark_node_completed("b")
    assert queue.get_ready_nodes() == ["d"]


def test_disconnected_parts_start_together_and_go_on_apart():
    queue = ReadyQueue(["a", "b", "x", "y", "alone"], [("a", "b"), ("x", "y")])
    assert queue.get_ready_nodes() == ["a", "x", "alone"]
    queue.mark_node_completed("x")
    assert queue.get_ready_nodes() == ["y"]
    queue.mark_node_completed("a")
    assert queue.get_ready_nodes() == ["b"]


def test_several_predecessors_must_all_be_completed():
    sources = [f"s{i}" for i in range(5)]
    queue = ReadyQueue([*sources, "end"], [(source, "end") for source in sources])
    assert queue.get_ready_nodes() == sources
    for source in sources[:-1]:
        queue.mark_node_completed(source)
        assert queue.get_ready_nodes() == []
    queue.mark_node_completed(sources[-1])
    assert queue.get_ready_nodes() == ["end"]


def test_several_edges_from_one_predecessor_count_as_one_completion():
    queue = ReadyQueue(["a", "b"], [("a", "b"), ("a", "b")])
    assert order_of(queue) == [["a"], ["b"]]


def test_a_batch_holds_everything_that_is_ready_and_is_given_once():
    queue = ReadyQueue(["a", "b", "c"], [])
    assert queue.get_ready_nodes() == ["a", "b", "c"]
    assert queue.get_ready_nodes() == []


def test_a_batch_is_in_the_order_of_the_document_and_of_becoming_ready():
    queue = ReadyQueue(["d", "c", "b", "a", "r", "s"], [("r", "a"), ("r", "c"), ("s", "d"), ("s", "b")])
    assert queue.get_ready_nodes() == ["r", "s"]
    queue.mark_node_completed("s")
    queue.mark_node_completed("r")
    assert queue.get_ready_nodes() == ["d", "b", "c", "a"]


def test_a_batch_that_was_given_is_not_changed_by_what_happens_later():
    queue = ReadyQueue(["a", "b"], [("a", "b")])
    batch = queue.get_ready_nodes()
    queue.mark_node_completed("a")
    assert batch == ["a"]


def test_there_is_more_work_until_every_node_was_given_out():
    queue = ReadyQueue(["a", "b"], [("a", "b")])
    assert queue.has_more_work()
    queue.get_ready_nodes()
    assert queue.has_more_work()
    queue.mark_node_completed("a")
    assert queue.has_more_work()
    queue.get_ready_nodes()
    assert not queue.has_more_work()
    queue.mark_node_completed("b")
    assert not queue.has_more_work()


def test_an_empty_queue_has_no_work():
    queue = ReadyQueue([], [])
    assert not queue.has_more_work()
    assert queue.get_ready_nodes() == []
    assert queue.get_remaining_nodes() == []


def test_remaining_are_the_nodes_that_still_wait_for_an_edge():
    queue = ReadyQueue(["a", "b", "c"], [("a", "b"), ("b", "c")])
    assert queue.get_remaining_nodes() == ["b", "c"]
    queue.get_ready_nodes()
    queue.mark_node_completed("a")
    assert queue.get_remaining_nodes() == ["c"]
    queue.get_ready_nodes()
    queue.mark_node_completed("b")
    assert queue.get_remaining_nodes() == []


def test_remaining_names_what_a_cycle_blocks():
    queue = ReadyQueue(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")])
    assert order_of(queue) == [["a"]]
    assert queue.has_more_work()
    assert queue.get_remaining_nodes() == ["b", "c", "d"]


def test_an_unknown_node_is_an_error():
    queue = ReadyQueue(["a"], [])
    with pytest.raises(UnknownNodeError, match="'b'"):
        queue.mark_node_completed("b")
    with pytest.raises(UnknownNodeError, match="'b'"):
        queue.take("b")
    assert queue.get_ready_nodes() == ["a"]


@pytest.mark.parametrize("edge", [("a", "b"), ("b", "a")])
def test_an_edge_to_or_from_an_unknown_node_is_an_error(edge: tuple[str, str]):
    with pytest.raises(UnknownNodeError, match="'b'"):
        ReadyQueue(["a"], [edge])


def test_a_repeated_completion_is_an_error_and_changes_nothing():
    queue = ReadyQueue(["a", "b", "c"], [("a", "c"), ("b", "c")])
    queue.get_ready_nodes()
    queue.mark_node_completed("a")
    with pytest.raises(UnknownNodeError, match="'a'"):
        queue.mark_node_completed("a")
    assert queue.get_ready_nodes() == []
    queue.mark_node_completed("b")
    assert queue.get_ready_nodes() == ["c"]


def test_an_early_take_gives_its_node_once():
    queue = ReadyQueue(["a", "b", "c"], [("a", "c"), ("b", "c")])
    queue.get_ready_nodes()
    queue.take("c")
    queue.mark_node_completed("a")
    queue.mark_node_completed("b")
    assert queue.get_ready_nodes() == []
    assert not queue.has_more_work()


def test_a_second_take_is_an_error():
    queue = ReadyQueue(["a", "b", "c"], [("a", "b"), ("a", "c")])
    queue.take("b")
    with pytest.raises(UnknownNodeError, match="'b'"):
        queue.take("b")


def test_what_is_ready_cannot_be_taken_early():
    queue = ReadyQueue(["a"], [])
    with pytest.raises(UnknownNodeError, match="'a'"):
        queue.take("a")


def test_a_node_taken_early_and_completed_lowers_its_successors():
    queue = ReadyQueue(
        ["slow", "fast", "target", "after"], [("slow", "target"), ("fast", "target"), ("target", "after")]
    )
    queue.get_ready_nodes()
    queue.take("target")
    queue.mark_node_completed("fast")
    queue.mark_node_completed("target")
    assert queue.get_ready_nodes() == ["after"]
    queue.mark_node_completed("slow")
    assert queue.get_ready_nodes() == []


def test_two_queues_of_one_topology_share_nothing():
    topology = Topology(["a", "b"], [("a", "b")])
    one, other = ReadyQueue.of(topology), ReadyQueue.of(topology)
    one.get_ready_nodes()
    one.mark_node_completed("a")
    assert one.get_ready_nodes() == ["b"]
    assert other.get_ready_nodes() == ["a"]
    assert other.get_ready_nodes() == []


@given(
    st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=40), st.randoms()
)
def test_every_node_is_given_once_and_after_its_predecessors(count, pairs, dice):
    nodes = [f"n{i}" for i in range(count)]
    edges = [(f"n{a}", f"n{b}") for a, b in pairs if a < b < count]
    queue = ReadyQueue(nodes, edges)
    waiting = queue.get_ready_nodes()
    completed: list[str] = []
    while waiting:
        node = waiting.pop(dice.randrange(len(waiting)))
        assert all(source in completed for source, target in edges if target == node)
        completed.append(node)
        queue.mark_node_completed(node)
        waiting += queue.get_ready_nodes()
    assert sorted(completed) == sorted(nodes)
    assert not queue.has_more_work()
    assert queue.get_remaining_nodes() == []
