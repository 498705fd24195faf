"""What an ended node means for its edges, and what its edges mean for a node. Pure tables.

An edge is taken or dead, decided once, when its source is terminal. A join answers when all edges of its node are
resolved, and `any` and `atLeast` earlier if they can run; nothing is ever skipped before its last edge is resolved, so
that the reason for skipping never depends on the order in which the edges were resolved.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import assert_never

from riven.core.graph import ALWAYS, DONE, FAILURE, Join, JoinRule
from riven.core.messages import NodeStatus, SkipReason


class DeadReason(StrEnum):
    NOT_CHOSEN = "not_chosen"
    SKIPPED = "skipped"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True, slots=True)
class End:
    """How a node ended, as far as its edges are concerned."""

    status: NodeStatus
    outcome: str | None = None
    """The label that a COMPLETED node left by."""
    skip_reason: SkipReason | None = None
    handled: bool = False
    """Of a FAILED node: one of its edges is `failure`, `done` or `always`, or it has continueOnError."""
    continues: bool = False
    """Of a FAILED node: continueOnError, so that its plain edges are taken."""


def resolve_edge(outcome: str | None, end: End) -> DeadReason | None:
    """Why the edge with this `outcome` is dead; None when it is taken."""
    match end.status:
        case NodeStatus.COMPLETED:
            taken = outcome is None or outcome in {end.outcome, DONE, ALWAYS}
            return None if taken else DeadReason.NOT_CHOSEN
        case NodeStatus.FAILED:
            if outcome in {FAILURE, DONE, ALWAYS} or (outcome is None and end.continues):
                return None
            return DeadReason.NOT_CHOSEN if end.handled else DeadReason.FAILED
        case NodeStatus.SKIPPED:
            if outcome == ALWAYS:
                return None
            failed_before = end.skip_reason is SkipReason.UPSTREAM_FAILED
            return DeadReason.FAILED if failed_before else DeadReason.SKIPPED
        case NodeStatus.CANCELED:
            return DeadReason.CANCELED
        case NodeStatus.PENDING | NodeStatus.RUNNING | NodeStatus.RETRYING | NodeStatus.WAITING:
            raise ValueError(f"a node that is {end.status} has not ended")
        case _:
            assert_never(end.status)


@dataclass(slots=True)
class Tally:
    """The dead edges of one node so far, by reason."""

    not_chosen: int = 0
    skipped: int = 0
    failed: int = 0
    canceled: int = 0

    @property
    def dead(self) -> int:
        return self.not_chosen + self.skipped + self.failed + self.canceled

    def add(self, reason: DeadReason) -> None:
        match reason:
            case DeadReason.NOT_CHOSEN:
                self.not_chosen += 1
            case DeadReason.SKIPPED:
                self.skipped += 1
            case DeadReason.FAILED:
                self.failed += 1
            case DeadReason.CANCELED:
                self.canceled += 1
            case _:
                assert_never(reason)


def runs_early(join: Join, taken: int) -> bool:
    """Whether a node runs before all its edges are resolved, `taken` of them being taken."""
    match join.rule:
        case JoinRule.ANY:
            return taken >= 1
        case JoinRule.AT_LEAST:
            return taken >= join.count
        case JoinRule.NONE_FAILED | JoinRule.ALL | JoinRule.ALL_DONE:
            return False
        case _:
            assert_never(join.rule)


def decide(join: Join, edges: int, tally: Tally) -> SkipReason | None:
    """Why a node whose `edges` are all resolved is skipped; None when it runs. One without edges runs."""
    taken = edges - tally.dead
    match join.rule:
        case JoinRule.NONE_FAILED:
            runs = edges == 0 or (taken > 0 and tally.failed == 0)
        case JoinRule.ALL:
            runs = taken == edges
        case JoinRule.ANY:
            runs = edges == 0 or taken > 0
        case JoinRule.AT_LEAST:
            runs = taken >= join.count
        case JoinRule.ALL_DONE:
            runs = True
        case _:
            assert_never(join.rule)
    if runs:
        return None
    if tally.failed:
        return SkipReason.UPSTREAM_FAILED
    return SkipReason.UPSTREAM_SKIPPED if tally.skipped == edges else SkipReason.NOT_CHOSEN
