"""The coordinator of one run: events in, commands out. Same events give the same commands, for ever.

A node that the ready queue gives is started, or skipped by its join; when it is terminal, in whatever way, its edges
are resolved and the queue is told, which may give more nodes at once. A scope whose last node is terminal is over: its
output is built, its container goes on, and at the end of the outermost scope the execution is finished.

What is ended from above (cancel, timeout, the failure of a neighbour) gets a verdict first and ends when everything
that was asked for in it has been answered: nothing is left running behind a finished run.
"""

from collections.abc import Sequence
from typing import Any, assert_never

from riven.core.errors import ErrorClass, IllegalTransitionError, StuckExecutionError
from riven.core.graph import SKIPPED, SUCCESS, Graph, Node, NodeKind, OnFailure, OnItemFailure, RetryPolicy
from riven.core.ids import ROOT_PATH, NodeKey, NodePath, TimerId, node_path, scope_path
from riven.core.joins import End, Tally, decide, resolve_edge, runs_early
from riven.core.messages import (
    AGAIN,
    AwaitSignal,
    CancelNode,
    CancelRequested,
    Command,
    Event,
    ExecutionStarted,
    ExecutionStatus,
    Finish,
    NodeCompleted,
    NodeFailed,
    NodeStatus,
    PauseRequested,
    ResumeRequested,
    SettleNode,
    SignalReceived,
    SkipReason,
    StartNode,
    StartTimer,
    Step,
    StopTimer,
    TimerFired,
)
from riven.core.plan import plan
from riven.core.retry import effective_policy, next_attempt_at
from riven.core.scopes import (
    CANCELED,
    Block,
    NodePlan,
    NodeRun,
    ScopePlan,
    ScopeRun,
    Verdict,
    dump_scope,
    load_scope,
)
from riven.core.states import (
    TERMINAL,
    AllNodesCompleted,
    ExecutionState,
    NodeCanceled,
    NodeSkipped,
    NodesReady,
    WorkflowCanceled,
    WorkflowFailed,
    apply,
    dump_state,
    initial_state,
    load_state,
)

DEADLINE = TimerId("deadline")
_RUN = Step.RUN


class Coordinator:
    def __init__(self, graph: Graph, planned: ScopePlan | None = None) -> None:
        """`planned`: what `plan` makes of the graph, where other runs of it need it too."""
        self.graph = graph
        self.state: ExecutionState = initial_state()
        self.paused = False
        self._root = ScopeRun(plan(graph) if planned is None else planned, ROOT_PATH)
        self._scopes: dict[NodePath, ScopeRun] = {ROOT_PATH: self._root}
        """Open scopes that are asked for by their own path: all but those of calls."""
        self._active: dict[NodePath, NodeRun] = {}
        self._timers: dict[TimerId, int] = {}
        self._held: dict[NodePath, StartNode] = {}
        """What a pause holds back."""
        self._retry = RetryPolicy()
        self._now: int | None = None
        self._out: list[Command] = []

    @property
    def finished(self) -> bool:
        return self.state.phase in TERMINAL

    def receive(self, event: Event) -> list[Command]:
        """What to record and to do now, in this order.

        An answer that nobody waits for raises IllegalTransitionError and changes nothing. Timers and signals may cross
        with the end of what they were for: they are ignored then.
        """
        self._out = []
        match event:
            case NodeCompleted():
                self._completed(event)
            case NodeFailed():
                self._failed(event)
            case ExecutionStarted():
                self._begin(event)
            case _ if self._now is None:
                raise IllegalTransitionError(f"{type(event).__name__} before the execution was started")
            case _ if self.finished:
                return []
            case TimerFired():
                self._fired(event)
            case SignalReceived():
                self._signaled(event)
            case CancelRequested():
                self._now = event.at
                self._end_all(CANCELED)
            case PauseRequested():
                self.paused = True
            case ResumeRequested():
                self._resume()
            case _:
                assert_never(event)
        return self._out

    # ---- the run -----------------------------------------------------------------------------------------------------

    def _begin(self, event: ExecutionStarted) -> None:
        if self._now is not None:
            raise IllegalTransitionError("the execution was started before")
        self._now = event.at
        self._retry = event.retry
        if self.graph.timeout is not None:
            self._start_timer(DEADLINE, event.at + self.graph.timeout)
        self._open(self._root)

    def _resume(self) -> None:
        self.paused = False
        self._out.extend(self._held.values())
        self._held = {}

    def _end_all(self, verdict: Verdict) -> None:
        self._end_scope(self._root, verdict)

    def _finish(self, verdict: Verdict | None) -> None:
        if DEADLINE in self._timers:
            self._stop_timer(DEADLINE)
        if verdict is None:
            self.state = apply(self.state, AllNodesCompleted())
            self._out.append(Finish(ExecutionStatus.COMPLETED))
        elif verdict.status is NodeStatus.CANCELED:
            self.state = apply(self.state, WorkflowCanceled())
            self._out.append(Finish(ExecutionStatus.CANCELED))
        else:
            self.state = apply(self.state, WorkflowFailed())
            self._out.append(
                Finish(ExecutionStatus.FAILED, verdict.cause, verdict.error_class, verdict.message)
            )

    # ---- scopes ------------------------------------------------------------------------------------------------------

    def _open(self, scope: ScopeRun) -> None:
        scope.entered = True
        self._advance(scope, ())
        self._close_if_over(scope)

    def _advance(self, scope: ScopeRun, early: Sequence[NodeKey]) -> None:
        """Start or skip what has become ready, and what that makes ready, until nothing is."""
        nodes, queue = scope.plan.nodes, scope.queue
        started = [self._start(scope, nodes[key]) for key in early]
        while ready := queue.get_ready_nodes():
            tallies = scope.tallies
            for key in ready:
                node_plan = nodes[key]
                tally = tallies.pop(key, None) if tallies else None
                reason = None if tally is None else decide(node_plan.node.join, node_plan.incoming, tally)
                if reason is None:
                    started.append(self._start(scope, node_plan))
                else:
                    early_now = self._skip(scope, node_plan, reason)
                    started.extend(self._start(scope, nodes[target]) for target in early_now)
        if started:
            self.state = apply(self.state, NodesReady(tuple(started)))

    def _skip(self, scope: ScopeRun, node_plan: NodePlan, reason: SkipReason) -> list[NodeKey]:
        key = node_plan.node.key
        path = node_path(scope.path, key)
        self.state = apply(self.state, NodeSkipped(path))
        self._out.append(SettleNode(path, NodeStatus.SKIPPED, reason))
        early = self._resolve(scope, node_plan, End(NodeStatus.SKIPPED, skip_reason=reason))
        scope.queue.mark_node_completed(key)
        return early

    def _resolve(self, scope: ScopeRun, node_plan: NodePlan, end: End) -> list[NodeKey]:
        """Take or bury the edges of an ended node; answer the targets that need not wait for their other edges."""
        early: list[NodeKey] = []
        nodes = scope.plan.nodes
        for target, outcome in node_plan.outgoing:
            reason = resolve_edge(outcome, end)
            if reason is not None:
                scope.tallies.setdefault(target, Tally()).add(reason)
            elif nodes[target].early:
                taken = scope.taken.get(target, 0)
                scope.taken[target] = taken + 1
                join = nodes[target].node.join
                if runs_early(join, taken + 1) and not runs_early(join, taken):
                    scope.queue.take(target)
                    early.append(target)
        return early

    def _close_if_over(self, scope: ScopeRun) -> None:
        if scope.active or scope.over:
            return
        left = scope.queue.get_uncompleted_nodes() if scope.entered else []
        if left and scope.verdict is None:
            self._stuck(scope, left)
            return
        scope.over = True
        for key in left:
            path = node_path(scope.path, key)
            self.state = apply(self.state, NodeCanceled(path))
            self._out.append(SettleNode(path, NodeStatus.CANCELED))
        if scope.verdict is None:
            scope.verdict = scope.failure
        if scope.verdict is not None or not scope.plan.graph.has_output:
            self._scope_ended(scope)
        elif scope.owner is not None and scope.owner.plan.node.kind is NodeKind.CALL:
            self._ask_run(scope.owner, Step.OUTPUT)
        else:
            self._ask_scope(scope, Step.OUTPUT)

    def _stuck(self, scope: ScopeRun, left: list[NodeKey]) -> None:
        """Ours: validation lets no such graph pass. Ends the execution, never hangs."""
        blocked = scope.queue.get_remaining_nodes()
        what = (
            "deadlock: nothing can start any more, but" if blocked else "incomplete: the end was reached, but"
        )
        names = ", ".join(node_path(scope.path, key) for key in left[:20]) + (
            ", ..." if len(left) > 20 else ""
        )
        message = str(StuckExecutionError(f"{what} these nodes have not ended: {names}"))
        self._end_all(Verdict(NodeStatus.FAILED, None, ErrorClass.INTERNAL_ERROR, message))
        self._end_scope(scope, CANCELED)

    def _end_scope(self, scope: ScopeRun, verdict: Verdict) -> None:
        """Nothing starts in this scope any more; it ends by the verdict when all that was asked is answered."""
        if scope.verdict is not None:
            return
        scope.verdict = verdict
        for run in list(scope.active.values()):
            self._end_run(run, CANCELED)
        if scope.asked is not None:
            self._cancel(scope.path)
            if scope.path in self._held:
                del self._held[scope.path]
                scope.asked = None
                self._scope_ended(scope)
        else:
            self._close_if_over(scope)

    def _scope_ended(self, scope: ScopeRun) -> None:
        verdict, owner = scope.verdict, scope.owner
        if owner is None:
            self._finish(verdict)
            return
        node = owner.plan.node
        if node.kind is NodeKind.REPEAT and not node.check_first and verdict is None:
            self._ask_scope(scope, Step.CHECK)
            return
        self._close(owner, scope)
        match node.kind:
            case NodeKind.CALL:
                self._call_ended(owner, verdict)
            case NodeKind.FOR_EACH:
                self._item_ended(owner, verdict)
            case _:
                self._iteration_ended(owner, verdict)

    def _close(self, owner: NodeRun, scope: ScopeRun) -> None:
        """Forget an ended scope, and tell how an item or an iteration ended; the end of a call is its node's."""
        del _block(owner).open[scope.index]
        if owner.plan.node.kind is NodeKind.CALL:
            return
        del self._scopes[scope.path]
        verdict = scope.verdict
        if verdict is not None:
            self._out.append(SettleNode(scope.path, verdict.status, None, verdict.cause, verdict.error_class))
        elif scope.entered:
            self._out.append(SettleNode(scope.path, NodeStatus.COMPLETED))

    # ---- nodes -------------------------------------------------------------------------------------------------------

    def _start(self, scope: ScopeRun, node_plan: NodePlan) -> NodePath:
        node = node_plan.node
        path = NodePath(scope.prefix + node.key)
        run = NodeRun(scope, node_plan, path, self._now or 0)
        scope.active[node.key] = run
        self._active[path] = run
        if node_plan.first is None:
            self._start_expansion(run, node)
        elif scope is self._root and self._retry.max_duration is None and node.retry is None:
            run.asked = _RUN
            self._ask(node_plan.first)
        else:
            run.asked = _RUN
            self._ask(StartNode(path, 1, _RUN, node.timeout, self._limit(run)))
        return path

    def _start_expansion(self, run: NodeRun, node: Node) -> None:
        timeout = node.timeout
        if node.body is not None and node.body.timeout is not None:
            timeout = node.body.timeout if timeout is None else min(timeout, node.body.timeout)
        if timeout is not None:
            self._start_timer(_timer("limit", run.path), run.since + timeout)
        self._ask_run(run, Step.EXPAND)

    def _limit(self, run: NodeRun) -> int | None:
        """What is left of the time that all attempts together may take."""
        override = run.plan.node.retry
        whole = (
            self._retry.max_duration
            if override is None or override.max_duration is None
            else override.max_duration
        )
        if whole is None or run.plan.node.pure:
            return None
        return max(1, whole - ((self._now or 0) - run.since))

    def _ask(self, command: StartNode) -> None:
        if self.paused:
            self._held[command.path] = command
        else:
            self._out.append(command)

    def _ask_run(self, run: NodeRun, step: Step) -> None:
        run.asked = step
        self._ask(StartNode(run.path, run.attempt, step))

    def _ask_scope(self, scope: ScopeRun, step: Step) -> None:
        scope.asked = step
        self._ask(StartNode(scope.path, 1, step))

    def _cancel(self, path: NodePath) -> None:
        if path not in self._held:
            self._out.append(CancelNode(path))

    def _end_run(self, run: NodeRun, verdict: Verdict) -> None:
        """End an active node from above. What runs is asked to stop and ends with its answer."""
        if run.verdict is not None:
            return
        run.verdict = verdict
        if run.timer is not None:
            self._stop_timer(run.timer)
            run.timer = None
        if run.asked is not None:
            self._cancel(run.path)
            if run.path in self._held:
                del self._held[run.path]
                self._settle_verdict(run, verdict)
        elif run.block is not None and run.block.open:
            for scope in list(run.block.open.values()):
                self._end_scope(scope, CANCELED)
        else:
            self._settle_verdict(run, verdict)

    def _settle_verdict(self, run: NodeRun, verdict: Verdict) -> None:
        self._node_ended(run, verdict.status, cause=verdict.cause, error_class=verdict.error_class)

    def _node_ended(
        self,
        run: NodeRun,
        status: NodeStatus,
        *,
        outcome: str | None = None,
        reason: SkipReason | None = None,
        cause: NodePath | None = None,
        error_class: ErrorClass | None = None,
    ) -> None:
        """The node is terminal otherwise than by the plain success of an action."""
        path = run.path
        match status:
            case NodeStatus.COMPLETED:
                self.state = apply(self.state, NodeCompleted(path, 0))
            case NodeStatus.SKIPPED:
                self.state = apply(self.state, NodeSkipped(path))
            case NodeStatus.FAILED:
                self.state = apply(self.state, NodeFailed(path, 0, error_class or ErrorClass.EXECUTION_ERROR))
            case _:
                self.state = apply(self.state, NodeCanceled(path))
        limit = _timer("limit", path)
        if limit in self._timers:
            self._stop_timer(limit)
        self._out.append(SettleNode(path, status, reason, cause, error_class, outcome))
        node_plan = run.plan
        end = End(status, outcome, reason, node_plan.handled, node_plan.node.continue_on_error)
        unhandled = status is NodeStatus.FAILED and not node_plan.handled
        self._leave(run, end, Verdict(status, cause or path, error_class) if unhandled else None)

    def _leave(self, run: NodeRun, end: End, failure: Verdict | None) -> None:
        """Take a terminal node out of its scope, resolve its edges and go on with what follows."""
        scope, key = run.scope, run.plan.node.key
        del scope.active[key]
        del self._active[run.path]
        if scope.verdict is None and failure is not None:
            if scope.plan.graph.on_failure is OnFailure.FINISH_BRANCHES:
                scope.failure = scope.failure or failure
            else:
                scope.queue.mark_node_completed(key)
                self._end_scope(scope, failure)
                return
        early = [] if scope.verdict is not None else self._resolve(scope, run.plan, end)
        scope.queue.mark_node_completed(key)
        if scope.verdict is None:
            self._advance(scope, early)
        if not scope.active:
            self._close_if_over(scope)

    def _succeeded(self, run: NodeRun, outcome: str) -> None:
        """The plain success of an action: almost every event is one, so where no edge can die none is looked at."""
        scope = run.scope
        if scope.verdict is not None or not run.plan.plain:
            self._leave(run, End(NodeStatus.COMPLETED, outcome), None)
            return
        key = run.plan.node.key
        del scope.active[key]
        del self._active[run.path]
        scope.queue.mark_node_completed(key)
        self._advance(scope, ())
        if not scope.active:
            self._close_if_over(scope)

    # ---- answers -----------------------------------------------------------------------------------------------------

    def _completed(self, event: NodeCompleted) -> None:
        run = self._active.get(event.path)
        if run is None or run.asked is None or (self._held and event.path in self._held):
            self._scope_answered(event)
            return
        self._now = event.at
        step, run.asked = run.asked, None
        if step is _RUN and event.outcome != SKIPPED:
            self.state = apply(self.state, event)
            self._succeeded(run, event.outcome)
        elif run.verdict is not None:
            self._settle_verdict(run, run.verdict)
        elif step is Step.RUN or (step is Step.EXPAND and event.outcome == SKIPPED):
            self._node_ended(run, NodeStatus.SKIPPED, reason=SkipReason.WHEN_FALSE)
        elif step is Step.EXPAND and event.whole:
            self._node_ended(run, NodeStatus.COMPLETED, outcome=event.outcome)
        elif step is Step.EXPAND:
            self._expanded(run, event)
        else:
            self._output_gathered(run)

    def _failed(self, event: NodeFailed) -> None:
        run = self._active.get(event.path)
        if run is None or run.asked is None or (self._held and event.path in self._held):
            self._scope_answered(event)
            return
        self._now = event.at
        step, run.asked = run.asked, None
        if run.verdict is not None:
            if step is Step.RUN and not event.canceled:
                self._node_ended(run, NodeStatus.FAILED, error_class=event.error_class)
            else:
                self._settle_verdict(run, run.verdict)
            return
        if step is Step.RUN and event.retryable and not run.plan.node.pure:
            due = next_attempt_at(
                effective_policy(self._retry, run.plan.node.retry),
                attempt=run.attempt,
                first_started=run.since,
                failed_at=event.at,
                jitter=event.jitter,
                retry_after=event.retry_after,
            )
            if due is not None:
                run.timer = _timer("retry", run.path)
                self._out.append(
                    SettleNode(run.path, NodeStatus.RETRYING, error_class=event.error_class, due=due)
                )
                self._start_timer(run.timer, due)
                return
        self._node_ended(run, NodeStatus.FAILED, error_class=event.error_class)

    def _scope_answered(self, event: NodeCompleted | NodeFailed) -> None:
        scope = self._scopes.get(event.path)
        if scope is None or scope.asked is None or event.path in self._held:
            raise IllegalTransitionError(f"nobody waits for an answer of {event.path!r}")
        self._now = event.at
        step, scope.asked = scope.asked, None
        if scope.verdict is None and isinstance(event, NodeFailed):
            scope.verdict = Verdict(NodeStatus.FAILED, scope.path, event.error_class)
        if scope.verdict is not None:
            if scope.over:
                self._scope_ended(scope)
            else:
                self._close_if_over(scope)
        elif step is Step.CHECK and isinstance(event, NodeCompleted):
            self._checked(scope, again=event.outcome == AGAIN)
        else:
            self._scope_ended(scope)

    def _fired(self, event: TimerFired) -> None:
        if self._timers.pop(event.timer, None) is None:
            return
        self._now = event.at
        if event.timer == DEADLINE:
            message = f"the execution took longer than its timeout of {_say(self.graph.timeout or 0)}"
            self._end_all(Verdict(NodeStatus.FAILED, None, ErrorClass.TIMEOUT, message))
            return
        kind, _, path = event.timer.partition(":")
        run = self._active[NodePath(path)]
        if kind == "limit":
            self._end_run(run, Verdict(NodeStatus.FAILED, None, ErrorClass.TIMEOUT))
            return
        run.timer = None
        if kind == "retry":
            run.attempt += 1
            run.asked = Step.RUN
            self._ask(StartNode(run.path, run.attempt, Step.RUN, run.plan.node.timeout, self._limit(run)))
        elif kind == "delay":
            self._next_iteration(run)
        else:
            outcome = SUCCESS if run.plan.node.kind is NodeKind.WAIT else "expired"
            self._node_ended(run, NodeStatus.COMPLETED, outcome=outcome)

    def _signaled(self, event: SignalReceived) -> None:
        run = self._active.get(event.path)
        if run is None or not run.waits or run.verdict is not None:
            return
        self._now = event.at
        if run.timer is not None:
            self._stop_timer(run.timer)
        self._node_ended(run, NodeStatus.COMPLETED, outcome=event.outcome)

    # ---- waits and containers ----------------------------------------------------------------------------------------

    def _expanded(self, run: NodeRun, event: NodeCompleted) -> None:
        match run.plan.node.kind:
            case NodeKind.WAIT | NodeKind.SIGNAL:
                self._out.append(SettleNode(run.path, NodeStatus.WAITING, due=event.due))
                if event.due is not None:
                    run.timer = _timer("wake", run.path)
                    self._start_timer(run.timer, event.due)
                if run.plan.node.kind is NodeKind.SIGNAL:
                    run.waits = True
                    self._out.append(AwaitSignal(run.path))
            case NodeKind.FOR_EACH:
                run.block = Block(total=event.fan_out or 0)
                self._fill(run)
            case NodeKind.REPEAT:
                run.block = Block()
                self._next_iteration(run)
            case NodeKind.CALL:
                run.block = Block()
                self._open(self._new_scope(run, None))
            case NodeKind.ACTION:
                raise IllegalTransitionError(f"{run.path!r} is an action and has nothing to expand")
            case _:
                assert_never(run.plan.node.kind)

    def _new_scope(self, run: NodeRun, index: int | None) -> ScopeRun:
        path = scope_path(run.path, index)
        scope = ScopeRun(run.scope.plan.bodies[run.plan.node.key], path, run, index or 0)
        _block(run).open[scope.index] = scope
        if index is not None:
            self._scopes[path] = scope
        return scope

    def _fill(self, run: NodeRun) -> None:
        """Start items of a for_each up to its concurrency; when none is left, gather."""
        block = _block(run)
        if (
            block.filling
        ):  # an item that ends at once comes back here: the loop below goes on instead of nesting
            return
        block.filling = True
        while (
            run.verdict is None and block.next < block.total and len(block.open) < run.plan.node.concurrency
        ):
            index = block.next
            block.next += 1
            self._open(self._new_scope(run, index))
        block.filling = False
        if not block.open and run.asked is None and self._active.get(run.path) is run:
            if run.verdict is not None:
                self._settle_verdict(run, run.verdict)
            else:
                self._ask_run(run, Step.OUTPUT)

    def _item_ended(self, run: NodeRun, verdict: Verdict | None) -> None:
        collects = run.plan.node.on_item_failure is OnItemFailure.COLLECT
        if (
            verdict is not None
            and verdict.status is NodeStatus.FAILED
            and not collects
            and run.verdict is None
        ):
            run.verdict = Verdict(NodeStatus.FAILED, verdict.cause, verdict.error_class)
            block = _block(run)
            block.filling = True
            for scope in list(block.open.values()):
                self._end_scope(scope, CANCELED)
            block.filling = False
        self._fill(run)

    def _next_iteration(self, run: NodeRun) -> None:
        block = _block(run)
        scope = self._new_scope(run, block.next)
        block.next += 1
        if run.plan.node.check_first:
            self._ask_scope(scope, Step.CHECK)
        else:
            self._open(scope)

    def _iteration_ended(self, run: NodeRun, verdict: Verdict | None) -> None:
        if run.verdict is not None:
            self._settle_verdict(run, run.verdict)
        elif verdict is not None:
            self._settle_verdict(run, verdict)
        else:
            self._delay_iteration(run)

    def _checked(self, scope: ScopeRun, *, again: bool) -> None:
        run = scope.owner
        assert run is not None  # noqa: S101  # only iterations are checked
        node = run.plan.node
        if again and node.check_first and scope.index < node.max_iterations:
            self._open(scope)
            return
        self._close(run, scope)
        if again and not node.check_first and scope.index + 1 < node.max_iterations:
            self._delay_iteration(run)
            return
        _block(run).outcome = "exhausted" if again else SUCCESS
        self._ask_run(run, Step.OUTPUT)

    def _delay_iteration(self, run: NodeRun) -> None:
        if run.plan.node.delay > 0:
            run.timer = _timer("delay", run.path)
            self._start_timer(run.timer, (self._now or 0) + run.plan.node.delay)
        else:
            self._next_iteration(run)

    def _call_ended(self, run: NodeRun, verdict: Verdict | None) -> None:
        if run.verdict is not None:
            self._settle_verdict(run, run.verdict)
        elif verdict is not None:
            self._settle_verdict(run, verdict)
        else:
            self._node_ended(run, NodeStatus.COMPLETED, outcome=SUCCESS)

    def _output_gathered(self, run: NodeRun) -> None:
        outcome = run.block.outcome if run.block is not None else None
        self._node_ended(run, NodeStatus.COMPLETED, outcome=outcome or SUCCESS)

    # ---- timers ------------------------------------------------------------------------------------------------------

    def _start_timer(self, timer: TimerId, due: int) -> None:
        self._timers[timer] = due
        self._out.append(StartTimer(timer, due))

    def _stop_timer(self, timer: TimerId) -> None:
        del self._timers[timer]
        self._out.append(StopTimer(timer))

    # ---- snapshot ----------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """JSON from which `restore` makes a coordinator that answers every later event as this one would."""
        retry = self._retry
        return {
            "state": dump_state(self.state),
            "paused": self.paused,
            "now": self._now,
            "retry": [retry.max_attempts, retry.initial_interval, retry.multiplier, retry.max_interval, retry.jitter,
                      retry.max_duration],
            "timers": dict(self._timers),
            "held": [[c.path, c.attempt, c.step, c.timeout, c.limit] for c in self._held.values()],
            "root": dump_scope(self._root),
        }  # fmt: skip

    @classmethod
    def restore(cls, graph: Graph, snapshot: dict[str, Any]) -> "Coordinator":
        coordinator = cls(graph)
        coordinator.state = load_state(snapshot["state"])
        coordinator.paused = snapshot["paused"]
        coordinator._now = snapshot["now"]
        coordinator._retry = RetryPolicy(*snapshot["retry"])
        coordinator._timers = {TimerId(timer): due for timer, due in snapshot["timers"].items()}
        for path, attempt, step, timeout, limit in snapshot["held"]:
            coordinator._held[NodePath(path)] = StartNode(NodePath(path), attempt, Step(step), timeout, limit)
        coordinator._root = load_scope(coordinator._root.plan, ROOT_PATH, None, snapshot["root"])
        coordinator._scopes = {ROOT_PATH: coordinator._root}
        coordinator._index(coordinator._root)
        return coordinator

    def _index(self, scope: ScopeRun) -> None:
        for run in scope.active.values():
            self._active[run.path] = run
            if run.block is None:
                continue
            for inner in run.block.open.values():
                if run.plan.node.kind is not NodeKind.CALL:
                    self._scopes[inner.path] = inner
                self._index(inner)


def _block(run: NodeRun) -> Block:
    if run.block is None:
        raise IllegalTransitionError(f"{run.path!r} is no open container")
    return run.block


def _timer(kind: str, path: NodePath) -> TimerId:
    return TimerId(f"{kind}:{path}")


def _say(milliseconds: int) -> str:
    return f"{milliseconds / 1000:g} s"
