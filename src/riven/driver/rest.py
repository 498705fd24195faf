"""When a run can give back its slot: the same on every engine."""

from collections.abc import Mapping
from dataclasses import dataclass

from riven.core.coordinator import DEADLINE
from riven.core.ids import NodePath, TimerId
from riven.core.messages import ExecutionStatus

NEAR = 60_000
"""A run that waits for something nearer than this, in milliseconds, keeps its slot."""
IMMINENT = 1_000
"""Not even what waits for a message rests when its time is up before it could be claimed again, or is up already."""


@dataclass(frozen=True, slots=True)
class Rest:
    """Nothing is under way: the run can be parked, or its pause has come into effect."""

    status: ExecutionStatus
    kind: str | None
    due: int | None


def find_rest(
    dues: Mapping[TimerId, int], awaiting: Mapping[NodePath, str], now: int, *, paused: bool
) -> Rest | None:
    """Of a run of which nothing is under way. `awaiting`: nodes that wait for a message, `signal` or `approval`."""
    if paused:
        return Rest(ExecutionStatus.PAUSED, None, None)
    if any(due <= now + IMMINENT for due in dues.values()):
        return None
    without_deadline = {timer: due for timer, due in dues.items() if timer != DEADLINE}
    expiries = frozenset(f"wake:{path}" for path in awaiting)
    soon = min((due for timer, due in without_deadline.items() if timer not in expiries), default=None)
    if (soon is None and not awaiting) or (soon is not None and soon <= now + NEAR):
        return None
    earliest = min(without_deadline, key=lambda timer: without_deadline[timer], default=None)
    kinds = frozenset(awaiting.values())
    if kinds:
        kind = "approval" if "approval" in kinds else "signal"
    else:
        kind = "retry" if earliest is not None and earliest.startswith("retry:") else "timer"
    return Rest(ExecutionStatus.WAITING, kind, None if earliest is None else without_deadline[earliest])
