"""The state of an execution moves by its table, and by nothing else."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.core.errors import ErrorClass, IllegalTransitionError
from riven.core.ids import NodePath
from riven.core.messages import NodeCompleted, NodeFailed
from riven.core.states import (
    TERMINAL,
    TRANSITIONS,
    AllNodesCompleted,
    ExecutionState,
    NodeCanceled,
    NodeSkipped,
    NodesReady,
    Phase,
    StateEvent,
    WorkflowCanceled,
    WorkflowFailed,
    apply,
    dump_state,
    initial_state,
    load_state,
)

A, B, C, D, E, NEW = (NodePath(name) for name in ["a", "b", "c", "d", "e", "new"])
SETS = ["active", "completed", "failed", "skipped", "canceled"]


def ready(*paths: NodePath) -> NodesReady:
    return NodesReady(paths)


def completed(path: NodePath) -> NodeCompleted:
    return NodeCompleted(path, 1)


def failed(path: NodePath) -> NodeFailed:
    return NodeFailed(path, 1, ErrorClass.EXECUTION_ERROR)


def after(*events: StateEvent) -> ExecutionState:
    state = initial_state()
    for event in events:
        state = apply(state, event)
    return state


def view(state: ExecutionState) -> dict[str, object]:
    return {"phase": state.phase} | {name: getattr(state, name) for name in SETS}


def in_phase(phase: Phase) -> ExecutionState:
    """A state of that phase; with A active where a node can be."""
    match phase:
        case Phase.INITIALIZING:
            return initial_state()
        case Phase.EXECUTING_NODES:
            return after(ready(A))
        case Phase.COMPLETED:
            return after(ready(A), completed(A), AllNodesCompleted())
        case Phase.FAILED:
            return after(ready(A), failed(A), WorkflowFailed())
        case Phase.CANCELED:
            return after(ready(A), NodeCanceled(A), WorkflowCanceled())


EVENTS: dict[type, StateEvent] = {
    NodesReady: ready(NEW),
    NodeCompleted: completed(A),
    NodeFailed: failed(A),
    NodeSkipped: NodeSkipped(NEW),
    NodeCanceled: NodeCanceled(NEW),
    AllNodesCompleted: AllNodesCompleted(),
    WorkflowFailed: WorkflowFailed(),
    WorkflowCanceled: WorkflowCanceled(),
}


def test_a_run_begins_initializing_with_nothing():
    assert view(initial_state()) == {"phase": Phase.INITIALIZING} | {name: frozenset() for name in SETS}


@pytest.mark.parametrize(("phase", "kind"), list(itertools.product(Phase, EVENTS)))
def test_every_pair_of_phase_and_event_is_legal_by_the_table_or_raises(phase: Phase, kind: type):
    state = in_phase(phase)
    if kind is AllNodesCompleted and phase is Phase.EXECUTING_NODES:
        state = apply(state, completed(A))
    before = view(state)
    if (phase, kind) in TRANSITIONS:
        moved = apply(state, EVENTS[kind])
        assert moved.phase is TRANSITIONS[phase, kind]
    else:
        with pytest.raises(IllegalTransitionError):
            apply(state, EVENTS[kind])
    assert view(state) == before, "a state is a value: applying an event changes none that there was"


def test_the_table_is_the_one_that_was_decided():
    initializing, executing = Phase.INITIALIZING, Phase.EXECUTING_NODES
    assert TRANSITIONS[initializing, NodesReady] is executing
    assert TRANSITIONS[executing, NodesReady] is executing
    assert TRANSITIONS[executing, NodeCompleted] is executing
    assert TRANSITIONS[executing, NodeFailed] is executing
    for phase in (initializing, executing):
        assert TRANSITIONS[phase, AllNodesCompleted] is Phase.COMPLETED
        assert TRANSITIONS[phase, WorkflowFailed] is Phase.FAILED
        assert TRANSITIONS[phase, WorkflowCanceled] is Phase.CANCELED
    assert (initializing, NodeCompleted) not in TRANSITIONS
    assert (initializing, NodeFailed) not in TRANSITIONS
    assert not [phase for phase, _ in TRANSITIONS if phase in TERMINAL]
    assert {Phase.COMPLETED, Phase.FAILED, Phase.CANCELED} == TERMINAL


def test_nodes_move_from_active_to_the_set_of_their_end():
    state = after(ready(A, B, C, D), completed(A), failed(B), NodeSkipped(C), NodeCanceled(D), NodeSkipped(E))
    assert view(state) == {
        "phase": Phase.EXECUTING_NODES,
        "active": frozenset(),
        "completed": {A},
        "failed": {B},
        "skipped": {C, E},
        "canceled": {D},
    }


def test_a_run_of_no_nodes_completes_straight_away():
    assert after(AllNodesCompleted()).phase is Phase.COMPLETED


@pytest.mark.parametrize(
    "event",
    [
        ready(A),
        ready(B),
        ready(NEW, NEW),
        ready(),
        completed(B),
        completed(NEW),
        failed(B),
        failed(NEW),
        NodeSkipped(B),
        NodeCanceled(B),
        AllNodesCompleted(),
    ],
    ids=repr,
)
def test_an_illegal_move_of_a_node_raises_and_changes_nothing(event: StateEvent):
    state = after(ready(A, B), completed(B))
    before = view(state)
    with pytest.raises(IllegalTransitionError):
        apply(state, event)
    assert view(state) == before
    assert apply(state, completed(A)).completed == {A, B}


def test_a_node_that_failed_or_was_skipped_or_canceled_does_not_come_back():
    state = after(ready(A), failed(A), NodeSkipped(B), NodeCanceled(C))
    for path in (A, B, C):
        for event in (ready(path), completed(path), failed(path), NodeSkipped(path), NodeCanceled(path)):
            with pytest.raises(IllegalTransitionError):
                apply(state, event)


def test_an_error_names_the_node_and_what_it_is():
    with pytest.raises(IllegalTransitionError, match=r"'a'.*completed"):
        apply(after(ready(A), completed(A)), completed(A))
    with pytest.raises(IllegalTransitionError, match="a, b"):
        apply(after(ready(A, B)), AllNodesCompleted())


def test_two_futures_of_one_state_do_not_meet():
    state = after(ready(A, B))
    one, other = apply(state, completed(A)), apply(state, failed(A))
    assert (one.completed, one.failed) == ({A}, frozenset())
    assert (other.completed, other.failed) == (frozenset(), {A})
    assert state.active == {A, B}
    assert apply(other, completed(B)).completed == {B}
    assert apply(one, completed(B)).completed == {A, B}


PATHS = [A, B, C]
events = st.one_of(
    st.lists(st.sampled_from(PATHS), max_size=2).map(lambda paths: ready(*paths)),
    st.sampled_from(PATHS).map(completed),
    st.sampled_from(PATHS).map(failed),
    st.sampled_from(PATHS).map(NodeSkipped),
    st.sampled_from(PATHS).map(NodeCanceled),
    st.sampled_from([AllNodesCompleted(), WorkflowFailed(), WorkflowCanceled()]),
)


@given(st.lists(events, max_size=12))
def test_the_sets_stay_apart_and_every_state_stays_as_it_was(history: list[StateEvent]):
    state = initial_state()
    past = [(state, view(state))]
    for event in history:
        try:
            state = apply(state, event)
        except IllegalTransitionError:
            assert view(state) == past[-1][1]
            continue
        past.append((state, view(state)))
        sets = [getattr(state, name) for name in SETS]
        assert sum(map(len, sets)) == len(frozenset().union(*sets))
        assert state.active_count == len(state.active)
    assert [view(then) for then, _ in past] == [seen for _, seen in past]
    assert view(load_state(json.loads(json.dumps(dump_state(state))))) == view(state)
