"""Drafts of workflows: saved whether right or wrong, protected from being overwritten, archived instead of deleted."""

import hashlib
from dataclasses import dataclass
from typing import Final

import orjson

from riven.catalog.check import Checked, DocumentChecker
from riven.catalog.errors import DraftChangedError
from riven.catalog.repository import Workflow, find_locked, get_workflow, lock_workflow, record_change
from riven.core.errors import Problem
from riven.db.engine import Connection, Database
from riven.db.errors import ConflictError
from riven.db.identity import new_id
from riven.documents.schema import WORKFLOW_NAME
from riven.tenancy.errors import InvalidRequestError, field_error
from riven.tenancy.policies import Scope
from riven.wire.document import Json
from riven.wire.problems import problem_to_json

_INSERT: Final = """
INSERT INTO workflow_definitions (id, workspace_id, name, source, document, problems, etag)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (workspace_id, name) WHERE archived_at IS NULL DO NOTHING
RETURNING id
"""
_UPDATE: Final = """
UPDATE workflow_definitions SET source = $2, document = $3, problems = $4, etag = $5, updated_at = now() WHERE id = $1
"""
_ARCHIVE: Final = """
UPDATE workflow_definitions SET status = 'ARCHIVED', archived_at = now(), updated_at = now() WHERE id = $1
"""
_TRIES: Final = 3


@dataclass(frozen=True, slots=True)
class Expected:
    """What the caller believes to be there (`If-Match`, `If-None-Match`); any of the etags will do."""

    etags: frozenset[str] = frozenset()
    exists: bool | None = None
    """True: it must be there, whatever it is. False: it must not. None: what the etags say."""

    def check(self, found: Workflow | None) -> None:
        """Raises DraftChangedError."""
        if self.exists is False and found is not None:
            raise DraftChangedError(
                f"there is a workflow {found.name} already; save it with its etag in If-Match"
            )
        if found is None and (self.exists or self.etags):
            raise DraftChangedError(
                "there is no such workflow any more, so nothing has this etag; save it without"
            )
        if found is not None and self.etags and found.etag not in self.etags:
            raise DraftChangedError(
                f"the draft was saved by somebody else at {found.updated_at:%Y-%m-%d %H:%M:%S} UTC; read it again, "
                "bring the changes together, and send its new etag"
            )


async def save_draft(
    database: Database,
    scope: Scope,
    checker: DocumentChecker,
    name: str,
    text: bytes,
    expected: Expected = Expected(),
) -> Workflow:
    """Whatever is wrong with the document is kept beside it, and keeps it from being published.

    Raises:
        InvalidRequestError: the name is none, or the text is no text.
        DraftChangedError: it is not what the caller expects.
    """
    check_name(name)
    source = _decode(text)
    checked = await checker.check(source, scope.workspace_id, name)
    for _ in range(_TRIES):
        async with database.transaction() as connection:
            found = await find_locked(connection, scope, name)
            expected.check(found)
            if await _write(connection, scope, name, source, checked, found):
                return await get_workflow(connection, scope, name)
    raise ConflictError(f"the workflow {name} is being created and archived by others all the time")


async def archive_workflow(
    database: Database,
    scope: Scope,
    name: str,
    expected: Expected = Expected(),
) -> None:
    """Starts end here; versions stay, and what was accepted before runs to its end."""
    async with database.transaction() as connection:
        found = await lock_workflow(connection, scope, name)
        expected.check(found)
        await connection.execute(_ARCHIVE, found.id)
        await record_change(
            connection, scope, found.name, "workflow.archived", {"workflowDefinitionId": str(found.id)}
        )


def check_name(name: str) -> None:
    if not WORKFLOW_NAME.fullmatch(name):
        said = (
            "a name has small letters, digits and hyphens, begins with a letter, and has at most 63 of them"
        )
        raise field_error("name", "invalid_name", said)


async def _write(
    connection: Connection, scope: Scope, name: str, source: str, checked: Checked, found: Workflow | None
) -> bool:
    """False: somebody else has just created it."""
    etag = hashlib.sha256(source.encode()).hexdigest()[:32]
    draft = (source, _document(checked.value), [problem_to_json(each) for each in checked.problems], etag)
    if found is not None:
        await connection.execute(_UPDATE, found.id, *draft)
        changed = found.etag != etag
    else:
        workflow_id = new_id()
        if await connection.fetch_value(_INSERT, workflow_id, scope.workspace_id, name, *draft) is None:
            return False
        changed = True
    if changed:
        details = {"etag": etag, "valid": checked.valid}
        await record_change(connection, scope, name, "workflow.saved", details)
    return True


def _document(value: Json) -> Json:
    """As JSON text, made once; None for what no JSON can be written of, such as half of a surrogate pair."""
    if value is None:
        return None
    try:
        return orjson.Fragment(orjson.dumps(value))
    except TypeError:
        return None


def _decode(text: bytes) -> str:
    """What can be kept: a text, without NUL, as PostgreSQL has none in its texts."""
    marked = text.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        source = text.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        raise _no_text("encoding", "the body is no UTF-8 text; save the document as UTF-8") from None
    if "\0" in source:
        raise _no_text("nul_character", "take the NUL character out of the document")
    return source


def _no_text(code: str, message: str) -> InvalidRequestError:
    return InvalidRequestError(message, problems=[Problem(path="", code=code, message=message)])
