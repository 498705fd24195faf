"""Who may do what. A `Scope` is the proof that was asked: what reads or writes a tenant's rows takes one."""

from dataclasses import dataclass
from uuid import UUID

from riven.tenancy.errors import ForbiddenError, ForeignWorkspaceError
from riven.tenancy.principals import Principal, Role


@dataclass(frozen=True, slots=True)
class Scope:
    """A workspace, and somebody who may touch it. Made by `scope_for` alone."""

    workspace_id: UUID
    principal: Principal


def require(principal: Principal, workspace_id: UUID, role: Role) -> None:
    """Raises ForeignWorkspaceError or ForbiddenError. Whether there is such a workspace is not asked."""
    has = principal.role_in(workspace_id)
    if has is None:
        raise ForeignWorkspaceError(
            "this belongs to another workspace; use a key of that workspace, or become a member of it"
        )
    if has.rank < role.rank:
        raise ForbiddenError(f"this needs the role {role}, and yours is {has}; use a key with that role")


def require_platform(principal: Principal) -> None:
    if not principal.is_platform:
        raise ForbiddenError(
            "only a platform key may do this; workspaces, tiers and limits are the platform's"
        )


def scope_for(principal: Principal, workspace_id: UUID, role: Role) -> Scope:
    require(principal, workspace_id, role)
    return Scope(workspace_id, principal)
