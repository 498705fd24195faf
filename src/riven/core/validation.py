"""Everything that can be wrong with a graph, found at once, linear in nodes and edges and without recursion.

Asked when a document is read and once more when a run starts, then perhaps of a graph that is damaged. Paths name nodes
by key and edges by their index: `nodes.each.body.edges[3].to`. A label tuple that is empty means that the labels are
not known: nothing is said of outcomes then.
"""

import math
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from riven.core.errors import Problem, Severity
from riven.core.graph import (
    ALWAYS,
    CONTAINERS,
    DONE,
    FAILURE,
    RESERVED_LABELS,
    SKIPPED,
    Edge,
    Graph,
    JoinRule,
    Node,
    NodeKind,
)
from riven.core.ids import NodeKey

MAX_NODES = 10_000
MAX_LEVELS = 8

_SHOWN = 20
"""Names that one message lists."""
_DEFAULT = "default"


class GraphCode(StrEnum):
    """What can be wrong; stable, documented in docs/reference/problems.md."""

    TOO_MANY_NODES = "too_many_nodes"
    TOO_MANY_LEVELS = "too_many_levels"
    DUPLICATE_NODE = "duplicate_node"
    UNKNOWN_NODE = "unknown_node"
    SELF_EDGE = "self_edge"
    DUPLICATE_EDGE = "duplicate_edge"
    CYCLE = "cycle"
    UNKNOWN_OUTCOME = "unknown_outcome"
    RESERVED_LABEL = "reserved_label"
    DUPLICATE_LABEL = "duplicate_label"
    UNUSED_CONDITION = "unused_condition"
    UNUSED_CASE = "unused_case"
    IMPOSSIBLE_JOIN = "impossible_join"
    UNUSED_JOIN = "unused_join"
    EMPTY_BODY = "empty_body"
    UNRESOLVED_CALL = "unresolved_call"
    INVALID_SETTING = "invalid_setting"


def validate(graph: Graph) -> list[Problem]:
    """All problems; an empty list, or warnings alone, for a graph that can run."""
    problems: list[Problem] = []
    todo = [_Scope(graph, "", 0)]
    checked: set[int] = set()
    reached: set[tuple[int, int]] = set()
    while todo:
        scope = todo.pop()
        # A graph that is called from many places is one object: checked once, followed once from each level.
        if (place := (id(scope.graph), scope.level)) in reached:
            continue
        reached.add(place)
        if scope.is_document and _count(scope.graph) > MAX_NODES:
            said = f"a document has at most {MAX_NODES:,} nodes, bodies included; split it by `call`"
            problems.append(scope.problem("nodes", GraphCode.TOO_MANY_NODES, said))
            continue
        fresh = id(scope.graph) not in checked
        if fresh:
            checked.add(id(scope.graph))
            problems += _scope_problems(scope)
        inner = []
        for node in scope.graph.nodes:
            if node.body is None or node.kind not in CONTAINERS:
                continue
            if scope.level >= MAX_LEVELS:
                said = f"bodies and calls go at most {MAX_LEVELS} levels deep; take this one out into a step of its own"
                problems.append(scope.problem(f"nodes.{node.key}.body", GraphCode.TOO_MANY_LEVELS, said))
                continue
            prefix = f"{scope.prefix}nodes.{node.key}.body."
            inner.append(_Scope(node.body, prefix, scope.level + 1, node.kind is NodeKind.CALL))
        todo += reversed(inner)
    return problems


@dataclass(frozen=True, slots=True)
class _Scope:
    graph: Graph
    prefix: str
    level: int
    is_document: bool = True

    def problem(
        self, path: str, code: GraphCode, message: str, severity: Severity = Severity.ERROR
    ) -> Problem:
        return Problem(path=f"{self.prefix}{path}", code=code.value, message=message, severity=severity)


def _count(graph: Graph) -> int:
    """Nodes of one document: of the graph and of its bodies, not of what it calls."""
    total, todo = 0, [graph]
    while todo and total <= MAX_NODES:
        inner = todo.pop()
        total += len(inner.nodes)
        todo += [
            node.body for node in inner.nodes if node.body is not None and node.kind is not NodeKind.CALL
        ]
    return total


@dataclass(slots=True)
class _Links:
    """The edges of a scope that are what they should be, as positions; and where any edge, good or bad, sets out."""

    incoming: dict[NodeKey, list[Edge]] = field(default_factory=dict)
    outgoing: dict[NodeKey, list[tuple[NodeKey, int]]] = field(default_factory=dict)
    followed: dict[NodeKey, set[str | None]] = field(default_factory=dict)


def _scope_problems(scope: _Scope) -> Iterator[Problem]:
    nodes: dict[NodeKey, Node] = {}
    for node in scope.graph.nodes:
        if node.key in nodes:
            said = f"two nodes are called {node.key}; rename one"
            yield scope.problem(f"nodes.{node.key}", GraphCode.DUPLICATE_NODE, said)
        nodes[node.key] = node
    links = _Links()
    yield from _edge_problems(scope, nodes, links)
    yield from _cycle_problems(scope, nodes, links)
    for node in nodes.values():
        yield from _label_problems(scope, node, links.followed.get(node.key, set()))
        yield from _join_problems(scope, node, nodes, links.incoming.get(node.key, []))
        yield from _body_problems(scope, node)
        yield from _setting_problems(scope, node)
    if scope.graph.timeout is not None and scope.graph.timeout <= 0:
        yield scope.problem("timeout", GraphCode.INVALID_SETTING, "the timeout must be more than nothing")


# ---- edges ------------------------------------------------------------------------------------------------------------


def _edge_problems(scope: _Scope, nodes: dict[NodeKey, Node], links: _Links) -> Iterator[Problem]:
    seen: set[Edge] = set()
    for index, edge in enumerate(scope.graph.edges):
        path = f"edges[{index}]"
        links.followed.setdefault(edge.source, set()).add(edge.outcome)
        for end, key in (("from", edge.source), ("to", edge.target)):
            if key not in nodes:
                said = f"there is no node {key} here"
                yield scope.problem(f"{path}.{end}", GraphCode.UNKNOWN_NODE, said)
        if edge.source not in nodes or edge.target not in nodes:
            continue
        if edge.source == edge.target:
            said = (
                f"{edge.source} cannot wait for itself; take this edge away (`repeat` does something again)"
            )
            yield scope.problem(path, GraphCode.SELF_EDGE, said)
            continue
        if edge in seen:
            said = f"this edge from {edge.source} to {edge.target} stands here twice; take one away"
            yield scope.problem(path, GraphCode.DUPLICATE_EDGE, said)
            continue
        seen.add(edge)
        labels = nodes[edge.source].labels
        if edge.outcome is not None and labels and edge.outcome not in {*labels, FAILURE, DONE, ALWAYS}:
            yield scope.problem(
                f"{path}.outcome",
                GraphCode.UNKNOWN_OUTCOME,
                _no_such_outcome(nodes[edge.source], edge.outcome),
            )
        links.incoming.setdefault(edge.target, []).append(edge)
        links.outgoing.setdefault(edge.source, []).append((edge.target, index))


def _no_such_outcome(source: Node, outcome: str) -> str:
    can = _listed(label for label in source.labels)
    said = f"{source.key} cannot leave by {outcome!r}; it leaves by {can}, or write {FAILURE}, {DONE} or {ALWAYS}"
    return f"{said} (`{ALWAYS}` covers a skipped node)" if outcome == SKIPPED else said


# ---- cycles -----------------------------------------------------------------------------------------------------------


def _cycle_problems(scope: _Scope, nodes: dict[NodeKey, Node], links: _Links) -> Iterator[Problem]:
    """One cycle for each group of nodes that reach each other, beginning with the group's first edge."""
    rest = _unsorted(nodes, links)
    groups = _circles(rest, links)
    first = [
        min(index for source in group for target, index in links.outgoing[source] if target in group)
        for group in groups
    ]
    for index, group in sorted(zip(first, groups, strict=True), key=lambda found: found[0]):
        edge = scope.graph.edges[index]
        way = _way_back(edge.target, edge.source, group, links)
        shown = " → ".join(_shortened([edge.source, *way]))
        said = f"these nodes wait for each other in a circle: {shown}; take one of these edges away"
        yield scope.problem(f"edges[{index}]", GraphCode.CYCLE, said)


def _unsorted(nodes: dict[NodeKey, Node], links: _Links) -> dict[NodeKey, None]:
    """The nodes on or behind a cycle."""
    waits = dict.fromkeys(nodes, 0)
    for targets in links.outgoing.values():
        for target, _ in targets:
            waits[target] += 1
    ready = [key for key, count in waits.items() if count == 0]
    rest = dict.fromkeys(nodes)
    while ready:
        key = ready.pop()
        del rest[key]
        for target, _ in links.outgoing.get(key, ()):
            waits[target] -= 1
            if waits[target] == 0:
                ready.append(target)
    return rest


def _circles(rest: dict[NodeKey, None], links: _Links) -> list[set[NodeKey]]:
    """Strongly connected components of more than one node (Tarjan, with a stack of its own)."""
    number: dict[NodeKey, int] = {}
    lowest: dict[NodeKey, int] = {}
    path: list[NodeKey] = []
    on_path: set[NodeKey] = set()
    found: list[set[NodeKey]] = []
    for root in rest:
        if root in number:
            continue
        number[root] = lowest[root] = len(number)
        path.append(root)
        on_path.add(root)
        work = [(root, iter(links.outgoing.get(root, ())))]
        while work:
            key, targets = work[-1]
            target = next((target for target, _ in targets if target in rest), None)
            if target is not None:
                if target not in number:
                    number[target] = lowest[target] = len(number)
                    path.append(target)
                    on_path.add(target)
                    work.append((target, iter(links.outgoing.get(target, ()))))
                elif target in on_path:
                    lowest[key] = min(lowest[key], number[target])
                continue
            work.pop()
            if work:
                lowest[work[-1][0]] = min(lowest[work[-1][0]], lowest[key])
            if lowest[key] == number[key]:
                group = set()
                while key not in group:
                    group.add(path.pop())
                on_path -= group
                if len(group) > 1:
                    found.append(group)
    return found


def _way_back(start: NodeKey, end: NodeKey, group: set[NodeKey], links: _Links) -> list[NodeKey]:
    """The shortest way from `start` to `end` inside of the group."""
    came_from: dict[NodeKey, NodeKey | None] = {start: None}
    queue = deque([start])
    while queue and end not in came_from:
        key = queue.popleft()
        for target, _ in links.outgoing[key]:
            if target in group and target not in came_from:
                came_from[target] = key
                queue.append(target)
    way: list[NodeKey] = []
    step: NodeKey | None = end
    while step is not None:
        way.append(step)
        step = came_from[step]
    return way[::-1]


# ---- labels, joins, bodies, settings ----------------------------------------------------------------------------------


def _label_problems(scope: _Scope, node: Node, followed: set[str | None]) -> Iterator[Problem]:
    seen: set[str] = set()
    for label in node.labels:
        if label in RESERVED_LABELS and label != _DEFAULT:
            said = f"{label!r} means something of its own on edges; call this outcome otherwise"
            yield scope.problem(f"nodes.{node.key}", GraphCode.RESERVED_LABEL, said)
        elif label in seen:
            said = f"two outcomes of {node.key} are called {label!r}; rename one"
            yield scope.problem(f"nodes.{node.key}", GraphCode.DUPLICATE_LABEL, said)
        seen.add(label)
    if node.type == "condition" and not followed:
        said = f'nothing follows {node.key}: add edges from it, by outcome "true" or "false"'
        yield scope.problem(f"nodes.{node.key}", GraphCode.UNUSED_CONDITION, said, Severity.WARNING)
    if node.type == "switch" and not followed & {None, DONE, ALWAYS}:
        for index, label in enumerate(node.labels):
            if label not in followed and label != _DEFAULT:
                said = f"nobody follows the case {label!r}: add an edge from {node.key} with this outcome"
                path = f"nodes.{node.key}.with.cases[{index}]"
                yield scope.problem(path, GraphCode.UNUSED_CASE, said, Severity.WARNING)


def _join_problems(
    scope: _Scope, node: Node, nodes: dict[NodeKey, Node], incoming: list[Edge]
) -> Iterator[Problem]:
    rule, path = node.join.rule, f"nodes.{node.key}.join"
    if rule is JoinRule.AT_LEAST:
        if node.join.count < 1:
            said = "`atLeast` must be 1 or more; `all_done` is the join that wants no edge taken"
            yield scope.problem(path, GraphCode.IMPOSSIBLE_JOIN, said)
            return
        if node.join.count > len(incoming):
            said = f"`atLeast` is {node.join.count}, but {_edges(len(incoming))} here"
            yield scope.problem(path, GraphCode.IMPOSSIBLE_JOIN, said)
            return
    elif not incoming:
        if rule is not JoinRule.NONE_FAILED:
            said = f"no edge leads here, so `{rule.value}` has no effect; take the join away or add edges"
            yield scope.problem(path, GraphCode.UNUSED_JOIN, said, Severity.WARNING)
        return
    elif rule is not JoinRule.ALL:
        return
    by_source: dict[NodeKey, list[str | None]] = {}
    for edge in incoming:
        by_source.setdefault(edge.source, []).append(edge.outcome)
    possible = {source: _most_taken(nodes[source], outcomes) for source, outcomes in by_source.items()}
    wanted = len(incoming) if rule is JoinRule.ALL else node.join.count
    if sum(possible.values()) >= wanted:
        return
    torn = [source for source, outcomes in by_source.items() if possible[source] < len(outcomes)]
    wants = (
        "`all` wants every edge taken" if rule is JoinRule.ALL else f"`atLeast` wants {wanted} edges taken"
    )
    said = f"{wants}, but {_listed(torn)} cannot take all of its edges here at once; use none_failed or any"
    yield scope.problem(path, GraphCode.IMPOSSIBLE_JOIN, said)


def _most_taken(source: Node, outcomes: list[str | None]) -> int:
    """How many of a node's edges to one target can be taken by one way to end."""
    if not source.labels:
        return len(outcomes)
    count = Counter(outcomes)
    whatever = count[DONE] + count[ALWAYS]
    completed = whatever + count[None] + max(count[label] for label in source.labels)
    failed = whatever + count[FAILURE] + (count[None] if source.continue_on_error else 0)
    return max(completed, failed)


def _body_problems(scope: _Scope, node: Node) -> Iterator[Problem]:
    if node.kind in (NodeKind.FOR_EACH, NodeKind.REPEAT):
        if node.body is None or not node.body.nodes:
            said = f"{node.key} has nothing to do: give it a `body` with `nodes`"
            yield scope.problem(f"nodes.{node.key}.body", GraphCode.EMPTY_BODY, said)
    elif node.kind is NodeKind.CALL and node.body is None:
        said = f"the workflow that {node.key} calls is not here"
        yield scope.problem(f"nodes.{node.key}.with.workflow", GraphCode.UNRESOLVED_CALL, said)


def _setting_problems(scope: _Scope, node: Node) -> Iterator[Problem]:
    path = f"nodes.{node.key}"
    retry = node.retry
    bounds: list[tuple[str, float | None, float]] = [
        ("timeout", node.timeout, 1),
        ("with.concurrency", node.concurrency, 1),
        ("with.maxIterations", node.max_iterations, 1),
        ("with.delay", node.delay, 0),
    ]
    if retry is not None:
        bounds += [
            ("retry.maxAttempts", retry.max_attempts, 1),
            ("retry.initialInterval", retry.initial_interval, 0),
            ("retry.multiplier", retry.multiplier, 1),
            ("retry.maxInterval", retry.max_interval, 0),
            ("retry.jitter", retry.jitter, 0),
            ("retry.maxDuration", retry.max_duration, 1),
        ]
    for name, value, least in bounds:
        if value is not None and not (math.isfinite(value) and value >= least):
            said = f"{name.rpartition('.')[2]} must be {least:g} or more"
            yield scope.problem(f"{path}.{name}", GraphCode.INVALID_SETTING, said)
    if retry is not None and retry.jitter is not None and retry.jitter > 1:
        yield scope.problem(f"{path}.retry.jitter", GraphCode.INVALID_SETTING, "jitter must be at most 1")


# ---- words ------------------------------------------------------------------------------------------------------------


def _edges(count: int) -> str:
    return (
        "no edge leads" if count == 0 else "only one edge leads" if count == 1 else f"only {count} edges lead"
    )


def _listed(names: Iterable[str]) -> str:
    every = list(names)
    shown = ", ".join(every[:_SHOWN])
    return shown if len(every) <= _SHOWN else f"{shown} and {len(every) - _SHOWN:,} more"


def _shortened(way: list[NodeKey]) -> list[str]:
    if len(way) <= _SHOWN + 2:
        return list(way)
    return [*way[:_SHOWN], f"({len(way) - _SHOWN - 1:,} more)", way[-1]]
