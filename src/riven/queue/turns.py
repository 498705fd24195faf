"""Whose items a claim takes: pure, so that fairness can be tested by itself.

Turns go round the workspaces, least recently served first; in a turn each gives at most `weight` items, best first,
until its slots or the room are used up. An item that holds its slot needs no free one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Line:
    """The head of a workspace's line, in serving order: items that hold their slots stand first."""

    workspace_id: UUID
    weight: int
    running_limit: int
    in_use: int
    items: Sequence[tuple[UUID, bool]]
    """Queue id, and whether the item holds its slot."""
    complete: bool
    """No due item stands behind these."""


@dataclass(frozen=True, slots=True)
class Served:
    workspace_id: UUID
    taken: int
    running_limit: int
    active: int
    """Running after this claim."""
    idle: bool
    """Nothing due is left."""
    at_capacity: bool
    """Something due is left and no slot is free for it."""


def choose(lines: Sequence[Line], room: int) -> tuple[list[UUID], list[Served]]:
    """The items to claim, at most `room`, and how each workspace stands afterwards. Lines least recently served first."""
    free = [max(0, line.running_limit - line.in_use) for line in lines]
    taken = [0] * len(lines)
    slots = [0] * len(lines)
    chosen: list[UUID] = []
    progress = True
    while progress and len(chosen) < room:
        progress = False
        for number, line in enumerate(lines):
            for _ in range(line.weight):
                if len(chosen) >= room or taken[number] >= len(line.items):
                    break
                queue_id, holds_slot = line.items[taken[number]]
                if not holds_slot:
                    if slots[number] >= free[number]:
                        break
                    slots[number] += 1
                taken[number] += 1
                chosen.append(queue_id)
                progress = True
    served = []
    for number, line in enumerate(lines):
        left = taken[number] < len(line.items) or not line.complete
        startable = left and (slots[number] < free[number] or _next_holds(line, taken[number]))
        served.append(
            Served(
                workspace_id=line.workspace_id,
                taken=taken[number],
                running_limit=line.running_limit,
                active=line.in_use + slots[number],
                idle=not left,
                at_capacity=left and not startable,
            )
        )
    return chosen, served


def _next_holds(line: Line, taken: int) -> bool:
    return taken < len(line.items) and line.items[taken][1]
