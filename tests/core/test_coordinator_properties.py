"""Any graph, any order of answers: the coordinator does what the naive model does, step by step."""

import json
import subprocess
import sys
from collections import Counter
from itertools import zip_longest
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.core.graphs import graphs
from tests.core.naive import TERMINAL
from tests.core.simulation import Simulation, Wishes

from riven.core.coordinator import Coordinator
from riven.core.errors import ErrorClass, IllegalTransitionError, Severity
from riven.core.graph import Edge, Graph, Join, JoinRule, Node, NodeKind, OnFailure
from riven.core.ids import NodeKey, NodePath, TimerId
from riven.core.messages import (
    AGAIN,
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
    StartNode,
    Step,
    TimerFired,
)
from riven.core.plan import plan
from riven.core.validation import validate

QUIET = settings(
    deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], max_examples=70
)
dice = st.integers(0, 2**32).map(Random)


def restored(coordinator: Coordinator) -> Coordinator:
    return Coordinator.restore(coordinator.graph, json.loads(json.dumps(coordinator.snapshot())))


@given(graphs(least=3))
@settings(QUIET)
def test_the_random_graphs_are_such_as_validation_lets_pass(graph: Graph) -> None:
    assert [problem for problem in validate(graph) if problem.severity is Severity.ERROR] == []


# ---- the model --------------------------------------------------------------------------------------------------------


@given(graphs(least=3), dice)
@settings(QUIET, max_examples=150)
def test_every_step_is_the_models(graph: Graph, dice: Random) -> None:
    Simulation(graph, dice).run()


@given(graphs(least=6, most=14, deepest=0), dice)
@settings(QUIET)
def test_every_step_in_flat_graphs_of_many_nodes_is_the_models(graph: Graph, dice: Random) -> None:
    Simulation(graph, dice).run()


@given(graphs(most=3, deepest=4), dice)
@settings(QUIET, max_examples=60)
def test_every_step_in_deeply_nested_scopes_is_the_models(graph: Graph, dice: Random) -> None:
    Simulation(graph, dice).run()


@given(graphs(least=3), dice, dice)
@settings(QUIET, max_examples=60)
def test_runs_that_share_a_plan_share_nothing_else(graph: Graph, dice: Random, other_dice: Random) -> None:
    planned = plan(graph)
    runs = [Simulation(graph, each, planned=planned) for each in (dice, other_dice)]
    for _ in zip_longest(*(run.steps() for run in runs)):  # each step of both is held against its own model
        pass
    assert all(run.finish is not None for run in runs)


# ---- start and end ----------------------------------------------------------------------------------------------------


@given(graphs(least=4, most=10, deepest=1), dice)
@settings(QUIET)
def test_nothing_starts_before_its_join_allows_it(graph: Graph, dice: Random) -> None:
    simulation = Simulation(graph, dice).run()
    incoming: dict[str, list[Edge]] = {node.key: [] for node in graph.nodes}
    joins: dict[str, Join] = {node.key: node.join for node in graph.nodes}
    for edge in graph.edges:
        incoming[edge.target].append(edge)
    ended: set[str] = set()
    for event, commands in simulation.history:
        if isinstance(event, NodeCompleted) and event.path in joins:
            kinds = {node.key: node.kind for node in graph.nodes}
            if kinds[event.path] is NodeKind.ACTION:
                ended.add(event.path)
        for command in commands:
            match command:
                case SettleNode(path, status) if status in TERMINAL:
                    ended.add(path)
                case StartNode(path, 1, Step.RUN | Step.EXPAND) if path in joins:
                    resolved = sum(edge.source in ended for edge in incoming[path])
                    match joins[path].rule:
                        case JoinRule.ANY:
                            needed = min(1, len(incoming[path]))
                        case JoinRule.AT_LEAST:
                            needed = joins[path].count
                        case _:
                            needed = len(incoming[path])
                    assert resolved >= needed, path


@given(graphs(least=3), dice)
@settings(QUIET)
def test_every_step_of_a_node_is_asked_for_once(graph: Graph, dice: Random) -> None:
    simulation = Simulation(graph, dice, Wishes(cancels=True, pauses=True)).run()
    twice = [key for key, count in Counter(simulation.started).items() if count > 1]
    assert not twice


@given(graphs(least=3), dice)
@settings(QUIET)
def test_a_canceled_run_ends_and_leaves_nothing_active(graph: Graph, dice: Random) -> None:
    simulation = Simulation(graph, dice, Wishes(cancels=True)).run()
    assert simulation.finish is not None
    if simulation.finish.status is ExecutionStatus.CANCELED:
        assert simulation.canceled
        assert simulation.finish.error_class is None


@given(graphs(least=1), dice, st.integers(0, 12))
@settings(QUIET)
def test_after_a_cancel_nothing_starts(graph: Graph, dice: Random, moment: int) -> None:
    simulation = Simulation(graph, dice)
    steps = simulation.steps()
    for _, _ in zip(range(moment + 1), steps, strict=False):
        pass
    if simulation.finish is not None:
        return
    simulation.take(CancelRequested(simulation.now))
    for _ in simulation.more_steps():
        pass
    after = simulation.history[moment + 1 :]
    assert isinstance(after[0][0], CancelRequested)
    assert not [command for _, commands in after for command in commands if isinstance(command, StartNode)]
    assert simulation.finish is not None


@given(graphs(least=3), dice)
@settings(QUIET)
def test_a_paused_run_starts_nothing_and_ends_once_resumed(graph: Graph, dice: Random) -> None:
    simulation = Simulation(graph, dice, Wishes(pauses=True)).run()
    paused = False
    for event, commands in simulation.history:
        paused = isinstance(event, PauseRequested) or (paused and not isinstance(event, ResumeRequested))
        assert not (paused and any(isinstance(command, StartNode) for command in commands))


@given(graphs(least=3), dice)
@settings(QUIET)
def test_a_run_canceled_and_paused_at_any_instant_ends(graph: Graph, dice: Random) -> None:
    Simulation(graph, dice, Wishes(cancels=True, pauses=True)).run()


# ---- replay -----------------------------------------------------------------------------------------------------------


@given(graphs(least=3), dice)
@settings(QUIET)
def test_the_same_events_give_the_same_commands(graph: Graph, dice: Random) -> None:
    simulation = Simulation(graph, dice, Wishes(cancels=True, pauses=True)).run()
    again = Coordinator(graph)
    assert [again.receive(event) for event, _ in simulation.history] == [
        commands for _, commands in simulation.history
    ]
    assert again.snapshot() == simulation.coordinator.snapshot()


@pytest.mark.slow
@given(graphs(least=2, most=5), dice)
@settings(QUIET, max_examples=80)
def test_a_coordinator_restored_after_any_prefix_goes_on_as_if_it_never_had_been(
    graph: Graph, dice: Random
) -> None:
    history = Simulation(graph, dice, Wishes(cancels=True, pauses=True)).run().history
    original = Coordinator(graph)
    for place, (event, _) in enumerate(history):
        copy = restored(original)
        assert copy.snapshot() == original.snapshot()
        assert copy.finished == original.finished
        for later, commands in history[place:]:
            assert copy.receive(later) == commands
        original.receive(event)
    assert restored(original).snapshot() == original.snapshot()


@pytest.mark.slow
@given(graphs(least=3), dice)
@settings(QUIET)
def test_a_coordinator_restored_before_every_event_gives_the_same_commands(
    graph: Graph, dice: Random
) -> None:
    history = Simulation(graph, dice, Wishes(cancels=True, pauses=True)).run().history
    coordinator = Coordinator(graph)
    for event, commands in history:
        coordinator = restored(coordinator)
        assert coordinator.receive(event) == commands


def test_a_restored_repeat_still_knows_that_it_is_exhausted() -> None:
    body = Graph.of(["look"], [])
    poll = Node(key=NodeKey("poll"), type="repeat", kind=NodeKind.REPEAT, body=body, max_iterations=1)
    coordinator = Coordinator(Graph((poll,)))
    coordinator.receive(ExecutionStarted(1))
    coordinator.receive(NodeCompleted(NodePath("poll"), 2))
    coordinator.receive(NodeCompleted(NodePath("poll[0].look"), 3))
    coordinator.receive(NodeCompleted(NodePath("poll[0]"), 4, AGAIN))
    commands = restored(coordinator).receive(NodeCompleted(NodePath("poll"), 5))
    assert commands[0] == SettleNode(NodePath("poll"), NodeStatus.COMPLETED, outcome="exhausted")


def test_a_restored_run_that_finishes_its_branches_still_knows_its_first_failure() -> None:
    nodes = Graph.of(["a", "b", "c"], []).nodes
    coordinator = Coordinator(Graph(nodes, on_failure=OnFailure.FINISH_BRANCHES))
    coordinator.receive(ExecutionStarted(1))
    coordinator.receive(NodeFailed(NodePath("a"), 2, ErrorClass.TEMPLATE_ERROR))
    coordinator = restored(coordinator)
    coordinator.receive(NodeFailed(NodePath("b"), 3, ErrorClass.SECURITY_ERROR))
    commands = restored(coordinator).receive(NodeCompleted(NodePath("c"), 4))
    assert commands == [Finish(ExecutionStatus.FAILED, NodePath("a"), ErrorClass.TEMPLATE_ERROR)]


@pytest.mark.slow
def test_commands_do_not_depend_on_the_process() -> None:
    """Sets and hashes come in another order in every process; commands must not."""
    root = Path(__file__).parent.parent.parent
    digests = {
        subprocess.run(
            [sys.executable, "-m", "tests.core.digest"],
            cwd=root,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            check=True,
            timeout=60,
        ).stdout
        for seed in ["1", "2"]
    }
    assert len(digests) == 1
    assert len(digests.pop()) == 64


# ---- what nobody asked for --------------------------------------------------------------------------------------------


def strange_events(simulation: Simulation, dice: Random) -> list[Event]:
    """Answers that nobody waits for, late timers and signals, a second start."""
    now = simulation.now
    known = sorted({path for path, _, _ in simulation.started} | set(simulation.ended))
    idle = [path for path in known if path not in simulation.asks]
    fired = [TimerId("no such timer")]
    fired += [event.timer for event, _ in simulation.history if isinstance(event, TimerFired)]
    strangers: list[Event] = [
        ExecutionStarted(now),
        NodeCompleted(NodePath("nobody"), now),
        NodeFailed(NodePath("n0[99].n1"), now, ErrorClass.NETWORK_ERROR, retryable=True),
        SignalReceived(NodePath("nobody"), "received", now),
    ]
    strangers += [NodeCompleted(path, now, fan_out=2, due=now) for path in idle]
    strangers += [NodeFailed(path, now, ErrorClass.TIMEOUT, retryable=True) for path in idle]
    strangers += [SignalReceived(path, "received", now) for path in known if path not in simulation.signals]
    strangers += [TimerFired(timer, now) for timer in fired if timer not in simulation.timers]
    return dice.sample(strangers, min(4, len(strangers)))


@given(graphs(least=3), dice)
@settings(QUIET)
def test_answers_that_nobody_waits_for_change_nothing(graph: Graph, dice: Random) -> None:
    simulation = Simulation(graph, dice, Wishes(cancels=True, pauses=True))
    for _ in simulation.steps():
        before = simulation.coordinator.snapshot()
        for event in strange_events(simulation, dice):
            commands: list[Command] = []
            try:
                commands = simulation.coordinator.receive(event)
            except IllegalTransitionError:
                assert not isinstance(event, TimerFired | SignalReceived), "these may cross with the end"
            else:
                assert not isinstance(event, NodeCompleted | NodeFailed | ExecutionStarted), event
            assert commands == []
            assert simulation.coordinator.snapshot() == before


@given(graphs(least=1), dice)
@settings(QUIET, max_examples=50)
def test_a_finished_run_is_left_by_nothing(graph: Graph, dice: Random) -> None:
    simulation = Simulation(graph, dice).run()
    coordinator, now = simulation.coordinator, simulation.now
    before = coordinator.snapshot()
    for event in [CancelRequested(now), PauseRequested(now), ResumeRequested(now)]:
        assert coordinator.receive(event) == []
    for timer in ["deadline", "retry:n0"]:
        assert coordinator.receive(TimerFired(TimerId(timer), now)) == []
    with pytest.raises(IllegalTransitionError):
        coordinator.receive(ExecutionStarted(now))
    assert coordinator.snapshot() == before


def test_nothing_is_accepted_before_the_start() -> None:
    coordinator = Coordinator(Graph.of(["a"], []))
    for event in [NodeCompleted(NodePath("a"), 1), CancelRequested(1), TimerFired(TimerId("x"), 1)]:
        with pytest.raises(IllegalTransitionError):
            coordinator.receive(event)
    commands = coordinator.receive(ExecutionStarted(1))
    assert [command.path for command in commands if isinstance(command, StartNode)] == ["a"]


def test_a_node_that_ends_although_it_was_canceled_keeps_what_it_reached() -> None:
    coordinator = Coordinator(Graph.of(["a", "b", "c"], [("b", "c")]))
    coordinator.receive(ExecutionStarted(1))
    coordinator.receive(CancelRequested(2))
    coordinator.receive(NodeCompleted(NodePath("b"), 3))
    commands = coordinator.receive(NodeFailed(NodePath("a"), 4, ErrorClass.EXECUTION_ERROR, canceled=True))
    assert coordinator.state.completed == {"b"}
    assert coordinator.state.canceled == {"a", "c"}
    assert SettleNode(NodePath("c"), NodeStatus.CANCELED) in commands
