"""How many executions a workspace may have in line (PENDING): a soft limit, cheap while it is far away.

A count is kept for a short time, and what this process accepts meanwhile is added to it. So it is never below what this
process alone has put in line; what other processes add, and what leaves the line, the next count sees. Near the limit
every refusal is counted anew, unless counting takes long.
"""

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from riven.db.engine import Connection
from riven.db.statements import load

_COUNT: Final = load("riven.intake", "count_pending")
_MOST_KEPT: Final = 10_000
_KEPT_FOR: Final = 1.0
_ROWS_A_SECOND: Final = 100_000
"""A count of so many rows is kept for a second longer: counting must never be what a process does all day."""
_RECOUNTED_A_SECOND: Final = 1_000_000


@dataclass(slots=True)
class _Count:
    pending: int
    at: float
    added: int = 0


class Quotas:
    """One for each process that takes starts in."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._counts: OrderedDict[UUID, _Count] = OrderedDict()

    async def refresh(self, connection: Connection, wanted: Mapping[UUID, tuple[int, int]]) -> None:
        """Count where what is known is too old, or would refuse. `wanted`: how many more, and the limit in force."""
        stale = {
            workspace: limit
            for workspace, (count, limit) in wanted.items()
            if self._is_stale(workspace, count, limit)
        }
        if not stale:
            return
        # One more than any of the limits: beyond that it does not matter how many there are.
        rows = await connection.fetch(_COUNT, list(stale), max(stale.values()) + 1)
        now = self._now()
        for row in rows:
            self._counts[row["workspace_id"]] = _Count(row["pending"], now)
            self._counts.move_to_end(row["workspace_id"])
        while len(self._counts) > _MOST_KEPT:
            self._counts.popitem(last=False)

    def admit(self, workspace: UUID, count: int, limit: int | None) -> bool:
        """Whether so many more may be put in line; they count from now on."""
        known = self._counts.get(workspace)
        if limit is None or known is None:
            return True
        if known.pending + known.added + count > limit:
            return False
        known.added += count
        return True

    def _is_stale(self, workspace: UUID, count: int, limit: int) -> bool:
        known = self._counts.get(workspace)
        if known is None:
            return True
        age = self._now() - known.at
        if known.pending + known.added + count > limit:
            return age >= known.pending / _RECOUNTED_A_SECOND
        return age >= _KEPT_FOR + known.pending / _ROWS_A_SECOND
