"""Tiers: plans as data. What a workspace does not set for itself, its tier says."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from riven.db.engine import Connection
from riven.tenancy.activity import Activity, record_activity
from riven.tenancy.policies import require_platform
from riven.tenancy.principals import Principal
from riven.wire.document import Json

_LIST = "SELECT name, running_limit, queued_limit FROM workspace_tiers ORDER BY running_limit, name"
# The claim reads a tier under its workspace's lock: whoever changes one holds the locks of all its workspaces.
_LOCK = "SELECT id FROM workspaces WHERE tier = $1 ORDER BY id FOR NO KEY UPDATE"
_SAVE = """
INSERT INTO workspace_tiers (name, running_limit, queued_limit) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET running_limit = excluded.running_limit, queued_limit = excluded.queued_limit
"""


@dataclass(frozen=True, slots=True)
class Tier:
    name: str
    running: int
    queued: int | None
    """None: no limit."""


async def list_tiers(connection: Connection) -> Sequence[Tier]:
    return [Tier(*row) for row in await connection.fetch(_LIST)]


async def save_tier(connection: Connection, principal: Principal, tier: Tier) -> list[UUID]:
    """Answers the workspaces whose limits may have changed; announce them after the commit."""
    require_platform(principal)
    workspaces = [row["id"] for row in await connection.fetch(_LOCK, tier.name)]
    await connection.execute(_SAVE, tier.name, tier.running, tier.queued)
    details = {"limits": {"running": tier.running, "queued": tier.queued}}
    await _record(connection, principal, "tier.saved", tier.name, details)
    return workspaces


async def _record(
    connection: Connection, principal: Principal, action: str, name: str, details: Mapping[str, Json]
) -> None:
    entry = Activity(
        workspace_id=None, actor=principal.actor, action=action, subject=f"tier:{name}", details=details
    )
    await record_activity(connection, entry)
