"""What a run knows of its open scopes and of the nodes active in them: data, moved by the coordinator alone.

A scope is one run of one graph: the execution's own, an item of a for_each, an iteration of a repeat, a called
workflow. An ended scope is forgotten.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from riven.core.errors import ErrorClass
from riven.core.graph import Graph, Node
from riven.core.ids import NodeKey, NodePath, TimerId
from riven.core.joins import Tally
from riven.core.messages import NodeStatus, StartNode, Step
from riven.core.ready import ReadyQueue, Topology


@dataclass(frozen=True, slots=True)
class NodePlan:
    node: Node
    incoming: int
    """How many edges lead to it."""
    outgoing: tuple[tuple[NodeKey, str | None], ...]
    """Target and outcome of its edges."""
    plain: bool
    """All its edges are taken by any success, and no target may run early: nothing to resolve when it succeeds."""
    handled: bool
    """Whether a failure of it is handled: by an edge of it, or by continueOnError."""
    early: bool
    """Whether its join may run it before its last edge is resolved."""
    first: StartNode | None
    """An action's first command in the outermost scope, the same in every run that limits no retries."""


@dataclass(frozen=True, slots=True)
class ScopePlan:
    graph: Graph
    topology: Topology[NodeKey]
    nodes: Mapping[NodeKey, NodePlan]
    bodies: Mapping[NodeKey, "ScopePlan"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How something that is being ended will have ended: FAILED or CANCELED."""

    status: NodeStatus
    cause: NodePath | None = None
    error_class: ErrorClass | None = None
    message: str | None = None


CANCELED = Verdict(NodeStatus.CANCELED)


class NodeRun:
    """An active node. No dataclass: one is made for every node, and most need four of these fields."""

    __slots__ = ("asked", "attempt", "block", "path", "plan", "scope", "since", "timer", "verdict", "waits")

    def __init__(self, scope: "ScopeRun", plan: NodePlan, path: NodePath, since: int) -> None:
        self.scope = scope
        self.plan = plan
        self.path = path
        self.since = since
        self.asked: Step | None = None
        """The step whose answer is awaited."""
        self.attempt = 1
        self.timer: TimerId | None = None
        self.waits = False
        """Whether a signal may end it."""
        self.verdict: Verdict | None = None
        """Set as soon as it is being ended."""
        self.block: Block | None = None


@dataclass(slots=True)
class Block:
    """What a container adds to an active node."""

    open: dict[int, "ScopeRun"] = field(default_factory=dict)
    """Scopes that have not ended, by index; a call's only one has the index 0."""
    total: int = 0
    """Items of a for_each."""
    next: int = 0
    """The next item, or the next iteration."""
    outcome: str | None = None
    """Decided label of a repeat, while its output is gathered."""
    filling: bool = False


class ScopeRun:
    __slots__ = (
        "active", "asked", "entered", "failure", "index", "over", "owner", "path", "plan", "prefix", "queue", "taken", "tallies",
        "verdict",
    )  # fmt: skip

    def __init__(self, plan: ScopePlan, path: NodePath, owner: NodeRun | None = None, index: int = 0) -> None:
        self.plan = plan
        self.path = path
        self.prefix = f"{path}." if path else ""
        self.owner = owner
        self.index = index
        self.queue: ReadyQueue[NodeKey] = ReadyQueue.of(plan.topology)
        self.active: dict[NodeKey, NodeRun] = {}
        self.tallies: dict[NodeKey, Tally] = {}
        """Dead edges, for the nodes that have any."""
        self.taken: dict[NodeKey, int] = {}
        """Taken edges, for the nodes whose join may run early."""
        self.failure: Verdict | None = None
        """The first unhandled failure, where the other branches are finished first."""
        self.verdict: Verdict | None = None
        """Set as soon as it is being ended: nothing starts in it any more."""
        self.entered = False
        """Its first nodes were started; an iteration that is asked for first may never be entered."""
        self.over = False
        """All its nodes are terminal."""
        self.asked: Step | None = None
        """CHECK or OUTPUT, while the answer for this scope's path is awaited."""


# ---- snapshot --------------------------------------------------------------------------------------------------------


def dump_verdict(verdict: Verdict | None) -> list[Any] | None:
    if verdict is None:
        return None
    return [verdict.status, verdict.cause, verdict.error_class, verdict.message]


def load_verdict(data: list[Any] | None) -> Verdict | None:
    if data is None:
        return None
    status, cause, error_class, message = data
    return Verdict(NodeStatus(status), cause, error_class and ErrorClass(error_class), message)


def dump_scope(scope: ScopeRun) -> dict[str, Any]:
    return {
        "index": scope.index,
        "queue": scope.queue.snapshot(),
        "tallies": {key: [t.not_chosen, t.skipped, t.failed, t.canceled] for key, t in scope.tallies.items()},
        "taken": dict(scope.taken),
        "failure": dump_verdict(scope.failure),
        "verdict": dump_verdict(scope.verdict),
        "entered": scope.entered,
        "over": scope.over,
        "asked": scope.asked,
        "active": {key: _dump_run(run) for key, run in scope.active.items()},
    }


def _dump_run(run: NodeRun) -> dict[str, Any]:
    block = run.block
    return {
        "since": run.since,
        "attempt": run.attempt,
        "asked": run.asked,
        "timer": run.timer,
        "waits": run.waits,
        "verdict": dump_verdict(run.verdict),
        "block": block
        and {
            "total": block.total,
            "next": block.next,
            "outcome": block.outcome,
            "open": [[scope.path, dump_scope(scope)] for scope in block.open.values()],
        },
    }


def load_scope(plan: ScopePlan, path: NodePath, owner: NodeRun | None, data: dict[str, Any]) -> ScopeRun:
    scope = ScopeRun(plan, path, owner, data["index"])
    if data["entered"]:  # before that the queue is a new one, its roots still to be given out
        scope.queue.restore(data["queue"])
    scope.tallies = {NodeKey(key): Tally(*counts) for key, counts in data["tallies"].items()}
    scope.taken = {NodeKey(key): count for key, count in data["taken"].items()}
    scope.failure = load_verdict(data["failure"])
    scope.verdict = load_verdict(data["verdict"])
    scope.entered = data["entered"]
    scope.over = data["over"]
    scope.asked = data["asked"] and Step(data["asked"])
    for key, run in data["active"].items():
        scope.active[NodeKey(key)] = _load_run(scope, NodeKey(key), run)
    return scope


def _load_run(scope: ScopeRun, key: NodeKey, data: dict[str, Any]) -> NodeRun:
    path = NodePath(scope.prefix + key)
    run = NodeRun(scope, scope.plan.nodes[key], path, data["since"])
    run.asked = data["asked"] and Step(data["asked"])
    run.attempt = data["attempt"]
    run.timer = data["timer"]
    run.waits = data["waits"]
    run.verdict = load_verdict(data["verdict"])
    block = data["block"]
    if block is not None:
        run.block = Block(total=block["total"], next=block["next"], outcome=block["outcome"])
        for inner, inner_data in block["open"]:
            inner_scope = load_scope(scope.plan.bodies[key], NodePath(inner), run, inner_data)
            run.block.open[inner_scope.index] = inner_scope
    return run
