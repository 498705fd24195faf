"""Which workspaces exist: for callers that may touch any of them, and would not notice one that is not there."""

import time
from collections.abc import Callable
from typing import Final
from uuid import UUID

from riven.db.engine import Database
from riven.tenancy.workspaces import default_workspace, workspace_exists

_REMEMBERED: Final = 10.0
_MOST: Final = 10_000


class WorkspaceDirectory:
    """Remembers for ten seconds that a workspace exists, so that a platform key's starts do not ask each time."""

    def __init__(self, database: Database, now: Callable[[], float] = time.monotonic) -> None:
        self._database = database
        self._now = now
        self._seen: dict[UUID, float] = {}

    async def has(self, workspace_id: UUID) -> bool:
        until = self._seen.get(workspace_id)
        if until is not None and until > self._now():
            return True
        async with self._database.read() as connection:
            found = await workspace_exists(connection, workspace_id)
        self._seen.pop(workspace_id, None)
        if found:
            if len(self._seen) >= _MOST:
                del self._seen[next(iter(self._seen))]
            self._seen[workspace_id] = self._now() + _REMEMBERED
        return found

    async def default(self) -> UUID | None:
        """The one that a platform key means when it names none."""
        async with self._database.read() as connection:
            return await default_workspace(connection)
