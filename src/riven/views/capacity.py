"""How much of its capacity a workspace uses, and how long its line is."""

from dataclasses import dataclass
from datetime import datetime

from riven.db.engine import Connection
from riven.tenancy.errors import WorkspaceNotFoundError
from riven.tenancy.policies import Scope

# Counted from the executions, as the claim counts them: there is no counter that could be wrong. The order by two columns
# is there for the planner: by the id alone it may walk through all that has ever finished instead.
_CAPACITY = """
SELECT coalesce(w.running_limit, t.running_limit), (
           SELECT count(*) FROM workflow_executions e WHERE e.workspace_id = w.id AND e.status = 'RUNNING'
       ), (
           SELECT count(*) FROM workflow_executions e WHERE e.workspace_id = w.id AND e.status = 'PENDING'
       ), (
           SELECT e.created_at FROM workflow_executions e
           WHERE e.workspace_id BETWEEN w.id AND w.id AND e.status = 'PENDING' ORDER BY e.workspace_id, e.id LIMIT 1
       ), coalesce(w.queued_limit, t.queued_limit)
FROM workspaces w JOIN workspace_tiers t ON t.name = w.tier
WHERE w.id = $1
"""


@dataclass(frozen=True, slots=True)
class Capacity:
    limit: int
    """Executions that may run at once."""
    in_use: int
    waiting: int
    """Executions PENDING: in line, or scheduled for later."""
    oldest_waiting_since: datetime | None
    queued_limit: int | None
    """None: no limit."""


async def get_capacity(connection: Connection, scope: Scope) -> Capacity:
    row = await connection.fetch_row(_CAPACITY, scope.workspace_id)
    if row is None:
        raise WorkspaceNotFoundError(f"there is no workspace {scope.workspace_id}")
    return Capacity(*row)
