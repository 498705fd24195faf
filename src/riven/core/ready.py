"""The ready queue: which nodes have all their edges behind them. A value of one run; O(nodes + edges) for a whole run.

A node is *ready* when its in-degree, the number of edges whose source is not terminal yet, is zero. Ready nodes are
given out once, all at once, in the order in which they became ready (document order among those of one moment).
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Generic, Self, TypeVar

from riven.core.errors import UnknownNodeError

Id = TypeVar("Id", bound=Hashable)


class Topology(Generic[Id]):
    """What all runs of one graph share: in-degrees and successors by position in document order. Never changed."""

    __slots__ = ("in_degree", "nodes", "position", "roots", "successors")

    def __init__(self, nodes: Iterable[Id], edges: Iterable[tuple[Id, Id]]) -> None:
        self.nodes: tuple[Id, ...] = tuple(dict.fromkeys(nodes))
        self.position: Mapping[Id, int] = {node: position for position, node in enumerate(self.nodes)}
        in_degree = [0] * len(self.nodes)
        successors: list[list[int]] = [[] for _ in self.nodes]
        for source, target in edges:
            for end in (source, target):
                if end not in self.position:
                    raise UnknownNodeError(f"an edge names {end!r}, which is not a node of this graph")
            place = self.position[target]
            successors[self.position[source]].append(place)
            in_degree[place] += 1
        self.in_degree: Sequence[int] = in_degree
        self.successors: Sequence[tuple[int, ...]] = [tuple(sorted(targets)) for targets in successors]
        self.roots: tuple[Id, ...] = tuple(
            node for node, degree in zip(self.nodes, in_degree, strict=True) if degree == 0
        )


class ReadyQueue(Generic[Id]):
    """Works with positions inside: lists of small integers keep a step's few edges close together in memory."""

    __slots__ = (
        "_blocked",
        "_completed",
        "_in_degree",
        "_nodes",
        "_position",
        "_ready",
        "_successors",
        "_taken",
    )

    def __init__(
        self, nodes: Iterable[Id], edges: Iterable[tuple[Id, Id]], *, topology: Topology[Id] | None = None
    ) -> None:
        """With a `topology` that is known already, nodes and edges are not looked at."""
        known = Topology(nodes, edges) if topology is None else topology
        self._nodes = known.nodes
        self._position = known.position
        self._successors = known.successors
        self._in_degree = list(known.in_degree)
        self._ready = list(known.roots)
        self._blocked = len(self._nodes) - len(self._ready)
        self._completed = bytearray(len(self._nodes))
        self._taken: set[int] = set()
        """Given out before the last edge was resolved."""

    @classmethod
    def of(cls, topology: Topology[Id]) -> Self:
        """A queue for one more run of a graph that is known already."""
        return cls((), (), topology=topology)

    def get_ready_nodes(self) -> list[Id]:
        """All nodes that are ready and were not given out before; empties the queue."""
        ready = self._ready
        if ready:
            self._ready = []
        return ready

    def mark_node_completed(self, node: Id) -> None:
        """The node is terminal, in whatever way: its successors have one edge less to wait for."""
        place = self._position.get(node)
        if place is None:
            raise UnknownNodeError(f"{node!r} is not a node of this graph")
        if self._completed[place]:
            raise UnknownNodeError(f"{node!r} was completed before")
        self._completed[place] = 1
        in_degree = self._in_degree
        if in_degree[place] and place not in self._taken:
            self._taken.add(place)
            self._blocked -= 1
        for successor in self._successors[place]:
            left = in_degree[successor] - 1
            in_degree[successor] = left
            if not left and successor not in self._taken:
                self._blocked -= 1
                self._ready.append(self._nodes[successor])

    def take(self, node: Id) -> None:
        """Give this node out early, before its last edge is resolved: a join that need not wait. Once only."""
        place = self._position.get(node)
        if place is None:
            raise UnknownNodeError(f"{node!r} is not a node of this graph")
        if place in self._taken or not self._in_degree[place]:
            raise UnknownNodeError(f"{node!r} was given out before")
        self._taken.add(place)
        self._blocked -= 1

    def has_more_work(self) -> bool:
        """Whether a node is ready or waits for an edge."""
        return bool(self._ready) or self._blocked > 0

    def get_remaining_nodes(self) -> list[Id]:
        """Nodes that are not completed while edges of theirs are unresolved: what is blocked when nothing is ready."""
        return [node for node, degree, done in self._rows() if degree > 0 and not done]

    def get_uncompleted_nodes(self) -> list[Id]:
        """Nodes that were never marked completed, in document order."""
        if 0 not in self._completed:
            return []
        return [node for node, _, done in self._rows() if not done]

    def _rows(self) -> Iterable[tuple[Id, int, int]]:
        return zip(self._nodes, self._in_degree, self._completed, strict=True)

    def snapshot(self) -> list[list[Id]]:
        """The nodes that are completed, and those given out early; both in document order."""
        completed = [node for node, _, done in self._rows() if done]
        return [completed, [self._nodes[place] for place in sorted(self._taken)]]

    def restore(self, snapshot: list[list[Id]]) -> None:
        """Bring a new queue to where another was; what was ready there must have been given out."""
        completed, taken = snapshot
        for node in taken:
            self.take(node)
        for node in completed:
            self.mark_node_completed(node)
        self._ready = []
