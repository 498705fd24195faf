"""Members: users of the configured OIDC issuer, by their subject, with a role in a workspace."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from riven.db.engine import Connection, Row
from riven.db.errors import ConstraintError
from riven.db.identity import new_id
from riven.tenancy.activity import LAST_ID, Activity, record_activity
from riven.tenancy.errors import NotFoundError, WrongStateError, field_error
from riven.tenancy.keys import CHANNEL
from riven.tenancy.policies import Scope, require
from riven.tenancy.principals import WORKSPACE_ROLES, Role

_OF_SUBJECT = "SELECT workspace_id, role FROM members WHERE subject = $1"
_LIST = """
SELECT id, subject, role, created_at FROM members WHERE workspace_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3
"""
_INSERT = """
INSERT INTO members (id, workspace_id, subject, role) VALUES ($1, $2, $3, $4)
ON CONFLICT (workspace_id, subject) DO NOTHING RETURNING id, subject, role, created_at
"""
_UPDATE = (
    "UPDATE members SET role = $3 WHERE id = $1 AND workspace_id = $2 RETURNING id, subject, role, created_at"
)
_DELETE = "DELETE FROM members WHERE id = $1 AND workspace_id = $2 RETURNING id, subject, role, created_at"
_TELL = "SELECT pg_notify($1, 'user:' || $2)"


class MemberNotFoundError(NotFoundError):
    code = "member_not_found"


class MemberExistsError(WrongStateError):
    code = "member_exists"


@dataclass(frozen=True, slots=True)
class Member:
    id: UUID
    subject: str
    role: Role
    created_at: datetime


async def memberships_of(connection: Connection, subject: str) -> Mapping[UUID, Role]:
    return {row["workspace_id"]: Role(row["role"]) for row in await connection.fetch(_OF_SUBJECT, subject)}


async def list_members(
    connection: Connection, scope: Scope, *, before: UUID | None, limit: int
) -> Sequence[Member]:
    """Newest first."""
    require(scope.principal, scope.workspace_id, Role.ADMIN)
    rows = await connection.fetch(_LIST, scope.workspace_id, before or LAST_ID, limit)
    return [_member(row) for row in rows]


async def add_member(connection: Connection, scope: Scope, *, subject: str, role: Role) -> Member:
    require(scope.principal, scope.workspace_id, Role.ADMIN)
    _check(role)
    try:
        row = await connection.fetch_row(_INSERT, new_id(), scope.workspace_id, subject, role)
    except ConstraintError as error:
        raise NotFoundError("there is no such workspace any more") from error
    if row is None:
        raise MemberExistsError(f"{subject!r} is a member already; PATCH the member to change the role")
    return await _changed(connection, scope, _member(row), "member.added")


async def change_member(connection: Connection, scope: Scope, member_id: UUID, role: Role) -> Member:
    require(scope.principal, scope.workspace_id, Role.ADMIN)
    _check(role)
    row = await connection.fetch_row(_UPDATE, member_id, scope.workspace_id, role)
    if row is None:
        raise _unknown(member_id)
    return await _changed(connection, scope, _member(row), "member.changed")


async def remove_member(connection: Connection, scope: Scope, member_id: UUID) -> Member:
    require(scope.principal, scope.workspace_id, Role.ADMIN)
    row = await connection.fetch_row(_DELETE, member_id, scope.workspace_id)
    if row is None:
        raise _unknown(member_id)
    return await _changed(connection, scope, _member(row), "member.removed")


async def _changed(connection: Connection, scope: Scope, member: Member, action: str) -> Member:
    """Audit it, and have every process forget what it knows of the user."""
    entry = Activity(
        workspace_id=scope.workspace_id,
        actor=scope.principal.actor,
        action=action,
        subject=f"member:{member.id}",
        details={"subject": member.subject, "role": member.role},
    )
    await record_activity(connection, entry)
    await connection.fetch(_TELL, CHANNEL, member.subject)
    return member


def _check(role: Role) -> None:
    if role not in WORKSPACE_ROLES:
        raise field_error("role", "invalid_value", f"`role` must be one of {', '.join(WORKSPACE_ROLES)}")


def _unknown(member_id: UUID) -> MemberNotFoundError:
    return MemberNotFoundError(f"there is no member {member_id} in this workspace")


def _member(row: Row) -> Member:
    return Member(row["id"], row["subject"], Role(row["role"]), row["created_at"])
