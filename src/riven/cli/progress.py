"""What a run looks like at this moment, kept from its changes, and which of it to show in so many lines.

Every change costs the same however large the run is, and so does a look at it: of thousands of nodes only those are
kept in view that run, wait, failed or ended last. The items of a container fold into a count when there are many.
"""

import re
from collections import Counter, deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from riven.core.graph import Graph, NodeKind
from riven.core.ids import ROOT_PATH, NodePath, node_path, scope_path
from riven.core.messages import NodeStatus
from riven.engines.embedded.journal import ExecutionChange

TERMINAL = frozenset({NodeStatus.COMPLETED, NodeStatus.FAILED, NodeStatus.SKIPPED, NodeStatus.CANCELED})
ACTIVE = frozenset({NodeStatus.RUNNING, NodeStatus.RETRYING, NodeStatus.WAITING})
MANY_ITEMS = 8
"""A container with more of them shows only the items that run, wait or failed, and how many have ended."""
_RECENT = 64
_SEGMENT = re.compile(r"([^.\[\]]+)(?:\[(\d+)\])?(?:\.|$)")


@dataclass(slots=True, eq=False)
class Row:
    """One node, as it was last heard of."""

    path: NodePath
    label: str
    """Its key, with the item's number where it is an item's: `[3].send`."""
    type: str
    labels: tuple[str, ...]
    depth: int
    order: tuple[int, ...]
    parent: "Row | None"
    body: Graph | None = None
    last: ExecutionChange | None = None
    status: NodeStatus = NodeStatus.PENDING
    started: int | None = None
    """When its first attempt began, in milliseconds since the epoch."""
    told_items: int = 0
    crowded: bool = False
    """Has too many items to show each."""
    scopes: dict[int, int] = field(default_factory=dict)
    """Of every item or iteration seen, how many of its nodes are not terminal."""
    inner: list["Row"] = field(default_factory=list)
    """Its rows while there are few."""

    @property
    def duration(self) -> int | None:
        """Milliseconds from its first attempt to its last change."""
        return None if self.started is None or self.last is None else self.last.at - self.started

    @property
    def items(self) -> int | None:
        """How many items or iterations it has, as far as they are known; None for what has none."""
        if self.body is None or self.type == NodeKind.CALL:
            return None
        return max(self.told_items, len(self.scopes))

    @property
    def ended_items(self) -> int:
        return sum(1 for left in self.scopes.values() if left == 0)

    @property
    def hidden(self) -> bool:
        """Stands inside a crowded container, so it is shown only while something is to be said about it."""
        row = self.parent
        while row is not None:
            if row.crowded:
                return True
            row = row.parent
        return False


@dataclass(frozen=True, slots=True)
class View:
    rows: tuple[Row, ...]
    """In the order of the document."""
    left_out: Counter[NodeStatus]


class Progress:
    def __init__(self, graph: Graph) -> None:
        self.rows: dict[NodePath, Row] = {}
        self.counts: Counter[NodeStatus] = Counter()
        self._calm: dict[NodePath, Row] = {}
        self._active: dict[NodePath, Row] = {}
        self._failed: dict[NodePath, Row] = {}
        self._recent: deque[Row] = deque(maxlen=_RECENT)
        self._expected: dict[NodePath, int] = {}
        self._add_scope(graph, ROOT_PATH, None, None)

    @property
    def done(self) -> int:
        return sum(self.counts[status] for status in TERMINAL)

    @property
    def total(self) -> int:
        """The nodes seen, and those of items still to come."""
        return len(self.rows) + sum(self._expected.values())

    @property
    def active(self) -> Iterable[Row]:
        return self._active.values()

    @property
    def failed(self) -> Iterable[Row]:
        return self._failed.values()

    def apply(self, change: ExecutionChange) -> Row | None:
        """Take a change of a node in; its row, or None for a path that the graph does not have."""
        row = self.rows.get(change.path) or self._discover(change.path)
        if row is None:
            return None
        if change.items is not None:
            row.told_items = change.items
        status = NodeStatus(change.status)
        if row.started is None and status is NodeStatus.RUNNING:
            row.started = change.at
        before, row.status, row.last = row.status, status, change
        self._moved(row, before)
        self._expect(row)
        return row

    def view(self, lines: int) -> View:
        """The rows that fit, each counted with its `height`: all if they do, else the most telling ones."""
        shown = dict(self._calm)
        for row in (*self._active.values(), *self._failed.values()):
            if len(shown) > lines:
                break
            shown.update((each.path, each) for each in _with_parents(row))
        if sum(height(row) for row in shown.values()) > lines:
            shown = self._most_telling(lines - 1)
        rows = tuple(sorted(shown.values(), key=lambda row: row.order))
        left = Counter(self.counts)
        left.subtract(row.status for row in rows)
        return View(rows, +left)

    def _most_telling(self, lines: int) -> dict[NodePath, Row]:
        """First what failed and what runs, half of the lines each at most, then what ended last, then what comes."""
        chosen: dict[NodePath, Row] = {}
        used = 0
        pending = (row for row in self._calm.values() if row.status is NodeStatus.PENDING)
        groups: tuple[tuple[Iterable[Row], int], ...] = (
            (self._failed.values(), lines // 2),
            (self._active.values(), lines * 3 // 4),
            (reversed(self._recent), lines * 7 // 8),
            (pending, lines),
            (reversed(self._recent), lines),
            (self._active.values(), lines),
        )
        for rows, limit in groups:
            for row in rows:
                if used >= limit:
                    break
                extra = [each for each in _with_parents(row) if each.path not in chosen]
                size = sum(height(each) for each in extra)
                if used + size <= limit:
                    chosen.update((each.path, each) for each in extra)
                    used += size
        return chosen

    def _moved(self, row: Row, before: NodeStatus) -> None:
        self.counts[before] -= 1
        self.counts[row.status] += 1
        self._active.pop(row.path, None)
        self._failed.pop(row.path, None)
        if row.status in ACTIVE:
            self._active[row.path] = row
        elif row.status is NodeStatus.FAILED:
            self._failed[row.path] = row
        if row.status in TERMINAL and row.status not in (NodeStatus.SKIPPED, NodeStatus.CANCELED):
            self._recent.append(row)
        if row.parent is not None and (before in TERMINAL) != (row.status in TERMINAL):
            row.parent.scopes[_scope_number(row)] += 1 if before in TERMINAL else -1

    def _expect(self, row: Row) -> None:
        """Nodes of items that have not begun count as work to come, until their container has ended."""
        if row.body is None:
            return
        self._expected.pop(row.path, None)
        if row.status not in TERMINAL and row.items is not None:
            missing = (row.items - len(row.scopes)) * len(row.body.nodes)
            if missing > 0:
                self._expected[row.path] = missing

    def _discover(self, path: NodePath) -> Row | None:
        """The row of a node in a scope that is heard of for the first time: all nodes of the scope get theirs."""
        at = 0
        while (segment := _SEGMENT.match(path, at)) is not None:
            row = self.rows.get(NodePath(path[: segment.end(1)]))
            if row is None or row.body is None:
                return None
            index = None if segment[2] is None else int(segment[2])
            if (index or 0) not in row.scopes:
                row.scopes[index or 0] = len(row.body.nodes)
                self._add_scope(row.body, scope_path(row.path, index), row, index)
                self._crowd(row)
                self._expect(row)
            if (found := self.rows.get(path)) is not None:
                return found
            at = segment.end()
        return None

    def _add_scope(self, graph: Graph, scope: NodePath, parent: Row | None, index: int | None) -> None:
        order = () if parent is None else (*parent.order, index or 0)
        depth = 0 if parent is None else parent.depth + 1
        hidden = parent is not None and (parent.crowded or parent.hidden)
        for place, node in enumerate(graph.nodes):
            path = node_path(scope, node.key)
            label = node.key if index is None else f"[{index}].{node.key}"
            row = Row(path, label, node.type, node.labels, depth, (*order, place), parent, node.body)
            self.rows[path] = row
            self.counts[NodeStatus.PENDING] += 1
            if not hidden:
                self._calm[path] = row
                if parent is not None:
                    parent.inner.append(row)

    def _crowd(self, row: Row) -> None:
        if row.crowded or len(row.scopes) <= MANY_ITEMS:
            return
        row.crowded = True
        self._forget(row)

    def _forget(self, row: Row) -> None:
        for each in row.inner:
            self._calm.pop(each.path, None)
            self._forget(each)
        row.inner.clear()


def height(row: Row) -> int:
    """Lines that a row takes: a failure is told below it."""
    return 2 if row.status in (NodeStatus.FAILED, NodeStatus.RETRYING) and row.last and row.last.error else 1


def _with_parents(row: Row) -> list[Row]:
    found = [row]
    while (parent := found[-1].parent) is not None:
        found.append(parent)
    return found


def _scope_number(row: Row) -> int:
    return row.order[-2]
