"""The tables of the document's reference, row by row."""

import pytest

from riven.core.graph import Join, JoinRule
from riven.core.joins import DeadReason, End, Tally, decide, resolve_edge, runs_early
from riven.core.messages import NodeStatus, SkipReason

COMPLETED = End(NodeStatus.COMPLETED, "approved")
FAILED = End(NodeStatus.FAILED)
HANDLED = End(NodeStatus.FAILED, handled=True)
CONTINUES = End(NodeStatus.FAILED, handled=True, continues=True)
SKIPPED = End(NodeStatus.SKIPPED, skip_reason=SkipReason.NOT_CHOSEN)
SKIPPED_BY_FAILURE = End(NodeStatus.SKIPPED, skip_reason=SkipReason.UPSTREAM_FAILED)
CANCELED = End(NodeStatus.CANCELED)
TAKEN = None


@pytest.mark.parametrize(
    ("outcome", "end", "verdict"),
    [
        (None, COMPLETED, TAKEN),
        (None, FAILED, DeadReason.FAILED),
        (None, HANDLED, DeadReason.NOT_CHOSEN),
        (None, CONTINUES, TAKEN),
        (None, SKIPPED, DeadReason.SKIPPED),
        (None, SKIPPED_BY_FAILURE, DeadReason.FAILED),
        (None, CANCELED, DeadReason.CANCELED),
        ("approved", COMPLETED, TAKEN),
        ("rejected", COMPLETED, DeadReason.NOT_CHOSEN),
        ("approved", HANDLED, DeadReason.NOT_CHOSEN),
        ("approved", FAILED, DeadReason.FAILED),
        ("approved", CONTINUES, DeadReason.NOT_CHOSEN),
        ("approved", SKIPPED, DeadReason.SKIPPED),
        ("failure", COMPLETED, DeadReason.NOT_CHOSEN),
        ("failure", HANDLED, TAKEN),
        ("failure", SKIPPED, DeadReason.SKIPPED),
        ("failure", SKIPPED_BY_FAILURE, DeadReason.FAILED),
        ("done", COMPLETED, TAKEN),
        ("done", HANDLED, TAKEN),
        ("done", SKIPPED, DeadReason.SKIPPED),
        ("always", COMPLETED, TAKEN),
        ("always", HANDLED, TAKEN),
        ("always", SKIPPED, TAKEN),
        ("always", SKIPPED_BY_FAILURE, TAKEN),
        ("always", CANCELED, DeadReason.CANCELED),
    ],
)
def test_an_edge_is_taken_or_dead_by_how_its_source_ended(outcome, end, verdict):
    assert resolve_edge(outcome, end) is verdict


def test_a_node_that_runs_resolves_no_edge():
    with pytest.raises(ValueError, match="has not ended"):
        resolve_edge(None, End(NodeStatus.RUNNING))


NONE_FAILED = Join()
ALL = Join(JoinRule.ALL)
ANY = Join(JoinRule.ANY)
ALL_DONE = Join(JoinRule.ALL_DONE)
TWO = Join(JoinRule.AT_LEAST, 2)
RUNS = None
NOT_CHOSEN, UPSTREAM_SKIPPED, UPSTREAM_FAILED = (
    SkipReason.NOT_CHOSEN,
    SkipReason.UPSTREAM_SKIPPED,
    SkipReason.UPSTREAM_FAILED,
)


@pytest.mark.parametrize(
    ("join", "edges", "tally", "verdict"),
    [
        (NONE_FAILED, 0, Tally(), RUNS),
        (NONE_FAILED, 2, Tally(), RUNS),
        (NONE_FAILED, 2, Tally(not_chosen=1), RUNS),
        (NONE_FAILED, 2, Tally(skipped=1), RUNS),
        (NONE_FAILED, 2, Tally(failed=1), UPSTREAM_FAILED),
        (NONE_FAILED, 2, Tally(failed=1, skipped=1), UPSTREAM_FAILED),
        (NONE_FAILED, 2, Tally(skipped=2), UPSTREAM_SKIPPED),
        (NONE_FAILED, 2, Tally(skipped=1, not_chosen=1), NOT_CHOSEN),
        (NONE_FAILED, 2, Tally(not_chosen=2), NOT_CHOSEN),
        (ALL, 2, Tally(), RUNS),
        (ALL, 2, Tally(not_chosen=1), NOT_CHOSEN),
        (ALL, 2, Tally(skipped=1), NOT_CHOSEN),
        (ALL, 2, Tally(skipped=2), UPSTREAM_SKIPPED),
        (ALL, 2, Tally(failed=1), UPSTREAM_FAILED),
        (ANY, 2, Tally(failed=1), RUNS),
        (ANY, 2, Tally(failed=1, not_chosen=1), UPSTREAM_FAILED),
        (ANY, 2, Tally(skipped=2), UPSTREAM_SKIPPED),
        (ALL_DONE, 2, Tally(failed=1, skipped=1), RUNS),
        (ALL_DONE, 2, Tally(canceled=2), RUNS),
        (TWO, 3, Tally(failed=1), RUNS),
        (TWO, 3, Tally(failed=1, not_chosen=1), UPSTREAM_FAILED),
        (TWO, 3, Tally(skipped=2), NOT_CHOSEN),
        (TWO, 3, Tally(skipped=3), UPSTREAM_SKIPPED),
    ],
)
def test_a_join_runs_or_skips_its_node_when_all_edges_are_resolved(join, edges, tally, verdict):
    assert decide(join, edges, tally) is verdict


@pytest.mark.parametrize(
    ("join", "taken", "early"),
    [(NONE_FAILED, 5, False), (ALL, 5, False), (ALL_DONE, 5, False), (ANY, 0, False), (ANY, 1, True), (TWO, 1, False), (TWO, 2, True)],
)  # fmt: skip
def test_only_any_and_at_least_run_before_the_last_edge(join, taken, early):
    assert runs_early(join, taken) is early
