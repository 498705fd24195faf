"""What the document format promises of a run, put as plainly as possible: the oracle of the coordinator's tests.

It shares with the coordinator the vocabulary (graph, messages) and nothing else. After every event it looks at every
node of every scope, again and again, until nothing changes any more; it keeps no queue, no counters, no early takes.
Slow, and meant to be compared with the rules of the document reference sentence by sentence.

An *ask* is a StartNode that waits for its answer. A stopped scope starts nothing more; its asks are canceled, and it
ends when the last of them is answered.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Literal

from riven.core.errors import ErrorClass
from riven.core.graph import (
    ALWAYS,
    CONTAINERS,
    DONE,
    FAILURE,
    SKIPPED,
    Edge,
    Graph,
    JoinRule,
    Node,
    NodeKind,
    OnFailure,
    OnItemFailure,
    RetryPolicy,
)
from riven.core.ids import ROOT_PATH, NodeKey, NodePath, node_path, scope_path
from riven.core.messages import (
    AGAIN,
    CancelRequested,
    ExecutionStarted,
    ExecutionStatus,
    NodeCompleted,
    NodeFailed,
    NodeStatus,
    PauseRequested,
    ResumeRequested,
    SignalReceived,
    SkipReason,
    Step,
)

TERMINAL = frozenset({NodeStatus.COMPLETED, NodeStatus.FAILED, NodeStatus.SKIPPED, NodeStatus.CANCELED})
WAITS = frozenset({NodeKind.WAIT, NodeKind.SIGNAL})

EdgeState = Literal["open", "taken", "not_chosen", "skipped", "failed", "canceled"]
TimerKind = Literal["deadline", "timeout", "retry", "wait", "delay"]


@dataclass
class NodeState:
    node: Node
    path: NodePath
    scope: "ScopeState"
    status: NodeStatus = NodeStatus.PENDING
    outcome: str | None = None
    reason: SkipReason | None = None
    attempt: int = 0
    begun: int = 0
    """When its first attempt was started."""
    error_class: ErrorClass | None = None
    cause: NodePath | None = None
    # containers
    expanded: bool = False
    items: int = 0
    scopes: "dict[int | None, ScopeState]" = field(default_factory=dict)
    rounds_over: str | None = None
    """A repeat that goes round no more: the outcome it will leave by."""
    checked: int = 0
    """How many times a `while` said to go round."""
    delayed: int = 0
    """How many delays of a repeat are over."""
    gathering: bool = False
    ending: NodeStatus | None = None
    """Stopped: what it becomes when everything inside has ended."""


@dataclass
class ScopeState:
    path: NodePath
    graph: Graph
    container: NodeState | None
    nodes: dict[NodeKey, NodeState] = field(default_factory=dict)
    stopped: bool = False
    cause: NodePath | None = None
    """The path of the (innermost) node whose unhandled failure decided that the scope fails."""
    error_class: ErrorClass | None = None
    building: bool = False
    ended: NodeStatus | None = None
    answered: bool = False
    """The verdict of an `until` about this round has arrived."""


def edge_state(edge: Edge, source: NodeState, *, handled: bool) -> EdgeState:
    """The table `edge outcome | taken when the source`, and why an edge is dead."""
    match source.status:
        case NodeStatus.COMPLETED:
            taken = edge.outcome in {None, source.outcome, DONE, ALWAYS}
            return "taken" if taken else "not_chosen"
        case NodeStatus.FAILED:
            if edge.outcome in {FAILURE, DONE, ALWAYS}:
                return "taken"
            if edge.outcome is None and source.node.continue_on_error:
                return "taken"
            return "not_chosen" if handled else "failed"
        case NodeStatus.SKIPPED:
            if edge.outcome == ALWAYS:
                return "taken"
            return "failed" if source.reason is SkipReason.UPSTREAM_FAILED else "skipped"
        case NodeStatus.CANCELED:
            return "canceled"
        case _:
            return "open"


def is_handled(node: Node, graph: Graph) -> bool:
    return node.continue_on_error or any(
        edge.source == node.key and edge.outcome in {FAILURE, DONE, ALWAYS} for edge in graph.edges
    )


def skip_reason(states: list[EdgeState]) -> SkipReason:
    if "failed" in states:
        return SkipReason.UPSTREAM_FAILED
    if all(state == "skipped" for state in states):
        return SkipReason.UPSTREAM_SKIPPED
    return SkipReason.NOT_CHOSEN


def verdict(node: Node, states: list[EdgeState]) -> Literal["wait", "run"] | SkipReason:
    """The table of joins: start as early as the rule allows, skip only when every edge is resolved."""
    if not states:
        return "run"
    taken = states.count("taken")
    resolved = "open" not in states
    match node.join.rule:
        case JoinRule.NONE_FAILED:
            run = resolved and taken > 0 and "failed" not in states
        case JoinRule.ALL:
            run = taken == len(states)
        case JoinRule.ANY:
            run = taken > 0
        case JoinRule.ALL_DONE:
            run = resolved
        case JoinRule.AT_LEAST:
            run = taken >= node.join.count
    if run:
        return "run"
    return skip_reason(states) if resolved else "wait"


class Model:
    """Feed it events; read what it expects to be going on."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.defaults = RetryPolicy()
        self.now = 0
        self.root = ScopeState(ROOT_PATH, graph, None)
        self.asks: dict[NodePath, tuple[Step, int]] = {}
        self.canceling: set[NodePath] = set()
        self.held: dict[NodePath, tuple[Step, int]] = {}
        """Asks that a pause keeps back."""
        self.signals: set[NodePath] = set()
        self.timers: dict[tuple[TimerKind, NodePath], int] = {}
        self.paused = False
        self.end: tuple[ExecutionStatus, NodePath | None, ErrorClass | None] | None = None
        self.stopped_by: tuple[ExecutionStatus, ErrorClass | None] | None = None

    # ---- what the tests read ------------------------------------------------------------------------------------

    def every_node(self, scope: ScopeState | None = None) -> Iterator[NodeState]:
        for state in (scope or self.root).nodes.values():
            yield state
            for inner in state.scopes.values():
                yield from self.every_node(inner)

    def every_scope(self, scope: ScopeState | None = None) -> Iterator[ScopeState]:
        scope = scope or self.root
        yield scope
        for state in scope.nodes.values():
            for inner in state.scopes.values():
                yield from self.every_scope(inner)

    def find(self, path: NodePath) -> NodeState | None:
        return next((state for state in self.every_node() if state.path == path), None)

    def find_scope(self, path: NodePath) -> ScopeState | None:
        return next((scope for scope in self.every_scope() if scope.path == path), None)

    # ---- events -------------------------------------------------------------------------------------------------

    def handle(
        self,
        event: ExecutionStarted
        | NodeCompleted
        | NodeFailed
        | SignalReceived
        | CancelRequested
        | PauseRequested
        | ResumeRequested,
    ) -> None:
        self.now = event.at
        match event:
            case ExecutionStarted():
                self.defaults = event.retry
                if self.graph.timeout is not None:
                    self.timers["deadline", ROOT_PATH] = event.at + self.graph.timeout
                self._open(self.root)
            case NodeCompleted():
                self._completed(event)
            case NodeFailed():
                self._failed(event)
            case SignalReceived():
                state = self.find(event.path)
                if state is not None and event.path in self.signals:
                    self.signals.discard(event.path)
                    self.timers.pop(("wait", event.path), None)
                    state.status, state.outcome = NodeStatus.COMPLETED, event.outcome
            case CancelRequested():
                self._stop_execution(ExecutionStatus.CANCELED, None)
            case PauseRequested():
                self.paused = True
            case ResumeRequested():
                self.paused = False
                self.asks |= self.held
                self.held = {}
        self._settle()

    def fire(self, kind: TimerKind, path: NodePath, at: int) -> None:
        self.now = at
        del self.timers[kind, path]
        if kind == "deadline":
            self._stop_execution(ExecutionStatus.FAILED, ErrorClass.TIMEOUT)
        else:
            state = self.find(path)
            assert state is not None
            match kind:
                case "timeout" if state.ending is None:
                    state.error_class = ErrorClass.TIMEOUT
                    self._stop_container(state, NodeStatus.FAILED)
                case "timeout":
                    pass
                case "retry":
                    state.status = NodeStatus.RUNNING
                    self._ask(path, Step.RUN, state.attempt)
                case "wait":
                    self.signals.discard(path)
                    state.status = NodeStatus.COMPLETED
                    state.outcome = "expired" if state.node.kind is NodeKind.SIGNAL else "success"
                case "delay":
                    state.delayed += 1
        self._settle()

    # ---- answers ------------------------------------------------------------------------------------------------

    def _completed(self, event: NodeCompleted) -> None:
        step, _ = self.asks.pop(event.path)
        canceled = event.path in self.canceling
        self.canceling.discard(event.path)
        state = self.find(event.path)
        match step:
            case Step.RUN:
                assert state is not None
                if event.outcome == SKIPPED and canceled:
                    state.status = NodeStatus.CANCELED
                elif event.outcome == SKIPPED:
                    state.status, state.reason = NodeStatus.SKIPPED, SkipReason.WHEN_FALSE
                else:
                    state.status, state.outcome = NodeStatus.COMPLETED, event.outcome
            case Step.EXPAND:
                assert state is not None
                if canceled:
                    self._after_cancel(state)
                elif event.outcome == SKIPPED:
                    state.status, state.reason = NodeStatus.SKIPPED, SkipReason.WHEN_FALSE
                    self.timers.pop(("timeout", event.path), None)
                elif state.node.kind in WAITS:
                    state.status = NodeStatus.WAITING
                    if state.node.kind is NodeKind.SIGNAL:
                        self.signals.add(event.path)
                    if event.due is not None:
                        self.timers["wait", event.path] = event.due
                else:
                    state.expanded = True
                    state.items = event.fan_out or 0
            case Step.CHECK:
                container, index = self._round_of(event.path)
                if canceled:
                    return
                goes_on = event.outcome == AGAIN
                if container.node.check_first:
                    if not goes_on:
                        container.rounds_over = "success"
                    elif index >= container.node.max_iterations:
                        container.rounds_over = "exhausted"
                    else:
                        container.checked += 1
                else:
                    container.scopes[index].answered = True
                    if not goes_on:
                        container.rounds_over = "success"
                    elif index + 1 >= container.node.max_iterations:
                        container.rounds_over = "exhausted"
            case Step.OUTPUT:
                if state is not None and state.node.kind is not NodeKind.CALL:
                    if canceled:
                        return
                    state.status = NodeStatus.COMPLETED
                    state.outcome = state.rounds_over or "success"
                    self.timers.pop(("timeout", event.path), None)
                else:
                    scope = self.find_scope(event.path)
                    assert scope is not None
                    if not canceled:
                        scope.ended = NodeStatus.COMPLETED

    def _failed(self, event: NodeFailed) -> None:
        step, attempt = self.asks.pop(event.path)
        canceled = event.path in self.canceling
        self.canceling.discard(event.path)
        state = self.find(event.path)
        match step:
            case Step.RUN:
                assert state is not None
                if event.canceled and canceled:
                    state.status = NodeStatus.CANCELED
                    return
                state.error_class = event.error_class
                due = self._next_try(state, event, attempt)
                if due is None or canceled:
                    self._node_failed(state)
                else:
                    state.status = NodeStatus.RETRYING
                    state.attempt = attempt + 1
                    self.timers["retry", event.path] = due
            case Step.EXPAND:
                assert state is not None
                if canceled:
                    self._after_cancel(state)
                else:
                    state.error_class = event.error_class
                    self._node_failed(state)
            case Step.CHECK:
                container, _ = self._round_of(event.path)
                if not canceled:
                    container.cause = event.path
                    container.error_class = event.error_class
                    self._stop_container(container, NodeStatus.FAILED)
            case Step.OUTPUT:
                if canceled:
                    return
                if state is not None and state.node.kind is not NodeKind.CALL:
                    state.error_class = event.error_class
                    self._node_failed(state)
                else:
                    scope = self.find_scope(event.path)
                    assert scope is not None
                    scope.cause, scope.error_class = event.path, event.error_class
                    scope.ended = NodeStatus.FAILED

    def _after_cancel(self, state: NodeState) -> None:
        if state.node.kind not in CONTAINERS:
            state.status = NodeStatus.CANCELED

    def _round_of(self, path: NodePath) -> tuple[NodeState, int]:
        name, _, index = path.removesuffix("]").rpartition("[")
        container = self.find(NodePath(name))
        assert container is not None
        return container, int(index)

    def _next_try(self, state: NodeState, event: NodeFailed, attempt: int) -> int | None:
        """When the next attempt is due; None: there is none."""
        policy = self._policy(state.node)
        if state.node.pure or not event.retryable or attempt >= policy.max_attempts:
            return None
        delay = min(policy.initial_interval * policy.multiplier ** (attempt - 1), policy.max_interval)
        delay *= 1 + policy.jitter * event.jitter
        due = event.at + max(round(delay), event.retry_after or 0)
        if policy.max_duration is not None and due >= state.begun + policy.max_duration:
            return None
        return due

    def _policy(self, node: Node) -> RetryPolicy:
        own = {} if node.retry is None else asdict(node.retry)
        return RetryPolicy(
            **(asdict(self.defaults) | {name: value for name, value in own.items() if value is not None})
        )

    def _node_failed(self, state: NodeState) -> None:
        state.status = NodeStatus.FAILED
        self.timers.pop(("timeout", state.path), None)
        if is_handled(state.node, state.scope.graph):
            return
        scope = state.scope
        if scope.cause is None and not scope.stopped:
            scope.cause, scope.error_class = state.cause or state.path, state.error_class
            if scope.graph.on_failure is OnFailure.FAIL_FAST:
                self._stop_scope(scope)

    # ---- stopping -----------------------------------------------------------------------------------------------

    def _stop_execution(self, status: ExecutionStatus, error_class: ErrorClass | None) -> None:
        if self.end is not None or self.root.stopped:
            return
        self.stopped_by = status, error_class
        if self.root.path in self.asks:
            self.canceling.add(self.root.path)
        self._stop_scope(self.root)

    def _stop_scope(self, scope: ScopeState) -> None:
        scope.stopped = True
        if scope.building:
            self._cancel_ask(scope.path)
        for state in scope.nodes.values():
            match state.status:
                case NodeStatus.PENDING | NodeStatus.RETRYING | NodeStatus.WAITING:
                    state.status = NodeStatus.CANCELED
                    self.signals.discard(state.path)
                    self.timers.pop(("retry", state.path), None)
                    self.timers.pop(("wait", state.path), None)
                case NodeStatus.RUNNING if state.node.kind in CONTAINERS:
                    self._stop_container(state, NodeStatus.CANCELED)
                case NodeStatus.RUNNING:
                    if self._cancel_ask(state.path):
                        state.status = NodeStatus.CANCELED
                case _:
                    pass

    def _stop_container(self, state: NodeState, ending: NodeStatus) -> None:
        state.ending = ending if state.ending is None else state.ending
        self.timers.pop(("delay", state.path), None)
        self._cancel_ask(state.path)
        for scope in state.scopes.values():
            if scope.ended is None:
                self._stop_scope(scope)
        for path in list(self.asks):
            if path.startswith(f"{state.path}["):
                self._cancel_ask(path)
        for path in list(self.held):
            if path.startswith(f"{state.path}["):
                del self.held[path]

    def _cancel_ask(self, path: NodePath) -> bool:
        """True when it had not even been started, a pause holding it back."""
        if path in self.asks:
            self.canceling.add(path)
        return self.held.pop(path, None) is not None

    # ---- until nothing changes ----------------------------------------------------------------------------------

    def _settle(self) -> None:
        while self.end is None and self._change_something():
            pass
        if self.root.ended is not None:
            self._finish()

    def _change_something(self) -> bool:
        return any(self._advance_scope(scope) for scope in list(self.every_scope()))

    def _advance_scope(self, scope: ScopeState) -> bool:
        if scope.ended is not None:
            return False
        changed = False
        if not scope.stopped:
            for state in scope.nodes.values():
                if state.status is NodeStatus.PENDING and not scope.stopped:
                    changed |= self._decide(state)
        for state in scope.nodes.values():
            if state.node.kind in CONTAINERS and state.status is NodeStatus.RUNNING:
                changed |= self._advance_container(state)
        if all(state.status in TERMINAL for state in scope.nodes.values()):
            changed |= self._end_scope(scope)
        return changed

    def _decide(self, state: NodeState) -> bool:
        states = [
            edge_state(
                edge,
                state.scope.nodes[edge.source],
                handled=is_handled(state.scope.nodes[edge.source].node, state.scope.graph),
            )
            for edge in state.scope.graph.edges
            if edge.target == state.node.key
        ]
        decision = verdict(state.node, states)
        if decision == "wait":
            return False
        if decision == "run":
            state.status = NodeStatus.RUNNING
            state.attempt = 1
            state.begun = self.now
            limits = [state.node.timeout, state.node.body.timeout if state.node.body else None]
            if state.node.kind in CONTAINERS and any(limits):
                self.timers["timeout", state.path] = self.now + min(limit for limit in limits if limit)
            self._ask(state.path, Step.RUN if state.node.kind is NodeKind.ACTION else Step.EXPAND, 1)
        else:
            state.status, state.reason = NodeStatus.SKIPPED, decision
        return True

    def _end_scope(self, scope: ScopeState) -> bool:
        if scope.path in self.asks or scope.path in self.held:
            return False
        if scope.stopped:
            scope.ended = NodeStatus.CANCELED if scope.cause is None else NodeStatus.FAILED
        elif scope.cause is not None:
            scope.ended = NodeStatus.FAILED
        elif scope.graph.has_output and not scope.building:
            scope.building = True
            self._ask(scope.path, Step.OUTPUT, 1)
            return True
        else:
            scope.ended = NodeStatus.COMPLETED
        return True

    def _finish(self) -> None:
        self.timers.clear()
        if self.stopped_by is not None:
            status, error_class = self.stopped_by
            self.end = status, None, error_class
        elif self.root.ended is NodeStatus.FAILED:
            self.end = ExecutionStatus.FAILED, self.root.cause, self.root.error_class
        else:
            self.end = ExecutionStatus.COMPLETED, None, None

    def _advance_container(self, state: NodeState) -> bool:
        if state.ending is not None:
            return self._drain(state)
        if not state.expanded or state.gathering:
            return False
        for scope in state.scopes.values():
            collected = state.node.on_item_failure is OnItemFailure.COLLECT
            if scope.ended is NodeStatus.FAILED and not (state.node.kind is NodeKind.FOR_EACH and collected):
                state.cause, state.error_class = scope.cause, scope.error_class
                self._stop_container(state, NodeStatus.FAILED)
                return True
        match state.node.kind:
            case NodeKind.FOR_EACH:
                return self._advance_for_each(state)
            case NodeKind.REPEAT:
                return self._advance_repeat(state)
            case _:
                return self._advance_call(state)

    def _drain(self, state: NodeState) -> bool:
        inside = [
            path
            for path in self.asks
            if path == state.path or path.startswith((f"{state.path}[", f"{state.path}."))
        ]
        if inside or any(scope.ended is None for scope in state.scopes.values()):
            return False
        assert state.ending is not None
        self.timers.pop(("timeout", state.path), None)
        if state.ending is NodeStatus.FAILED:
            self._node_failed(state)
        else:
            state.status = state.ending
        return True

    def _advance_for_each(self, state: NodeState) -> bool:
        going_on = [scope for scope in state.scopes.values() if scope.ended is None]
        if len(state.scopes) < state.items and len(going_on) < state.node.concurrency:
            self._open_inside(state, len(state.scopes))
            return True
        if len(state.scopes) == state.items and not going_on:
            self._gather(state)
            return True
        return False

    def _advance_repeat(self, state: NodeState) -> bool:
        index = len(state.scopes)
        checking = scope_path(state.path, index)
        last = state.scopes.get(index - 1)
        if last is not None and last.ended is None:
            return False
        if state.rounds_over is not None:
            self._gather(state)
            return True
        if last is not None and not state.node.check_first and not last.answered:
            if last.path in self.asks or last.path in self.held:
                return False
            self._ask(last.path, Step.CHECK, 1)
            return True
        if index > 0 and state.node.delay > 0 and state.delayed < index:
            if ("delay", state.path) in self.timers:
                return False
            self.timers["delay", state.path] = self.now + state.node.delay
            return True
        if state.node.check_first and state.checked == index:
            if checking in self.asks or checking in self.held:
                return False
            self._ask(checking, Step.CHECK, 1)
            return True
        self._open_inside(state, index)
        return True

    def _advance_call(self, state: NodeState) -> bool:
        if None not in state.scopes:
            self._open_inside(state, None)
            return True
        if state.scopes[None].ended is NodeStatus.COMPLETED:
            state.status, state.outcome = NodeStatus.COMPLETED, "success"
            self.timers.pop(("timeout", state.path), None)
            return True
        return False

    def _gather(self, state: NodeState) -> None:
        state.gathering = True
        self._ask(state.path, Step.OUTPUT, 1)

    def _open_inside(self, state: NodeState, index: int | None) -> None:
        assert state.node.body is not None
        scope = ScopeState(scope_path(state.path, index), state.node.body, state)
        state.scopes[index] = scope
        self._open(scope)

    def _open(self, scope: ScopeState) -> None:
        scope.nodes = {
            node.key: NodeState(node, node_path(scope.path, node.key), scope) for node in scope.graph.nodes
        }

    def _ask(self, path: NodePath, step: Step, attempt: int) -> None:
        (self.held if self.paused else self.asks)[path] = step, attempt
