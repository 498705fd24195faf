"""Workspaces: the tenants, with their tier, their limits and their weight."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, TypeVar
from uuid import UUID

from riven.db.engine import Connection, Row
from riven.db.errors import ConstraintError
from riven.db.identity import new_id
from riven.tenancy.activity import LAST_ID, Activity, record_activity
from riven.tenancy.errors import InvalidRequestError, WorkspaceNotFoundError, field_error
from riven.tenancy.policies import require_platform
from riven.tenancy.principals import Principal
from riven.tenancy.tiers import list_tiers
from riven.wire.document import Json

T = TypeVar("T")

_COLUMNS = """
SELECT w.id, w.name, w.tier, w.running_limit, w.queued_limit, w.max_attempts, w.weight, w.disabled, w.created_at,
       w.updated_at, t.running_limit AS tier_running, t.queued_limit AS tier_queued
FROM workspaces w JOIN workspace_tiers t ON t.name = w.tier
"""
_GET = f"{_COLUMNS} WHERE w.id = $1"
_LIST = f"{_COLUMNS} WHERE w.id < $1 AND ($2::uuid[] IS NULL OR w.id = ANY ($2)) ORDER BY w.id DESC LIMIT $3"
# Whoever changes what the claim reads holds the lock under which it reads: the change is in force from the commit on.
_LOCK = f"{_COLUMNS} WHERE w.id = $1 FOR NO KEY UPDATE OF w"
DEFAULT = "default"
_DEFAULT = "SELECT id FROM workspaces WHERE name = $1 ORDER BY created_at, id LIMIT 1"
_EXISTS = "SELECT EXISTS (SELECT FROM workspaces WHERE id = $1)"
_INSERT = """
INSERT INTO workspaces (id, name, tier, running_limit, queued_limit, max_attempts, weight)
VALUES ($1, $2, $3, $4, $5, $6, $7)
"""
_UPDATE = """
UPDATE workspaces SET name = $2, tier = $3, running_limit = $4, queued_limit = $5, max_attempts = $6, weight = $7,
       disabled = $8, updated_at = now()
WHERE id = $1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a workspace sets for itself. None: as its tier, or for attempts the installation, says."""

    running: int | None = None
    queued: int | None = None
    max_attempts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    id: UUID
    name: str
    tier: str
    limits: Limits
    running_limit: int
    """In force."""
    queued_limit: int | None
    """In force; None: none."""
    weight: int
    disabled: bool
    created_at: datetime
    updated_at: datetime


class Unchanged:
    """The value of a field that a change does not name; None is a value of its own: back to the tier's."""


UNCHANGED: Final = Unchanged()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceChange:
    name: str | Unchanged = UNCHANGED
    tier: str | Unchanged = UNCHANGED
    running: int | Unchanged | None = UNCHANGED
    queued: int | Unchanged | None = UNCHANGED
    max_attempts: int | Unchanged | None = UNCHANGED
    weight: int | Unchanged = UNCHANGED
    disabled: bool | Unchanged = UNCHANGED


async def get_workspace(connection: Connection, workspace_id: UUID) -> Workspace:
    row = await connection.fetch_row(_GET, workspace_id)
    if row is None:
        raise _unknown(workspace_id)
    return _workspace(row)


async def default_workspace(connection: Connection) -> UUID | None:
    """The oldest of the name that `riven dev` gives to the one it makes."""
    found: UUID | None = await connection.fetch_value(_DEFAULT, DEFAULT)
    return found


async def workspace_exists(connection: Connection, workspace_id: UUID) -> bool:
    return bool(await connection.fetch_value(_EXISTS, workspace_id))


async def list_workspaces(
    connection: Connection, principal: Principal, *, before: UUID | None, limit: int
) -> Sequence[Workspace]:
    """Newest first: all of them for the platform, for others those in which they are somebody."""
    visible = None if principal.is_platform else principal.workspaces
    return [_workspace(row) for row in await connection.fetch(_LIST, before or LAST_ID, visible, limit)]


async def create_workspace(
    connection: Connection,
    principal: Principal,
    *,
    name: str,
    tier: str,
    limits: Limits,
    weight: int = 1,
    workspace_id: UUID | None = None,
) -> Workspace:
    require_platform(principal)
    workspace_id = workspace_id or new_id()
    await _check_tier(connection, tier)
    values = (workspace_id, name, tier, limits.running, limits.queued, limits.max_attempts, weight)
    try:
        await connection.execute(_INSERT, *values)
    except ConstraintError as error:
        raise InvalidRequestError(f"the workspace was refused: {error}") from error
    details = {"name": name, "tier": tier}
    await _record(connection, workspace_id, principal, "workspace.created", details)
    return await get_workspace(connection, workspace_id)


async def change_workspace(
    connection: Connection, principal: Principal, workspace_id: UUID, change: WorkspaceChange
) -> Workspace:
    """In force from the commit on. Afterwards announce the workspace: a raised limit or weight frees its line."""
    require_platform(principal)
    row = await connection.fetch_row(_LOCK, workspace_id)
    if row is None:
        raise _unknown(workspace_id)
    before = _workspace(row)
    if not isinstance(change.tier, Unchanged):
        await _check_tier(connection, change.tier)
    limits = Limits(
        running=_or(change.running, before.limits.running),
        queued=_or(change.queued, before.limits.queued),
        max_attempts=_or(change.max_attempts, before.limits.max_attempts),
    )
    after = replace(
        before,
        name=_or(change.name, before.name),
        tier=_or(change.tier, before.tier),
        limits=limits,
        weight=_or(change.weight, before.weight),
        disabled=_or(change.disabled, before.disabled),
    )
    if (details := _differences(before, after)) == {}:
        return before
    values = (limits.running, limits.queued, limits.max_attempts, after.weight, after.disabled)
    await connection.execute(_UPDATE, workspace_id, after.name, after.tier, *values)
    await _record(connection, workspace_id, principal, "workspace.changed", details)
    return await get_workspace(connection, workspace_id)


def _or(value: T | Unchanged, otherwise: T) -> T:
    return otherwise if isinstance(value, Unchanged) else value


async def _check_tier(connection: Connection, name: str) -> None:
    known = [tier.name for tier in await list_tiers(connection)]
    if name not in known:
        raise field_error(
            "tier", "invalid_value", f"there is no tier {name[:40]!r}; there are {', '.join(known)}"
        )


def _differences(before: Workspace, after: Workspace) -> dict[str, Json]:
    """For the audit: what is new, by field."""
    found: dict[str, Json] = {
        name: getattr(after, name)
        for name in ("name", "tier", "weight", "disabled")
        if getattr(after, name) != getattr(before, name)
    }
    outside = {"running": "running", "queued": "queued", "max_attempts": "maxAttempts"}
    limits = {
        shown: getattr(after.limits, name)
        for name, shown in outside.items()
        if getattr(after.limits, name) != getattr(before.limits, name)
    }
    return {**found, "limits": limits} if limits else found


async def _record(
    connection: Connection, workspace_id: UUID, principal: Principal, action: str, details: dict[str, Json]
) -> None:
    subject = f"workspace:{workspace_id}"
    entry = Activity(
        workspace_id=workspace_id, actor=principal.actor, action=action, subject=subject, details=details
    )
    await record_activity(connection, entry)


def _unknown(workspace_id: UUID) -> WorkspaceNotFoundError:
    return WorkspaceNotFoundError(f"there is no workspace {workspace_id}; GET /api/v1/workspaces lists yours")


def _workspace(row: Row) -> Workspace:
    limits = Limits(
        running=row["running_limit"], queued=row["queued_limit"], max_attempts=row["max_attempts"]
    )
    return Workspace(
        id=row["id"],
        name=row["name"],
        tier=row["tier"],
        limits=limits,
        running_limit=row["tier_running"] if limits.running is None else limits.running,
        queued_limit=row["tier_queued"] if limits.queued is None else limits.queued,
        weight=row["weight"],
        disabled=row["disabled"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )
