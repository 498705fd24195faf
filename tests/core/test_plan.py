import pytest

from riven.core.errors import UnknownNodeError
from riven.core.graph import Graph
from riven.core.plan import plan, topological_order


def test_the_order_puts_every_node_after_its_predecessors_and_keeps_document_order_otherwise():
    graph = Graph.of(["d", "b", "a", "c"], [("a", "b"), ("b", "d"), ("c", "d")])
    assert topological_order(graph) == ("a", "c", "b", "d")


def test_nodes_on_and_behind_a_cycle_are_left_out_of_the_order():
    graph = Graph.of(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "b"), ("c", "d")])
    assert topological_order(graph) == ("a",)


def test_an_edge_that_leads_nowhere_is_refused():
    with pytest.raises(UnknownNodeError, match="'ghost'"):
        plan(Graph.of(["a"], [("a", "ghost")]))
