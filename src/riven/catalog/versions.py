"""Versions: immutable snapshots that executions run."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson

from riven.catalog.check import Checked, DocumentChecker
from riven.catalog.errors import VersionNotFoundError, WorkflowInvalidError
from riven.catalog.pins import called_versions
from riven.catalog.repository import Named, Workflow, get_named, get_workflow, lock_workflow, record_change
from riven.core.errors import InvalidDocumentError, Problem, Severity
from riven.db.engine import Connection, Database
from riven.db.errors import ConflictError
from riven.db.identity import new_id
from riven.tenancy.policies import Scope
from riven.wire.document import Document, from_json, to_json

_DOCUMENT: Final = "SELECT document FROM workflow_definition_versions WHERE id = $1"
_UNCHANGED: Final = """
SELECT document::text = $3 FROM workflow_definition_versions WHERE workflow_definition_id = $1 AND version = $2
"""
_INSERT: Final = """
INSERT INTO workflow_definition_versions
    (id, workflow_definition_id, workspace_id, version, source, document, created_by)
VALUES ($1, $2, $3, $4, $5, $6::text::json, $7)
"""
_PUBLISHED: Final = """
UPDATE workflow_definitions SET status = 'PUBLISHED', latest_version = $2, updated_at = now() WHERE id = $1
"""
_INPUT_SCHEMAS: Final = """
SELECT id, (document -> 'input')::text AS schema FROM workflow_definition_versions WHERE id = ANY ($1::uuid[])
"""
_LIST: Final = """
SELECT id, version, created_by, created_at FROM workflow_definition_versions
WHERE workflow_definition_id = $1 AND version < $2 ORDER BY version DESC LIMIT $3
"""
_GET: Final = """
SELECT id, version, created_by, created_at, source, document FROM workflow_definition_versions
WHERE workflow_definition_id = $1 AND version = $2
"""
_AFTER_ALL: Final = 2**31 - 1
_TRIES: Final = 5


@dataclass(frozen=True, slots=True)
class Publication:
    version: int
    published: bool
    """False: nothing has changed since this version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionSummary:
    id: UUID
    workflow_id: UUID
    name: str
    version: int
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(VersionSummary):
    source: str
    calls: Sequence[tuple[str, int]]
    """The workflows that it calls, each at the version that it was pinned to."""


async def load_document(connection: Connection, version_id: UUID) -> Document | None:
    """The normalised document of a version; None if its row is gone. Raises InvalidDocumentError for a damaged one."""
    try:
        stored = await connection.fetch_value(_DOCUMENT, version_id)
    except ValueError as error:
        message = f"the stored document cannot be read: {error}; publish it anew"
        problem = Problem(path="", code="damaged_document", message=message)
        raise InvalidDocumentError([problem]) from error
    return None if stored is None else from_json(stored)


async def load_input_schemas(connection: Connection, version_ids: Sequence[UUID]) -> dict[UUID, str]:
    """The JSON text of the input schemas of versions; `null` of one without, nothing for one that is gone."""
    rows = await connection.fetch(_INPUT_SCHEMAS, version_ids)
    return {row["id"]: row["schema"] for row in rows}


async def publish_workflow(
    database: Database, scope: Scope, checker: DocumentChecker, name: str
) -> Publication:
    """Make a version of the draft, with the workflows that it calls pinned to the versions that they have now.

    It holds for every start from the commit on. Nothing has changed when the last version would run alike, whatever
    became of comments and positions.

    Raises:
        WorkflowNotFoundError, WorkflowInvalidError
    """
    for _ in range(_TRIES):
        async with database.read() as connection:
            draft = await get_workflow(connection, scope, name)
        checked = await checker.check(draft.source, scope.workspace_id, name)
        if checked.document is None:
            raise _invalid(name, checked)
        text = orjson.dumps(to_json(checked.document)).decode()
        async with database.transaction() as connection:
            found = await lock_workflow(connection, scope, name)
            if (found.id, found.etag) == (draft.id, draft.etag):  # nobody has saved another draft meanwhile
                return await _publish(connection, scope, found, text)
    raise ConflictError(f"the draft of {name} is being saved all the time; publish it when that has ended")


async def list_versions(
    connection: Connection, scope: Scope, name: str, *, before: int | None, limit: int
) -> Sequence[VersionSummary]:
    """Newest first; also those of an archived workflow."""
    named = await get_named(connection, scope, name)
    rows = await connection.fetch(_LIST, named.id, min(before or _AFTER_ALL, _AFTER_ALL), limit)
    return [
        VersionSummary(
            id=row["id"],
            workflow_id=named.id,
            name=named.name,
            version=row["version"],
            created_by=row["created_by"],
            created_at=row["created_at"],
        )
        for row in rows
    ]


async def get_version(connection: Connection, scope: Scope, name: str, version: int) -> Version:
    named = await get_named(connection, scope, name)
    row = await connection.fetch_row(_GET, named.id, version) if 1 <= version <= _AFTER_ALL else None
    if row is None:
        raise unknown_version(named, version)
    return Version(
        id=row["id"],
        workflow_id=named.id,
        name=named.name,
        version=row["version"],
        created_by=row["created_by"],
        created_at=row["created_at"],
        source=row["source"],
        calls=list(dict.fromkeys(called_versions(from_json(row["document"])))),
    )


def unknown_version(named: Named, version: int) -> VersionNotFoundError:
    latest = "it has none yet" if named.latest_version is None else f"its latest is {named.latest_version}"
    return VersionNotFoundError(f"the workflow {named.name} has no version {version}; {latest}")


async def _publish(connection: Connection, scope: Scope, found: Workflow, text: str) -> Publication:
    latest = found.latest_version
    if latest is not None and await connection.fetch_value(_UNCHANGED, found.id, latest, text):
        return Publication(latest, published=False)
    version = (latest or 0) + 1
    await connection.execute(
        _INSERT,
        new_id(),
        found.id,
        scope.workspace_id,
        version,
        found.source,
        text,
        scope.principal.actor,
    )
    await connection.execute(_PUBLISHED, found.id, version)
    details = {"workflowDefinitionId": str(found.id), "version": version}
    await record_change(connection, scope, found.name, "workflow.published", details)
    return Publication(version, published=True)


def _invalid(name: str, checked: Checked) -> WorkflowInvalidError:
    errors = [each for each in checked.problems if each.severity is Severity.ERROR]
    first = f"{errors[0].path or 'the document'}: {errors[0].message}"
    more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
    return WorkflowInvalidError(f"{name} cannot be published: {first}{more}", problems=checked.problems)
