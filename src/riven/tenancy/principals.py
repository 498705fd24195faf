"""Who asks: an API key, or a user whom a configured OIDC issuer vouches for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal
from uuid import UUID


class Role(StrEnum):
    """What somebody may do in a workspace; each role may do what those before it may."""

    VIEWER = "VIEWER"
    OPERATOR = "OPERATOR"
    EDITOR = "EDITOR"
    ADMIN = "ADMIN"
    PLATFORM = "PLATFORM"
    """Of the installation, not of a workspace: ADMIN everywhere, and workspaces, tiers and limits besides."""

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {role: rank for rank, role in enumerate(Role)}
WORKSPACE_ROLES = (Role.VIEWER, Role.OPERATOR, Role.EDITOR, Role.ADMIN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    kind: Literal["key", "user", "library"]
    id: str
    """Of a key its row's id, of a user the subject that the issuer names."""
    name: str
    workspace_id: UUID | None = None
    """The workspace of a key; None for a platform key, and for users: they may be members of several."""
    role: Role | None = None
    """Of a key; users have one in each of their `memberships`."""
    memberships: Mapping[UUID, Role] = field(default_factory=dict)

    @property
    def actor(self) -> str:
        """How rows name who did something."""
        return f"{self.kind}:{self.id}"

    @property
    def is_platform(self) -> bool:
        return self.role is Role.PLATFORM

    def role_in(self, workspace_id: UUID) -> Role | None:
        if self.role is Role.PLATFORM or (self.role is not None and self.workspace_id == workspace_id):
            return self.role
        return self.memberships.get(workspace_id)

    @property
    def workspaces(self) -> list[UUID]:
        """Those that this principal is somebody in; of no use for a platform key."""
        return [self.workspace_id] if self.workspace_id is not None else list(self.memberships)
