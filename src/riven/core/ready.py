"""The ready queue: which nodes have all their edges behind them. A value of one run; O(nodes + edges) for a whole run.

A node is *ready* when its in-degree, the number of edges whose source is not terminal yet, is zero. Ready nodes are
given out once, all at once, in the order in which they became ready (document order among those of one moment).
"""

from collections.abc import Hashable, Iterable, Mapping
from typing import Generic, Self, TypeVar

from riven.core.errors import UnknownNodeError

Id = TypeVar("Id", bound=Hashable)


class Topology(Generic[Id]):
    """What all runs of one graph share: in-degrees and successors, both in document order. Never changed."""

    __slots__ = ("in_degree", "roots", "successors")

    def __init__(self, nodes: Iterable[Id], edges: Iterable[tuple[Id, Id]]) -> None:
        in_degree = dict.fromkeys(nodes, 0)
        successors: dict[Id, list[Id]] = {node: [] for node in in_degree}
        for source, target in edges:
            for end in (source, target):
                if end not in in_degree:
                    raise UnknownNodeError(f"an edge names {end!r}, which is not a node of this graph")
            successors[source].append(target)
            in_degree[target] += 1
        place = {node: position for position, node in enumerate(in_degree)}
        self.in_degree: Mapping[Id, int] = in_degree
        self.successors: Mapping[Id, tuple[Id, ...]] = {
            node: tuple(sorted(targets, key=place.__getitem__)) for node, targets in successors.items()
        }
        self.roots: tuple[Id, ...] = tuple(node for node, degree in in_degree.items() if degree == 0)


class ReadyQueue(Generic[Id]):
    __slots__ = ("_blocked", "_completed", "_in_degree", "_ready", "_successors", "_taken")

    def __init__(
        self, nodes: Iterable[Id], edges: Iterable[tuple[Id, Id]], *, topology: Topology[Id] | None = None
    ) -> None:
        """With a `topology` that is known already, nodes and edges are not looked at."""
        known = Topology(nodes, edges) if topology is None else topology
        self._in_degree = dict(known.in_degree)
        self._successors = known.successors
        self._ready = list(known.roots)
        self._blocked = len(self._in_degree) - len(self._ready)
        self._completed: set[Id] = set()
        self._taken: set[Id] = set()

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
        completed, in_degree = self._completed, self._in_degree
        if node in completed:
            raise UnknownNodeError(f"{node!r} was completed before")
        if node not in in_degree:
            raise UnknownNodeError(f"{node!r} is not a node of this graph")
        completed.add(node)
        if in_degree[node] and node not in self._taken:
            self._taken.add(node)
            self._blocked -= 1
        for successor in self._successors[node]:
            left = in_degree[successor] - 1
            in_degree[successor] = left
            if left == 0 and successor not in self._taken:
                self._blocked -= 1
                self._ready.append(successor)

    def take(self, node: Id) -> None:
        """Give this node out early, before its last edge is resolved: a join that need not wait. Once only."""
        if node not in self._in_degree:
            raise UnknownNodeError(f"{node!r} is not a node of this graph")
        if node in self._taken or self._in_degree[node] == 0:
            raise UnknownNodeError(f"{node!r} was given out before")
        self._taken.add(node)
        self._blocked -= 1

    def has_more_work(self) -> bool:
        """Whether a node is ready or waits for an edge."""
        return bool(self._ready) or self._blocked > 0

    def get_remaining_nodes(self) -> list[Id]:
        """Nodes that are not completed while edges of theirs are unresolved: what is blocked when nothing is ready."""
        return [
            node for node, degree in self._in_degree.items() if degree > 0 and node not in self._completed
        ]

    def get_uncompleted_nodes(self) -> list[Id]:
        """Nodes that were never marked completed, in document order."""
        if len(self._completed) == len(self._in_degree):
            return []
        return [node for node in self._in_degree if node not in self._completed]

    def snapshot(self) -> list[list[Id]]:
        """The nodes that are completed, and those given out early; both in document order."""
        return [
            [node for node in self._in_degree if node in chosen] for chosen in (self._completed, self._taken)
        ]

    def restore(self, snapshot: list[list[Id]]) -> None:
        """Bring a new queue to where another was; what was ready there must have been given out."""
        completed, taken = snapshot
        for node in taken:
            if self._in_degree[node]:
                self._taken.add(node)
                self._blocked -= 1
        for node in completed:
            self.mark_node_completed(node)
        self._ready = []
