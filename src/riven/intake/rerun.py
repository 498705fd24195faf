"""Rerun: a new execution like another one, from the beginning or from a node, with other input or another version.

What comes before the node is kept: its rows are copied as those of an earlier run, and the new execution goes on from
them as a retried one does.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from riven.catalog.resolve import Asked, Resolved, resolve_versions
from riven.catalog.versions import load_document
from riven.db.engine import Connection, Database, Row
from riven.db.identity import new_id
from riven.db.statements import load
from riven.intake.accept import Acceptor, accept_executions
from riven.intake.idempotency import IdempotencyKey
from riven.intake.kept import kept_nodes
from riven.intake.merge import merged
from riven.intake.wish import Accepted, NewExecution
from riven.tenancy.errors import WrongStateError, field_error
from riven.tenancy.policies import Scope
from riven.views.errors import ExecutionNotFoundError
from riven.wire.document import Document, Json
from riven.wire.outline import Entered, outline

_ORIGINAL: Final = """
SELECT id, workflow_definition_id, workflow_definition_version_id, version, status, input, trigger, priority, labels,
       correlation_id, run
FROM workflow_executions WHERE id = $1 AND workspace_id = $2
"""
_STATUSES: Final = """
SELECT DISTINCT ON (path) path, coalesce(settled, status) AS status, output_blob_id
FROM workflow_execution_nodes WHERE execution_id = $1 ORDER BY path, run DESC, attempt DESC
"""
_SCOPES: Final = """
SELECT output_blob_id FROM workflow_execution_scopes WHERE execution_id = $1 AND output_blob_id IS NOT NULL
"""
_KEEP: Final = load("riven.intake", "keep_nodes")
_FINISHED: Final = frozenset({"COMPLETED", "FAILED", "CANCELED"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RerunWish:
    from_node: str | None = None
    """The key of a node in the outermost scope; None: from the beginning."""
    patch: Json = None
    """What is other in the input: JSON Merge Patch."""
    version: int | None = None
    """None: the version that ran."""


@dataclass(frozen=True, slots=True)
class RerunPlan:
    will_run: list[str]
    kept: list[str]


@dataclass(frozen=True, slots=True)
class _Prepared:
    original: Row
    new: NewExecution
    plan: RerunPlan
    document: Document


class Reruns:
    """One for each process that takes reruns in."""

    def __init__(self, database: Database, announce: Callable[[Iterable[UUID]], None]) -> None:
        self._database = database
        self._announce = announce
        self._acceptor = Acceptor()

    async def plan(self, scope: Scope, execution_id: UUID, wish: RerunWish) -> RerunPlan:
        """What would run again and what would be kept; nothing is started. Raises as `rerun`."""
        async with self._database.read() as connection:
            return (await _prepare(connection, scope, execution_id, wish)).plan

    async def rerun(
        self, scope: Scope, execution_id: UUID, wish: RerunWish, key: IdempotencyKey | None
    ) -> Accepted:
        """Durable and in line when this returns.

        Raises:
            ExecutionNotFoundError: there is none to rerun.
            WrongStateError: it is not over, so nobody knows what to keep of it.
            RefusedError: there is no such node or version, or the input does not fit it.
        """
        async with self._database.transaction() as connection:
            prepared = await _prepare(connection, scope, execution_id, wish)
            (accepted,) = await accept_executions(
                connection, scope, [prepared.new], key=key, acceptor=self._acceptor
            )
            if prepared.plan.kept:
                await _keep(connection, prepared, accepted.execution_id)
        self._announce((scope.workspace_id,))
        return accepted


async def _prepare(connection: Connection, scope: Scope, execution_id: UUID, wish: RerunWish) -> _Prepared:
    original = await connection.fetch_row(_ORIGINAL, execution_id, scope.workspace_id)
    if original is None:
        raise ExecutionNotFoundError(f"there is no execution {execution_id}")
    version = original["version"] if wish.version is None else wish.version
    asked = Asked(scope.workspace_id, original["workflow_definition_id"], None, version)
    (resolved,) = await resolve_versions(connection, [asked])
    if not isinstance(resolved, Resolved):
        raise resolved
    document = await load_document(connection, resolved.version_id)
    if document is None:
        raise WrongStateError("the version of the workflow is gone")
    kept = await _kept(connection, original, resolved, document, wish.from_node)
    new = NewExecution(
        workflow_id=original["workflow_definition_id"],
        version=version,
        input=merged(original["input"], {} if wish.patch is None else wish.patch),
        priority=original["priority"],
        correlation_id=original["correlation_id"],
        labels=original["labels"],
        trigger=original["trigger"],
        rerun_of=execution_id,
        rerun_from=wish.from_node,
    )
    plan = RerunPlan([key for key in document.nodes if key not in set(kept)], kept)
    return _Prepared(original, new, plan, document)


async def _kept(
    connection: Connection, original: Row, resolved: Resolved, document: Document, start: str | None
) -> list[str]:
    if start is None:
        return []
    if start not in document.nodes:
        names = ", ".join(list(document.nodes)[:20])
        said = f"there is no such node in the outermost scope of version {resolved.version}; it has {names}"
        raise field_error("fromNode", "unknown_node", said)
    if original["status"] not in _FINISHED:
        raise WrongStateError(
            f"the execution is {original['status']}: what it completes can be kept when it is over"
        )
    before = None
    if resolved.version_id != original["workflow_definition_version_id"]:
        before = await load_document(connection, original["workflow_definition_version_id"])
        if before is None:
            raise WrongStateError("the version that ran is gone, so nobody knows what to keep of it")
    statuses = {row["path"]: row["status"] for row in await connection.fetch(_STATUSES, original["id"])}
    return kept_nodes(document, statuses, start=start, before=before)


async def _keep(connection: Connection, prepared: _Prepared, execution_id: UUID) -> None:
    original = prepared.original["id"]
    nodes = await connection.fetch(_STATUSES, original)
    scopes = await connection.fetch(_SCOPES, original)
    blobs = [row["output_blob_id"] for row in (*nodes, *scopes) if row["output_blob_id"] is not None]
    placed = list(outline(prepared.document, Entered.by(row["path"] for row in nodes)))
    await connection.execute(
        _KEEP,
        original,
        execution_id,
        prepared.plan.kept,
        [each.path for each in placed],
        [each.place for each in placed],
        blobs,
        [new_id() for _ in blobs],
    )
