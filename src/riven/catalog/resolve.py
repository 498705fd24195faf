"""Which version a start runs, read for many starts at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from riven.catalog.errors import (
    ForeignWorkflowError,
    VersionNotFoundError,
    WorkflowNotFoundError,
    WorkflowNotPublishedError,
)
from riven.db.engine import Connection, Row
from riven.db.statements import load
from riven.documents.schema import WORKFLOW_NAME
from riven.tenancy.errors import ForbiddenError, RefusedError, WorkspaceNotFoundError

_RESOLVE: Final = load("riven.catalog", "resolve")
_LAST_VERSION: Final = 2**31 - 1
_NO_VERSION: Final = 0
_NO_NAME: Final = ""


class WorkspaceDisabledError(ForbiddenError):
    code = "workspace_disabled"


@dataclass(frozen=True, slots=True)
class Asked:
    """A workflow by its id or, without one, by its name."""

    workspace_id: UUID
    workflow_id: UUID | None
    name: str | None
    version: int | None


@dataclass(frozen=True, slots=True)
class Resolved:
    workflow_id: UUID
    name: str
    version_id: UUID
    version: int
    queued_limit: int | None
    """Of the workspace, as it is in force; None: none."""


async def resolve_versions(connection: Connection, asked: Sequence[Asked]) -> list[Resolved | RefusedError]:
    """For each, what it is or why it cannot be started."""
    rows = await connection.fetch(
        _RESOLVE,
        [each.workspace_id for each in asked],
        [each.workflow_id for each in asked],
        [_name(each.name) for each in asked],
        [_version(each.version) for each in asked],
    )
    return [_resolved(each, row) for each, row in zip(asked, rows, strict=True)]


def _name(name: str | None) -> str | None:
    """What is no name names nothing, and need not be something that the database can hold."""
    return name if name is None or WORKFLOW_NAME.fullmatch(name) else _NO_NAME


def _version(version: int | None) -> int | None:
    return version if version is None or 1 <= version <= _LAST_VERSION else _NO_VERSION


def _resolved(asked: Asked, row: Row) -> Resolved | RefusedError:
    if row["workspace_id"] is None:
        return WorkspaceNotFoundError(f"there is no workspace {asked.workspace_id}")
    if row["disabled"]:
        return WorkspaceDisabledError(f"the workspace {asked.workspace_id} is disabled; it starts nothing")
    if row["workflow_id"] is None:
        which = (
            f"with the id {asked.workflow_id}" if asked.workflow_id else f"called {asked.name or ''!r:.80}"
        )
        return WorkflowNotFoundError(
            f"there is no workflow {which} in this workspace; check it, or save and publish it first"
        )
    if row["owner_id"] != asked.workspace_id:
        return ForeignWorkflowError(f"the workflow {asked.workflow_id} belongs to another workspace")
    if row["archived"]:
        return WorkflowNotFoundError(f"the workflow {row['name']} was archived; save and publish it anew")
    if row["latest_version"] is None:
        return WorkflowNotPublishedError(f"the workflow {row['name']} is a draft; publish it first")
    if row["version_id"] is None:
        said = f"the workflow {row['name']} has no version {asked.version}; its latest is {row['latest_version']}"
        return VersionNotFoundError(said)
    return Resolved(row["workflow_id"], row["name"], row["version_id"], row["version"], row["queued_limit"])
