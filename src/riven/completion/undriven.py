"""Runs that nobody drives: they are held, and ended, by their rows alone.

A run is driven while it is RUNNING and its item is with an owner. In every other unfinished status, and when its owner
is dead and its item back in line, there is nobody who could be asked to end it.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from riven.catalog.versions import load_document
from riven.core.errors import ErrorClass, InvalidDocumentError
from riven.core.messages import ExecutionStatus
from riven.db.engine import Connection
from riven.db.statements import load
from riven.wire.document import Document
from riven.wire.outline import Entered, outline

_LOCK_ITEM = "SELECT id, status, due, available_at FROM execution_queue WHERE execution_id = $1 FOR UPDATE"
_HOLD = load("riven.completion", "hold")
_REVISION = "SELECT coalesce(max(revision), 0) FROM workflow_execution_nodes WHERE execution_id = $1"
_PATHS = "SELECT DISTINCT path FROM workflow_execution_nodes WHERE execution_id = $1"
_CANCEL_NODES = load("riven.completion", "cancel_nodes")
_CANCEL_UNSTARTED = load("riven.completion", "cancel_unstarted")
_END = load("riven.completion", "end_undriven")

_CANCELED = """
SELECT DISTINCT e.id
FROM signals g
JOIN workflow_executions e ON e.id = g.execution_id AND e.run = g.run
WHERE g.execution_id = ANY ($1::uuid[]) AND g.kind = 'CANCEL' AND g.seq IS NULL AND NOT g.void
"""
_OVERDUE = load("riven.completion", "overdue")

FINISHED = frozenset({ExecutionStatus.COMPLETED, ExecutionStatus.FAILED, ExecutionStatus.CANCELED})

_log = logging.getLogger("riven.completion")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldRun:
    """An execution and its item, both locked by this transaction."""

    execution_id: UUID
    workspace_id: UUID
    workflow_definition_id: UUID
    version_id: UUID
    status: ExecutionStatus
    phase: str
    run: int
    priority: int
    started_at: datetime | None
    waiting_kind: str | None
    waiting_until: datetime | None
    revision: int
    queue_id: UUID | None
    """None: it has no item, or somebody has deleted it."""
    queue_status: str | None
    due: bool
    available_at: datetime | None

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    @property
    def driven(self) -> bool:
        return self.status is ExecutionStatus.RUNNING and self.queue_status != "PENDING"


async def hold_run(connection: Connection, execution_id: UUID) -> HeldRun | None:
    """Lock item, then execution; nothing of them moves before the transaction ends. None: there is no such execution."""
    item = await connection.fetch_row(_LOCK_ITEM, execution_id)
    row = await connection.fetch_row(_HOLD, execution_id)
    if row is None:
        return None
    return HeldRun(
        execution_id=row["id"],
        workspace_id=row["workspace_id"],
        workflow_definition_id=row["workflow_definition_id"],
        version_id=row["workflow_definition_version_id"],
        status=ExecutionStatus(row["status"]),
        phase=row["phase"],
        run=row["run"],
        priority=row["priority"],
        started_at=row["started_at"],
        waiting_kind=row["waiting_kind"],
        waiting_until=row["waiting_until"],
        revision=row["revision"],
        queue_id=None if item is None else item["id"],
        queue_status=None if item is None else item["status"],
        due=item is not None and item["due"],
        available_at=None if item is None else item["available_at"],
    )


async def end_undriven(
    connection: Connection,
    execution_id: UUID,
    status: ExecutionStatus,
    error_class: ErrorClass | None = None,
    message: str | None = None,
) -> bool:
    """End a run that nobody drives; a slot of its workspace may be free after the commit.

    False: it is over, somebody drives it, or its row is gone; nothing was changed.
    """
    held = await hold_run(connection, execution_id)
    if held is None or held.finished or held.driven:
        return False
    await end_held(connection, held, status, error_class, message)
    return True


async def find_canceled(connection: Connection, executions: Sequence[UUID]) -> list[UUID]:
    """Those among them whose driver was asked to cancel them and has not come to it: without one, end them."""
    return [row["id"] for row in await connection.fetch(_CANCELED, list(executions))]


async def overdue(connection: Connection, most: int) -> list[tuple[UUID, UUID]]:
    """Unfinished runs whose deadline has passed and that nobody drives: execution and workspace of each."""
    rows = await connection.fetch(_OVERDUE, most)
    return [(row["id"], row["workspace_id"]) for row in rows]


async def end_held(
    connection: Connection,
    held: HeldRun,
    status: ExecutionStatus,
    error_class: ErrorClass | None = None,
    message: str | None = None,
) -> None:
    """The same, for an unfinished run that is held and that nobody drives."""
    execution_id = held.execution_id
    # an owner that died may have come further than the execution's own row tells
    revision = max(held.revision, await connection.fetch_value(_REVISION, execution_id))
    revision += await connection.execute(_CANCEL_NODES, execution_id, revision)
    if held.phase != "INITIALIZING":
        revision += await _cancel_unstarted(connection, held, revision)
    error_type = None if error_class is None else error_class.value
    await connection.execute(_END, execution_id, status.value, error_type, message, revision + 1)
    ids = {"executionId": str(execution_id)}
    if held.queue_id is None:
        _log.warning("queue_item_missing_at_completion", extra=ids)
    error = None if error_type is None else {"node": None, "type": error_type, "message": message}
    _log.info("execution_finished", extra={**ids, "status": status.value, "error": error})


async def _cancel_unstarted(connection: Connection, held: HeldRun, revision: int) -> int:
    document = await _document(connection, held.version_id)
    if document is None:
        return 0
    known = {row["path"] for row in await connection.fetch(_PATHS, held.execution_id)}
    left = [each for each in outline(document, Entered.by(known)) if each.path not in known]
    return await connection.execute(
        _CANCEL_UNSTARTED,
        held.execution_id,
        held.run,
        revision,
        [each.path for each in left],
        [each.place for each in left],
        [each.node.type for each in left],
    )


async def _document(connection: Connection, version_id: UUID) -> Document | None:
    try:
        return await load_document(connection, version_id)
    except InvalidDocumentError:
        return None  # damaged: what its nodes are, nobody knows any more
