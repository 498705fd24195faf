"""API keys: `rvn_` and 43 characters of a random 256-bit number, of which the database has the SHA-256.

A plain SHA-256 is right here, where for passwords it would be wrong: nobody guesses 256 random bits, so there is
nothing that a slow, salted hash would make harder, and it would be paid for by every request.
"""

import hashlib
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from riven.db.engine import Connection, Row
from riven.db.identity import new_id
from riven.tenancy.activity import LAST_ID, Activity, record_activity
from riven.tenancy.errors import NotFoundError, field_error
from riven.tenancy.policies import Scope, require, require_platform
from riven.tenancy.principals import WORKSPACE_ROLES, Principal, Role

CHANNEL = "riven_keys"
"""What became invalid is told here: `key:ID`, or `user:SUBJECT`."""

_MARK: Final = "rvn_"
_DIGITS: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LENGTH: Final = 43
"""Digits of base 62 that hold 256 bits; letters and digits alone, so that a double click takes the whole key."""
_KEY: Final = re.compile(rf"{_MARK}[0-9A-Za-z]{{{_LENGTH}}}", re.ASCII)
_SHOWN: Final = len(_MARK) + 8

_INSERT = """
INSERT INTO api_keys (id, workspace_id, name, prefix, key_hash, role, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING id, workspace_id, name, prefix, role, expires_at, last_used_at, created_at
"""
_LIST = """
SELECT id, workspace_id, name, prefix, role, expires_at, last_used_at, created_at FROM api_keys
WHERE workspace_id IS NOT DISTINCT FROM $1 AND id < $2 AND revoked_at IS NULL ORDER BY id DESC LIMIT $3
"""
_GET = """
SELECT id, workspace_id, name, prefix, role, expires_at, last_used_at, created_at FROM api_keys
WHERE id = $1
"""
_REVOKE = """
WITH revoked AS (UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL RETURNING id)
SELECT id, pg_notify($2, 'key:' || id) FROM revoked
"""


class KeyNotFoundError(NotFoundError):
    code = "key_not_found"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiKey:
    id: UUID
    workspace_id: UUID | None
    name: str
    prefix: str
    role: Role
    expires_at: datetime | None
    last_used_at: datetime | None
    """To the minute."""
    created_at: datetime


@dataclass(frozen=True, slots=True)
class NewKey:
    """The only time that the key itself is seen."""

    stored: ApiKey
    secret: str


def make_secret() -> str:
    number = secrets.randbits(256)
    digits: list[str] = []
    for _ in range(_LENGTH):
        number, digit = divmod(number, 62)
        digits.append(_DIGITS[digit])
    return _MARK + "".join(digits)


def hash_secret(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def is_key(token: str) -> bool:
    """Whether it looks like a key of ours; whether it is one, the database knows."""
    return _KEY.fullmatch(token) is not None


async def create_key(
    connection: Connection, scope: Scope, *, name: str, role: Role, expires_at: datetime | None
) -> NewKey:
    """Whoever may administer a workspace may give any of its roles away."""
    require(scope.principal, scope.workspace_id, Role.ADMIN)
    if role not in WORKSPACE_ROLES:
        raise field_error("role", "invalid_value", f"`role` must be one of {', '.join(WORKSPACE_ROLES)}")
    return await _create(connection, scope.workspace_id, scope.principal.actor, name, role, expires_at)


async def create_platform_key(
    connection: Connection, principal: Principal, *, name: str, expires_at: datetime | None
) -> NewKey:
    require_platform(principal)
    return await _create(connection, None, principal.actor, name, Role.PLATFORM, expires_at)


async def create_first_platform_key(connection: Connection, *, name: str) -> NewKey | None:
    """For whoever installs: `riven migrate --platform-key`. None when there is one already, revoked ones included."""
    await connection.execute("LOCK TABLE api_keys IN SHARE ROW EXCLUSIVE MODE")
    if await connection.fetch_value("SELECT EXISTS (SELECT FROM api_keys WHERE workspace_id IS NULL)"):
        return None
    return await _create(connection, None, "installation", name, Role.PLATFORM, None)


async def list_keys(
    connection: Connection, scope: Scope, *, before: UUID | None, limit: int
) -> Sequence[ApiKey]:
    """Newest first, without those that were revoked: the audit trail has them."""
    require(scope.principal, scope.workspace_id, Role.ADMIN)
    return [_key(row) for row in await connection.fetch(_LIST, scope.workspace_id, before or LAST_ID, limit)]


async def list_platform_keys(
    connection: Connection, principal: Principal, *, before: UUID | None, limit: int
) -> Sequence[ApiKey]:
    require_platform(principal)
    return [_key(row) for row in await connection.fetch(_LIST, None, before or LAST_ID, limit)]


async def revoke_key(connection: Connection, principal: Principal, key_id: UUID) -> ApiKey:
    """From the commit on no process takes the key; see `authentication` for how soon each of them knows.

    One that is revoked already stays so, and the audit trail tells of it once.
    """
    row = await connection.fetch_row(_GET, key_id)
    if row is None:
        raise _unknown(key_id)
    key = _key(row)
    if key.workspace_id is None:
        require_platform(principal)
    else:
        require(principal, key.workspace_id, Role.ADMIN)
    if await connection.fetch_row(_REVOKE, key_id, CHANNEL) is not None:
        await _record(connection, key, principal.actor, "key.revoked")
    return key


async def _create(
    connection: Connection,
    workspace_id: UUID | None,
    actor: str,
    name: str,
    role: Role,
    expires_at: datetime | None,
) -> NewKey:
    secret = make_secret()
    values = (new_id(), workspace_id, name, secret[:_SHOWN], hash_secret(secret), role, expires_at)
    rows = await connection.fetch(_INSERT, *values)
    key = _key(rows[0])
    await _record(connection, key, actor, "key.created")
    return NewKey(key, secret)


async def _record(connection: Connection, key: ApiKey, actor: str, action: str) -> None:
    details = {"name": key.name, "prefix": key.prefix, "role": key.role}
    entry = Activity(
        workspace_id=key.workspace_id, actor=actor, action=action, subject=f"key:{key.id}", details=details
    )
    await record_activity(connection, entry)


def _unknown(key_id: UUID) -> KeyNotFoundError:
    return KeyNotFoundError(
        f"there is no key {key_id}; GET /api/v1/workspaces/{{workspaceId}}/keys lists those that there are"
    )


def _key(row: Row) -> ApiKey:
    return ApiKey(
        id=row["id"],
        workspace_id=row["workspace_id"],
        name=row["name"],
        prefix=row["prefix"],
        role=Role(row["role"]),
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
        created_at=row["created_at"],
    )
