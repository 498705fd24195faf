"""What is worth knowing of a graph before it runs: worked out once, shared by all scopes and runs of it."""

from riven.core.graph import ALWAYS, DONE, FAILURE, Graph, JoinRule, NodeKind
from riven.core.ids import NodeKey, NodePath
from riven.core.messages import StartNode, Step
from riven.core.ready import ReadyQueue, Topology
from riven.core.scopes import NodePlan, ScopePlan

_EARLY = frozenset({JoinRule.ANY, JoinRule.AT_LEAST})
_HANDLERS = frozenset({FAILURE, DONE, ALWAYS})


def plan(graph: Graph) -> ScopePlan:
    """Raises UnknownNodeError for an edge that leads nowhere; `core.validation` says all that is wrong, in words."""
    topology = Topology(
        (node.key for node in graph.nodes), ((edge.source, edge.target) for edge in graph.edges)
    )
    outgoing: dict[NodeKey, list[tuple[NodeKey, str | None]]] = {node.key: [] for node in graph.nodes}
    for edge in graph.edges:
        outgoing[edge.source].append((edge.target, edge.outcome))
    early = {node.key for node in graph.nodes if node.join.rule in _EARLY}
    nodes: dict[NodeKey, NodePlan] = {}
    bodies: dict[NodeKey, ScopePlan] = {}
    for node in graph.nodes:
        edges = outgoing[node.key]
        nodes[node.key] = NodePlan(
            node=node,
            incoming=topology.in_degree[topology.position[node.key]],
            outgoing=tuple(edges),
            plain=not any(outcome is not None or target in early for target, outcome in edges),
            handled=node.continue_on_error or any(outcome in _HANDLERS for _, outcome in edges),
            early=node.key in early,
            first=StartNode(NodePath(node.key), 1, Step.RUN, node.timeout)
            if node.kind is NodeKind.ACTION
            else None,
        )
        if node.body is not None:
            bodies[node.key] = plan(node.body)
    return ScopePlan(graph, topology, nodes, bodies)


def topological_order(graph: Graph) -> tuple[NodeKey, ...]:
    """Every node after all its predecessors, otherwise in document order; nodes on or behind a cycle are left out."""
    queue = ReadyQueue(
        (node.key for node in graph.nodes), ((edge.source, edge.target) for edge in graph.edges)
    )
    order: list[NodeKey] = []
    while ready := queue.get_ready_nodes():
        for key in ready:
            order.append(key)
            queue.mark_node_completed(key)
    return tuple(order)
