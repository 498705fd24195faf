"""The graph that the core decides on: keys, labels, joins and limits; never a tenant's values.

A container (`for_each`, `repeat`, `call`) holds its inner graph as `body`. A graph is immutable and shared between
runs; what a run adds lives in the coordinator.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from riven.core.ids import NodeKey


class NodeKind(StrEnum):
    ACTION = "action"
    """Runs in attempts; everything that is not listed below."""
    FOR_EACH = "for_each"
    REPEAT = "repeat"
    CALL = "call"
    WAIT = "wait"
    SIGNAL = "signal"
    """Waits for a message from outside: `signal` and `approval`."""


CONTAINERS = frozenset({NodeKind.FOR_EACH, NodeKind.REPEAT, NodeKind.CALL})


class JoinRule(StrEnum):
    NONE_FAILED = "none_failed"
    ALL = "all"
    ANY = "any"
    ALL_DONE = "all_done"
    AT_LEAST = "atLeast"


@dataclass(frozen=True, slots=True)
class Join:
    rule: JoinRule = JoinRule.NONE_FAILED
    count: int = 0
    """How many edges `atLeast` wants taken; 0 for the other rules."""


class OnFailure(StrEnum):
    FAIL_FAST = "fail_fast"
    FINISH_BRANCHES = "finish_branches"


class OnItemFailure(StrEnum):
    FAIL = "fail"
    COLLECT = "collect"


# Outcomes of an edge that are not labels of its source.
FAILURE = "failure"
DONE = "done"
ALWAYS = "always"
SKIPPED = "skipped"
"""The outcome by which an attempt whose `when` is false leaves; no edge can name it."""
RESERVED_LABELS = frozenset({FAILURE, DONE, ALWAYS, SKIPPED, "default"})
SUCCESS = "success"


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """All durations in milliseconds. `jitter` is the fraction by which a delay varies to either side."""

    max_attempts: int = 3
    initial_interval: int = 1_000
    multiplier: float = 2.0
    max_interval: int = 30_000
    jitter: float = 0.2
    max_duration: int | None = None


NO_RETRY = RetryPolicy(max_attempts=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryOverride:
    """What a node says of its own about retrying; None: as the execution's defaults have it."""

    max_attempts: int | None = None
    initial_interval: int | None = None
    multiplier: float | None = None
    max_interval: int | None = None
    jitter: float | None = None
    max_duration: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One step. Durations in milliseconds."""

    key: NodeKey
    type: str
    kind: NodeKind = NodeKind.ACTION
    labels: tuple[str, ...] = (SUCCESS,)
    join: Join = Join()
    pure: bool = False
    retry: RetryOverride | None = None
    """None: the defaults that the execution was started with; a pure node is never retried."""
    timeout: int | None = None
    """Of one attempt; on a container, of the whole. None: the default of the node's type."""
    continue_on_error: bool = False
    body: "Graph | None" = None
    # for_each
    concurrency: int = 10
    on_item_failure: OnItemFailure = OnItemFailure.FAIL
    # repeat
    max_iterations: int = 100
    delay: int = 0
    check_first: bool = False
    """`while` asks before an iteration, `until` after one."""


@dataclass(frozen=True, slots=True)
class Edge:
    source: NodeKey
    target: NodeKey
    outcome: str | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in document order, edges in document order."""

    nodes: tuple[Node, ...] = ()
    edges: tuple[Edge, ...] = ()
    on_failure: OnFailure = OnFailure.FAIL_FAST
    timeout: int | None = None
    has_output: bool = False
    """Whether there is an `output` to build when the graph has ended; without one the output is null."""

    @classmethod
    def of(cls, keys: list[str], edges: list[tuple[str, str]]) -> Self:
        """A graph of plain actions, for programs and tests that care for the shape alone."""
        return cls(
            tuple(Node(key=NodeKey(key), type="noop") for key in keys),
            tuple(Edge(NodeKey(source), NodeKey(target)) for source, target in edges),
        )
