"""Workspaces and principals for tests that need no HTTP."""

from uuid import UUID

from riven.db.engine import Database
from riven.tenancy.policies import Scope
from riven.tenancy.principals import Principal, Role
from riven.tenancy.workspaces import Limits, create_workspace

PLATFORM = Principal(kind="key", id="0", name="platform", role=Role.PLATFORM)


async def make_workspace(database: Database, name: str = "acme", tier: str = "PRO") -> UUID:
    async with database.transaction() as connection:
        made = await create_workspace(connection, PLATFORM, name=name, tier=tier, limits=Limits())
    return made.id


def scope(workspace: UUID, role: Role = Role.ADMIN) -> Scope:
    return Scope(workspace, Principal(kind="key", id="1", name="tests", workspace_id=workspace, role=role))
