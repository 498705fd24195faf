"""The audit trail: one row for every change and every start, written in the transaction that makes it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from riven.db.engine import Connection
from riven.db.identity import new_id
from riven.tenancy.policies import Scope, require_platform
from riven.tenancy.principals import Principal
from riven.wire.document import Json

LAST_ID = UUID(int=2**128 - 1)
"""After every id: where a list that shows the newest first begins."""

_RECORD = """
INSERT INTO activity (id, workspace_id, actor, action, subject, details)
SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::json[])
"""
# By both columns, so that only the index of both serves: by the id alone the planner may walk through all that others
# did since.
_LIST = """
SELECT id, at, actor, action, subject, details FROM activity
WHERE (workspace_id, id) < ($1, $2) AND workspace_id >= $1 ORDER BY workspace_id DESC, id DESC LIMIT $3
"""
_LIST_PLATFORM = """
SELECT id, at, actor, action, subject, details FROM activity
WHERE workspace_id IS NULL AND id < $1 ORDER BY id DESC LIMIT $2
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """Somebody did something to something: `key:0198…`, `execution.started`, `execution:0198…`."""

    workspace_id: UUID | None
    """None for what concerns the whole installation."""
    actor: str
    action: str
    subject: str
    details: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RecordedActivity:
    id: UUID
    at: datetime
    actor: str
    action: str
    subject: str
    details: Json


async def record_activity(connection: Connection, *activities: Activity) -> None:
    """All in one statement; times are the transaction's."""
    await connection.execute(
        _RECORD,
        [new_id() for _ in activities],
        [each.workspace_id for each in activities],
        [each.actor for each in activities],
        [each.action for each in activities],
        [each.subject for each in activities],
        [dict(each.details) for each in activities],
    )


async def list_activity(
    connection: Connection, scope: Scope, *, before: UUID | None, limit: int
) -> Sequence[RecordedActivity]:
    """Newest first, those older than `before`."""
    rows = await connection.fetch(_LIST, scope.workspace_id, before or LAST_ID, limit)
    return [RecordedActivity(*row) for row in rows]


async def list_platform_activity(
    connection: Connection, principal: Principal, *, before: UUID | None, limit: int
) -> Sequence[RecordedActivity]:
    """What was done to the installation itself: platform keys, tiers."""
    require_platform(principal)
    rows = await connection.fetch(_LIST_PLATFORM, before or LAST_ID, limit)
    return [RecordedActivity(*row) for row in rows]
