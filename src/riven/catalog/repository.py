"""Rows of workflow definitions: what every function here is given a `Scope` for, and nothing beyond it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from riven.catalog.errors import WorkflowNotFoundError
from riven.db.engine import Connection, Row
from riven.db.statements import load
from riven.documents.schema import WORKFLOW_NAME
from riven.tenancy.activity import LAST_ID, Activity, record_activity
from riven.tenancy.policies import Scope
from riven.wire.document import Json

_GET: Final = load("riven.catalog", "get_workflow")
_LOCK: Final = f"{_GET} FOR NO KEY UPDATE"
_LIST: Final = load("riven.catalog", "list_workflows")
_NAMED: Final = load("riven.catalog", "get_named")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowSummary:
    id: UUID
    workspace_id: UUID
    name: str
    status: str
    etag: str
    latest_version: int | None
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Workflow(WorkflowSummary):
    """A workflow and its draft."""

    source: str
    document: Json
    """What the source says, as JSON; None where it cannot be read."""
    problems: Json
    """As `wire.problems` has them."""


@dataclass(frozen=True, slots=True)
class Named:
    """A workflow as its versions know it."""

    id: UUID
    name: str
    latest_version: int | None


async def get_workflow(connection: Connection, scope: Scope, name: str) -> Workflow:
    return _required(await connection.fetch_row(_GET, scope.workspace_id, known_name(name)), name)


async def find_locked(connection: Connection, scope: Scope, name: str) -> Workflow | None:
    """Nobody else saves, publishes or archives it before this transaction ends."""
    row = await connection.fetch_row(_LOCK, scope.workspace_id, name)
    return None if row is None else _workflow(row)


async def lock_workflow(connection: Connection, scope: Scope, name: str) -> Workflow:
    return _required(await connection.fetch_row(_LOCK, scope.workspace_id, known_name(name)), name)


async def list_workflows(
    connection: Connection, scope: Scope, *, before: UUID | None, limit: int
) -> Sequence[WorkflowSummary]:
    """Newest first, without those that were archived."""
    rows = await connection.fetch(_LIST, scope.workspace_id, before or LAST_ID, limit)
    return [WorkflowSummary(**_values(row)) for row in rows]


async def get_named(connection: Connection, scope: Scope, name: str) -> Named:
    row = await connection.fetch_row(_NAMED, scope.workspace_id, known_name(name))
    if row is None:
        raise unknown(name)
    return Named(row["id"], row["name"], row["latest_version"])


async def record_change(
    connection: Connection, scope: Scope, name: str, action: str, details: dict[str, Json]
) -> None:
    entry = Activity(
        workspace_id=scope.workspace_id,
        actor=scope.principal.actor,
        action=action,
        subject=f"workflow:{name}",
        details=details,
    )
    await record_activity(connection, entry)


def known_name(name: str) -> str:
    """Raises WorkflowNotFoundError for what is no name: nothing is called so, and the database need not be asked."""
    if not WORKFLOW_NAME.fullmatch(name):
        raise unknown(name)
    return name


def unknown(name: str) -> WorkflowNotFoundError:
    return WorkflowNotFoundError(f"there is no workflow {name[:63]!r} in this workspace; save it first")


def _required(row: Row | None, name: str) -> Workflow:
    if row is None:
        raise unknown(name)
    return _workflow(row)


def _workflow(row: Row) -> Workflow:
    return Workflow(**_values(row))


def _values(row: Row) -> dict[str, Any]:
    return dict(row.items())
