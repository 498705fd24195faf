"""The state of an execution: an immutable value, moved by pure transitions from one table.

`apply(state, event)` answers a new state; an illegal move raises and changes nothing. Nodes are named by their paths,
whatever scope they stand in; a container is active while its body runs. Outputs are not kept here: they are tenants'
data (docs/explanation/pure-core.md).

A state of a run of n nodes must not cost O(n) to move, so all states of one run share a log that only grows: a state
is a length of that log. The newest state also reads an index of the log; an older one that is asked, or moved, reads
its own part of the log again. Nobody sees the difference but a profiler.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias

from riven.core.errors import IllegalTransitionError
from riven.core.ids import NodePath
from riven.core.messages import NodeCompleted, NodeFailed


class Phase(StrEnum):
    INITIALIZING = "INITIALIZING"
    EXECUTING_NODES = "EXECUTING_NODES"
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    CANCELED = "CANCELED"


TERMINAL = frozenset({Phase.COMPLETED, Phase.FAILED, Phase.CANCELED})


class Standing(StrEnum):
    """Which set a node is in."""

    ACTIVE = "active"
    COMPLETED = "completed"
    FAILED = "failed"
    SKIPPED = "skipped"
    CANCELED = "canceled"


class NodesReady(NamedTuple):
    """These nodes start now. A tuple and no dataclass: one is made for almost every node."""

    paths: tuple[NodePath, ...]


@dataclass(frozen=True, slots=True)
class NodeSkipped:
    """By its join, never having been active, or by its `when`."""

    path: NodePath


@dataclass(frozen=True, slots=True)
class NodeCanceled:
    """While active, or never having been."""

    path: NodePath


@dataclass(frozen=True, slots=True)
class AllNodesCompleted:
    pass


@dataclass(frozen=True, slots=True)
class WorkflowFailed:
    pass


@dataclass(frozen=True, slots=True)
class WorkflowCanceled:
    pass


StateEvent: TypeAlias = (
    NodesReady
    | NodeCompleted
    | NodeFailed
    | NodeSkipped
    | NodeCanceled
    | AllNodesCompleted
    | WorkflowFailed
    | WorkflowCanceled
)

TRANSITIONS: dict[tuple[Phase, type[StateEvent]], Phase] = {
    (Phase.INITIALIZING, NodesReady): Phase.EXECUTING_NODES,
    (Phase.INITIALIZING, NodeCanceled): Phase.INITIALIZING,
    (Phase.INITIALIZING, AllNodesCompleted): Phase.COMPLETED,
    (Phase.INITIALIZING, WorkflowFailed): Phase.FAILED,
    (Phase.INITIALIZING, WorkflowCanceled): Phase.CANCELED,
    (Phase.EXECUTING_NODES, NodesReady): Phase.EXECUTING_NODES,
    (Phase.EXECUTING_NODES, NodeCompleted): Phase.EXECUTING_NODES,
    (Phase.EXECUTING_NODES, NodeFailed): Phase.EXECUTING_NODES,
    (Phase.EXECUTING_NODES, NodeSkipped): Phase.EXECUTING_NODES,
    (Phase.EXECUTING_NODES, NodeCanceled): Phase.EXECUTING_NODES,
    (Phase.EXECUTING_NODES, AllNodesCompleted): Phase.COMPLETED,
    (Phase.EXECUTING_NODES, WorkflowFailed): Phase.FAILED,
    (Phase.EXECUTING_NODES, WorkflowCanceled): Phase.CANCELED,
}
"""The phase that an event leads to; a pair that is not here is illegal. Terminal phases are left by nothing."""

_MOVES: dict[type[StateEvent], Standing] = {
    NodeCompleted: Standing.COMPLETED,
    NodeFailed: Standing.FAILED,
    NodeSkipped: Standing.SKIPPED,
    NodeCanceled: Standing.CANCELED,
}
_NEXT_PHASE: dict[Phase, dict[type[StateEvent], Phase]] = {
    phase: {kind: after for (before, kind), after in TRANSITIONS.items() if before is phase}
    for phase in Phase
}
_ACTIVE = Standing.ACTIVE
_FROM_ACTIVE_ONLY = frozenset({NodeCompleted, NodeFailed})


class _Log:
    """Moves of one run, oldest first, and where each node stands after all of them.

    Paths and standings are two lists and not one of pairs: a pair for every move is what the collector would trace.
    """

    __slots__ = ("paths", "standing", "standings")

    def __init__(self) -> None:
        self.paths: list[NodePath] = []
        self.standings: list[Standing] = []
        self.standing: dict[NodePath, Standing] = {}

    def add(self, path: NodePath, standing: Standing) -> None:
        self.paths.append(path)
        self.standings.append(standing)
        self.standing[path] = standing

    def first(self, length: int) -> Iterable[tuple[NodePath, Standing]]:
        return zip(self.paths[:length], self.standings[:length], strict=True)


class ExecutionState(NamedTuple):
    """Compare `phase` and the five sets; `log` and `length` are how they are kept."""

    phase: Phase
    active_count: int
    length: int
    log: _Log

    def standings(self) -> Mapping[NodePath, Standing]:
        """Where each node stands that was ever told of, oldest first by its first move."""
        log = self.log
        return log.standing if len(log.paths) == self.length else dict(log.first(self.length))

    def _set(self, wanted: Standing) -> frozenset[NodePath]:
        return frozenset(path for path, standing in self.standings().items() if standing is wanted)

    @property
    def active(self) -> frozenset[NodePath]:
        return self._set(Standing.ACTIVE)

    @property
    def completed(self) -> frozenset[NodePath]:
        return self._set(Standing.COMPLETED)

    @property
    def failed(self) -> frozenset[NodePath]:
        return self._set(Standing.FAILED)

    @property
    def skipped(self) -> frozenset[NodePath]:
        return self._set(Standing.SKIPPED)

    @property
    def canceled(self) -> frozenset[NodePath]:
        return self._set(Standing.CANCELED)

    def standing_of(self, path: NodePath) -> Standing | None:
        return self.standings().get(path)


def initial_state() -> ExecutionState:
    return ExecutionState(Phase.INITIALIZING, 0, 0, _Log())


def apply(state: ExecutionState, event: StateEvent) -> ExecutionState:
    """The state after this event. Raises IllegalTransitionError, and then nothing has changed."""
    kind = type(event)
    phase = _NEXT_PHASE[state.phase].get(kind)
    if phase is None:
        raise IllegalTransitionError(f"{kind.__name__} is not possible in {state.phase}")
    log = state.log
    if len(log.paths) != state.length:
        log = _copy(state)
    if kind is NodesReady:
        return _activate(state, phase, log, event.paths)  # type: ignore[union-attr]
    standing = _MOVES.get(kind)
    if standing is None:
        if kind is AllNodesCompleted and state.active_count:
            raise IllegalTransitionError(f"nodes are still active: {', '.join(sorted(state.active)[:10])}")
        return ExecutionState(phase, state.active_count, state.length, log)
    path: NodePath = event.path  # type: ignore[union-attr]  # all kinds in _MOVES have one
    before = log.standing.get(path)
    if before is _ACTIVE:
        active = state.active_count - 1
    elif before is None and kind not in _FROM_ACTIVE_ONLY:
        active = state.active_count
    else:
        raise IllegalTransitionError(f"{kind.__name__} of {path!r}, which is {before or 'not active'}")
    log.paths.append(path)
    log.standings.append(standing)
    log.standing[path] = standing
    return ExecutionState(phase, active, state.length + 1, log)


def _activate(state: ExecutionState, phase: Phase, log: _Log, paths: tuple[NodePath, ...]) -> ExecutionState:
    if not paths:
        raise IllegalTransitionError("NodesReady without a node")
    standing = log.standing
    for path in paths:
        if path in standing:
            raise IllegalTransitionError(f"{path!r} has been started before: it is {standing[path]}")
    if len(paths) > 1 and len(set(paths)) < len(paths):
        raise IllegalTransitionError("NodesReady names a node twice")
    for path in paths:
        log.add(path, _ACTIVE)
    return ExecutionState(phase, state.active_count + len(paths), state.length + len(paths), log)


def _copy(state: ExecutionState) -> _Log:
    """The log as this older state knows it, so that its future is its own."""
    log = _Log()
    for path, standing in state.log.first(state.length):
        log.add(path, standing)
    return log


def dump_state(state: ExecutionState) -> dict[str, Any]:
    """JSON: the phase and the five sets, each in the order in which its nodes came to stand there."""
    sets: dict[str, list[NodePath]] = {standing: [] for standing in Standing}
    for path, standing in state.standings().items():
        sets[standing].append(path)
    return {"phase": state.phase, **sets}


def load_state(data: dict[str, Any]) -> ExecutionState:
    log = _Log()
    for standing in Standing:
        for path in data[standing]:
            log.add(NodePath(path), standing)
    return ExecutionState(Phase(data["phase"]), len(data[Standing.ACTIVE]), len(log.paths), log)
