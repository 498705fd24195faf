"""Single decisions, told as events and commands. What whole runs must keep is in test_coordinator_properties.py."""

import json

import pytest

from riven.core.coordinator import Coordinator
from riven.core.errors import ErrorClass, IllegalTransitionError
from riven.core.graph import (
    Edge,
    Graph,
    Join,
    JoinRule,
    Node,
    NodeKind,
    OnFailure,
    OnItemFailure,
    RetryOverride,
    RetryPolicy,
)
from riven.core.messages import (
    AGAIN,
    STOP,
    AwaitSignal,
    CancelNode,
    CancelRequested,
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
from riven.core.states import Phase

ERROR = ErrorClass.EXECUTION_ERROR
COMPLETED, FAILED, SKIPPED, CANCELED = (
    NodeStatus.COMPLETED,
    NodeStatus.FAILED,
    NodeStatus.SKIPPED,
    NodeStatus.CANCELED,
)


def node(key, **fields):
    return Node(key=key, type="noop", **fields)


def graph(*nodes, edges=(), **fields):
    return Graph(tuple(nodes), tuple(Edge(*edge) for edge in edges), **fields)


def begin(of, at=0, retry=None):
    coordinator = Coordinator(of)
    return coordinator, coordinator.receive(ExecutionStarted(at, retry or RetryPolicy(jitter=0.0)))


def started(commands):
    return [command.path for command in commands if isinstance(command, StartNode)]


def test_an_empty_graph_completes_at_once():
    coordinator, commands = begin(graph())
    assert commands == [Finish(ExecutionStatus.COMPLETED)]
    assert coordinator.state.phase is Phase.COMPLETED


def test_a_successor_starts_when_its_last_edge_is_resolved_and_not_before():
    coordinator, commands = begin(Graph.of(["a", "b", "c"], [("a", "c"), ("b", "c")]))
    assert started(commands) == ["a", "b"]
    assert coordinator.receive(NodeCompleted("b", 1)) == []
    assert started(coordinator.receive(NodeCompleted("a", 2))) == ["c"]
    assert coordinator.receive(NodeCompleted("c", 3)) == [Finish(ExecutionStatus.COMPLETED)]


def test_any_starts_at_the_first_taken_edge_and_only_once():
    join = graph(node("a"), node("b"), node("c", join=Join(JoinRule.ANY)), edges=[("a", "c"), ("b", "c")])
    coordinator, _ = begin(join)
    assert started(coordinator.receive(NodeCompleted("b", 1))) == ["c"]
    assert coordinator.receive(NodeCompleted("c", 2)) == []
    assert coordinator.receive(NodeCompleted("a", 3)) == [Finish(ExecutionStatus.COMPLETED)]


def test_a_failure_is_retried_by_its_schedule_and_then_final():
    coordinator, _ = begin(graph(node("a", retry=RetryOverride(max_attempts=2, initial_interval=500))))
    assert coordinator.receive(NodeFailed("a", 100, ERROR, retryable=True)) == [
        SettleNode("a", NodeStatus.RETRYING, error_class=ERROR, due=600),
        StartTimer("retry:a", 600),
    ]
    assert coordinator.receive(TimerFired("retry:a", 600)) == [StartNode("a", 2)]
    assert coordinator.receive(NodeFailed("a", 700, ERROR, retryable=True)) == [
        SettleNode("a", FAILED, error_class=ERROR),
        Finish(ExecutionStatus.FAILED, "a", ERROR),
    ]


def test_what_is_not_retryable_or_pure_fails_at_once():
    for plain, retryable in ((node("a"), False), (node("a", pure=True), True)):
        coordinator, _ = begin(graph(plain))
        commands = coordinator.receive(NodeFailed("a", 1, ERROR, retryable=retryable))
        assert commands[-1] == Finish(ExecutionStatus.FAILED, "a", ERROR)


def test_max_duration_leaves_each_attempt_what_is_left():
    coordinator, commands = begin(graph(node("a", retry=RetryOverride(max_duration=5_000))))
    assert commands == [StartNode("a", 1, limit=5_000)]
    coordinator.receive(NodeFailed("a", 100, ERROR, retryable=True))
    assert coordinator.receive(TimerFired("retry:a", 1_100)) == [StartNode("a", 2, limit=3_900)]


def test_fail_fast_cancels_what_runs_and_finishes_when_it_has_answered():
    coordinator, _ = begin(Graph.of(["a", "b", "c"], [("b", "c")]))
    assert coordinator.receive(NodeFailed("a", 1, ERROR)) == [
        SettleNode("a", FAILED, error_class=ERROR),
        CancelNode("b"),
    ]
    assert coordinator.receive(NodeFailed("b", 2, ERROR, canceled=True)) == [
        SettleNode("b", CANCELED),
        SettleNode("c", CANCELED),
        Finish(ExecutionStatus.FAILED, "a", ERROR),
    ]
    assert coordinator.state.canceled == {"b", "c"}


def test_finish_branches_goes_on_until_nothing_can_start():
    branches = graph(
        node("a"), node("b"), node("after_a"), node("after_b"),
        edges=[("a", "after_a"), ("b", "after_b")], on_failure=OnFailure.FINISH_BRANCHES,
    )  # fmt: skip
    coordinator, _ = begin(branches)
    assert coordinator.receive(NodeFailed("a", 1, ERROR)) == [
        SettleNode("a", FAILED, error_class=ERROR),
        SettleNode("after_a", SKIPPED, SkipReason.UPSTREAM_FAILED),
    ]
    assert started(coordinator.receive(NodeCompleted("b", 2))) == ["after_b"]
    assert coordinator.receive(NodeCompleted("after_b", 3)) == [Finish(ExecutionStatus.FAILED, "a", ERROR)]


def test_a_false_when_skips_the_node_and_what_follows():
    coordinator, _ = begin(Graph.of(["a", "b"], [("a", "b")]))
    assert coordinator.receive(NodeCompleted("a", 1, outcome="skipped")) == [
        SettleNode("a", SKIPPED, SkipReason.WHEN_FALSE),
        SettleNode("b", SKIPPED, SkipReason.UPSTREAM_SKIPPED),
        Finish(ExecutionStatus.COMPLETED),
    ]


def test_an_approval_waits_and_leaves_by_the_label_it_is_given():
    approval = node("ask", kind=NodeKind.SIGNAL, labels=("approved", "rejected", "expired"))
    coordinator, commands = begin(graph(approval, node("pay"), edges=[("ask", "pay", "approved")]))
    assert commands == [StartNode("ask", 1, Step.EXPAND)]
    assert coordinator.receive(NodeCompleted("ask", 5, due=1_000)) == [
        SettleNode("ask", NodeStatus.WAITING, due=1_000),
        StartTimer("wake:ask", 1_000),
        AwaitSignal("ask"),
    ]
    assert coordinator.receive(SignalReceived("ask", "approved", 9)) == [
        StopTimer("wake:ask"),
        SettleNode("ask", COMPLETED, outcome="approved"),
        StartNode("pay"),
    ]
    assert coordinator.receive(SignalReceived("ask", "rejected", 10)) == []


def test_a_wait_that_nobody_ends_expires():
    coordinator, _ = begin(graph(node("ask", kind=NodeKind.SIGNAL)))
    coordinator.receive(NodeCompleted("ask", 5, due=1_000))
    assert coordinator.receive(TimerFired("wake:ask", 1_000))[0] == SettleNode(
        "ask", COMPLETED, outcome="expired"
    )


BODY = graph(node("x"), has_output=True)


def test_for_each_keeps_its_concurrency_and_gathers_at_the_end():
    coordinator, _ = begin(graph(node("each", kind=NodeKind.FOR_EACH, body=BODY, concurrency=2)))
    assert started(coordinator.receive(NodeCompleted("each", 1, fan_out=3))) == ["each[0].x", "each[1].x"]
    assert coordinator.receive(NodeCompleted("each[1].x", 2)) == [StartNode("each[1]", 1, Step.OUTPUT)]
    assert coordinator.receive(NodeCompleted("each[1]", 3)) == [
        SettleNode("each[1]", COMPLETED),
        StartNode("each[2].x"),
    ]
    for inner in ("each[0]", "each[2]"):
        coordinator.receive(NodeCompleted(f"{inner}.x", 4))
        commands = coordinator.receive(NodeCompleted(inner, 5))
    assert commands == [SettleNode("each[2]", COMPLETED), StartNode("each", 1, Step.OUTPUT)]
    assert coordinator.receive(NodeCompleted("each", 6))[-1] == Finish(ExecutionStatus.COMPLETED)


def test_the_failure_of_an_item_ends_the_others_and_names_the_inner_node():
    coordinator, _ = begin(graph(node("each", kind=NodeKind.FOR_EACH, body=BODY, concurrency=2)))
    coordinator.receive(NodeCompleted("each", 1, fan_out=9))
    assert coordinator.receive(NodeFailed("each[1].x", 2, ERROR)) == [
        SettleNode("each[1].x", FAILED, error_class=ERROR),
        SettleNode("each[1]", FAILED, cause="each[1].x", error_class=ERROR),
        CancelNode("each[0].x"),
    ]
    assert coordinator.receive(NodeFailed("each[0].x", 3, ERROR, canceled=True)) == [
        SettleNode("each[0].x", CANCELED),
        SettleNode("each[0]", CANCELED),
        SettleNode("each", FAILED, cause="each[1].x", error_class=ERROR),
        Finish(ExecutionStatus.FAILED, "each[1].x", ERROR),
    ]


def test_collect_takes_failures_as_results():
    collecting = node("each", kind=NodeKind.FOR_EACH, body=BODY, on_item_failure=OnItemFailure.COLLECT)
    coordinator, _ = begin(graph(collecting))
    coordinator.receive(NodeCompleted("each", 1, fan_out=1))
    assert coordinator.receive(NodeFailed("each[0].x", 2, ERROR))[1:] == [
        SettleNode("each[0]", FAILED, cause="each[0].x", error_class=ERROR),
        StartNode("each", 1, Step.OUTPUT),
    ]


def test_until_asks_after_an_iteration_and_while_before_it():
    coordinator, _ = begin(graph(node("poll", kind=NodeKind.REPEAT, body=BODY, delay=50)))
    assert started(coordinator.receive(NodeCompleted("poll", 0))) == ["poll[0].x"]
    coordinator.receive(NodeCompleted("poll[0].x", 1))
    assert coordinator.receive(NodeCompleted("poll[0]", 2)) == [StartNode("poll[0]", 1, Step.CHECK)]
    assert coordinator.receive(NodeCompleted("poll[0]", 3, AGAIN))[1:] == [StartTimer("delay:poll", 53)]
    assert started(coordinator.receive(TimerFired("delay:poll", 53))) == ["poll[1].x"]

    coordinator, _ = begin(graph(node("poll", kind=NodeKind.REPEAT, body=BODY, check_first=True)))
    assert coordinator.receive(NodeCompleted("poll", 0)) == [StartNode("poll[0]", 1, Step.CHECK)]
    assert coordinator.receive(NodeCompleted("poll[0]", 1, STOP)) == [StartNode("poll", 1, Step.OUTPUT)]
    assert SettleNode("poll", COMPLETED, outcome="success") in coordinator.receive(NodeCompleted("poll", 2))


@pytest.mark.parametrize("check_first", [True, False])
def test_a_repeat_is_exhausted_when_it_would_go_round_once_more(check_first):
    body = graph(node("x"))
    coordinator, _ = begin(
        graph(node("poll", kind=NodeKind.REPEAT, body=body, check_first=check_first, max_iterations=2))
    )
    todo = started(coordinator.receive(NodeCompleted("poll", 0)))
    ran = []
    while not coordinator.finished:
        path = todo.pop(0)
        ran.append(path)
        commands = coordinator.receive(NodeCompleted(path, 1, AGAIN if path.endswith("]") else "success"))
        todo += started(commands)
    assert [path for path in ran if path.endswith(".x")] == ["poll[0].x", "poll[1].x"]
    assert commands[0] == SettleNode("poll", COMPLETED, outcome="exhausted")


def test_the_timeout_of_a_container_ends_its_body_and_can_be_handled():
    handled = graph(
        node("each", kind=NodeKind.FOR_EACH, body=BODY, timeout=100),
        node("plan_b"),
        edges=[("each", "plan_b", "failure")],
    )
    coordinator, commands = begin(handled, at=1_000)
    assert commands[0] == StartTimer("limit:each", 1_100)
    coordinator.receive(NodeCompleted("each", 1_001, fan_out=1))
    assert coordinator.receive(TimerFired("limit:each", 1_100)) == [CancelNode("each[0].x")]
    commands = coordinator.receive(NodeFailed("each[0].x", 1_101, ERROR, canceled=True))
    assert SettleNode("each", FAILED, error_class=ErrorClass.TIMEOUT) in commands
    assert started(commands) == ["plan_b"]


def test_the_timeout_of_the_execution_ends_it_failed():
    coordinator, commands = begin(graph(node("a"), timeout=2_000))
    assert commands[0] == StartTimer("deadline", 2_000)
    assert coordinator.receive(TimerFired("deadline", 2_000)) == [CancelNode("a")]
    finish = coordinator.receive(NodeFailed("a", 2_001, ERROR, canceled=True))[-1]
    assert (finish.status, finish.error_class) == (ExecutionStatus.FAILED, ErrorClass.TIMEOUT)
    assert "2 s" in finish.message


def test_cancel_ends_waiting_retrying_and_running_nodes():
    coordinator, _ = begin(
        graph(
            node("runs"),
            node("retries"),
            node("waits", kind=NodeKind.WAIT),
            node("later"),
            edges=[("runs", "later")],
        )
    )
    coordinator.receive(NodeFailed("retries", 1, ERROR, retryable=True))
    coordinator.receive(NodeCompleted("waits", 2, due=9_999))
    assert coordinator.receive(CancelRequested(3)) == [
        CancelNode("runs"),
        StopTimer("retry:retries"),
        SettleNode("retries", CANCELED),
        StopTimer("wake:waits"),
        SettleNode("waits", CANCELED),
    ]
    assert coordinator.receive(CancelRequested(4)) == []
    assert coordinator.receive(NodeCompleted("runs", 5)) == [
        SettleNode("later", CANCELED),
        Finish(ExecutionStatus.CANCELED),
    ]
    assert coordinator.state.completed == {"runs"}


def test_a_pause_holds_back_starts_until_it_is_over():
    coordinator, _ = begin(Graph.of(["a", "b"], [("a", "b")]))
    assert coordinator.receive(PauseRequested(1)) == []
    assert coordinator.receive(NodeCompleted("a", 2)) == []
    assert coordinator.receive(ResumeRequested(3)) == [StartNode("b")]


def test_what_a_pause_holds_back_is_canceled_without_ever_starting():
    coordinator, _ = begin(Graph.of(["a", "b"], [("a", "b")]))
    coordinator.receive(PauseRequested(1))
    coordinator.receive(NodeCompleted("a", 2))
    assert coordinator.receive(CancelRequested(3)) == [
        SettleNode("b", CANCELED),
        Finish(ExecutionStatus.CANCELED),
    ]


def test_an_answer_that_nobody_waits_for_is_refused_and_changes_nothing():
    coordinator, _ = begin(Graph.of(["a", "b"], [("a", "b")]))
    before = json.dumps(coordinator.snapshot())
    for answer in (NodeCompleted("b", 1), NodeCompleted("ghost", 1), NodeFailed("b", 1, ERROR)):
        with pytest.raises(IllegalTransitionError):
            coordinator.receive(answer)
        assert json.dumps(coordinator.snapshot()) == before


@pytest.mark.parametrize("inner", [False, True])
def test_a_deadlock_ends_the_execution_and_names_the_nodes(inner):
    cycle = Graph.of(["a", "b", "c"], [("a", "b"), ("b", "c"), ("c", "b")])
    coordinator, _ = begin(graph(node("call", kind=NodeKind.CALL, body=cycle)) if inner else cycle)
    if inner:
        coordinator.receive(NodeCompleted("call", 0))
    finish = coordinator.receive(NodeCompleted("call.a" if inner else "a", 1))[-1]
    assert (finish.status, finish.error_class) == (ExecutionStatus.FAILED, ErrorClass.INTERNAL_ERROR)
    assert ("call.b, call.c" if inner else "b, c") in finish.message
    assert coordinator.finished


def test_a_called_workflow_ends_its_node_with_its_own_output():
    coordinator, _ = begin(graph(node("sub", kind=NodeKind.CALL, body=BODY)))
    assert started(coordinator.receive(NodeCompleted("sub", 1))) == ["sub.x"]
    assert coordinator.receive(NodeCompleted("sub.x", 2)) == [StartNode("sub", 1, Step.OUTPUT)]
    assert coordinator.receive(NodeCompleted("sub", 3)) == [
        SettleNode("sub", COMPLETED, outcome="success"),
        Finish(ExecutionStatus.COMPLETED),
    ]


def test_a_failing_output_fails_the_execution_at_its_root():
    coordinator, _ = begin(BODY)
    assert coordinator.receive(NodeCompleted("x", 1)) == [StartNode("", 1, Step.OUTPUT)]
    assert coordinator.receive(NodeFailed("", 2, ErrorClass.TEMPLATE_ERROR)) == [
        Finish(ExecutionStatus.FAILED, "", ErrorClass.TEMPLATE_ERROR)
    ]


def test_empty_items_end_at_once_however_many():
    coordinator, _ = begin(graph(node("each", kind=NodeKind.FOR_EACH, body=graph())))
    commands = coordinator.receive(NodeCompleted("each", 1, fan_out=5_000))
    assert len(commands) == 5_001
    assert commands[-1] == StartNode("each", 1, Step.OUTPUT)


@pytest.mark.parametrize(
    ("known", "outcome"),
    [
        ({"kind": NodeKind.FOR_EACH, "body": BODY, "timeout": 50}, "success"),
        ({"kind": NodeKind.REPEAT, "body": BODY}, "exhausted"),
        ({"kind": NodeKind.CALL, "body": BODY}, "success"),
        ({"kind": NodeKind.WAIT}, "success"),
        ({"kind": NodeKind.SIGNAL, "labels": ("received", "expired")}, "expired"),
    ],
)
def test_what_an_earlier_run_has_completed_is_over_as_a_whole(known, outcome):
    coordinator, _ = begin(graph(node("x", **known), node("y"), edges=[("x", "y", outcome)]))
    commands = coordinator.receive(NodeCompleted("x", 1, outcome, whole=True))
    assert SettleNode("x", COMPLETED, outcome=outcome) in commands
    assert started(commands) == ["y"]
    assert (StopTimer("limit:x") in commands) == ("timeout" in known)
    assert coordinator.receive(NodeCompleted("y", 2)) == [Finish(ExecutionStatus.COMPLETED)]
