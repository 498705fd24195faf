"""Executions as people see them: one with all that is known of it, and lists of them, newest first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final
from uuid import UUID

import orjson

from riven.db.engine import Connection, Row
from riven.db.statements import load
from riven.db.statuses import FINISHED, UNFINISHED
from riven.tenancy.policies import Scope
from riven.views.errors import ExecutionNotFoundError
from riven.views.nodes import milliseconds
from riven.views.waiting import Waiting, why_all_waiting, why_waiting
from riven.wire.document import Json
from riven.wire.shown import show_execution, show_time

_LIST: Final = """
SELECT id, workspace_id, workflow_definition_version_id, workflow_name, version, status, phase, run, priority, labels,
       correlation_id, scheduled_for, error_type, error_node, error_message, rerun_of, created_at, started_at,
       finished_at, duration_ms, revision
FROM workflow_executions
WHERE {conditions}
ORDER BY id DESC
LIMIT {limit}
"""
_GET: Final = load("riven.views", "execution")
_HEAD: Final = """
SELECT id, workspace_id, workflow_definition_version_id AS version_id, status, revision
FROM workflow_executions WHERE id = $1
"""
STATUSES: Final = (*UNFINISHED, *FINISHED)
_IS: Final = {status: f"status = '{status}'" for status in STATUSES}
_SLACK: Final = 3_600_000
"""Milliseconds by which the clock in an id may differ from the database's."""


@dataclass(frozen=True, slots=True)
class Head:
    """As much of an execution as it takes to find what belongs to it, and whose it is."""

    id: UUID
    workspace_id: UUID
    version_id: UUID
    status: str
    revision: int

    @property
    def finished(self) -> bool:
        return self.status in FINISHED


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    workflow: str | None = None
    version: int | None = None
    statuses: Sequence[str] = ()
    """Some of STATUSES."""
    labels: Mapping[str, str] = field(default_factory=dict)
    correlation_id: str | None = None
    created_after: datetime | None = None
    created_before: datetime | None = None


@dataclass(frozen=True, slots=True)
class ExecutionView:
    """An execution to be shown."""

    id: UUID
    shown: dict[str, Json]
    version_id: UUID
    status: str
    revision: int

    @property
    def finished(self) -> bool:
        return self.status in FINISHED


async def find_execution(connection: Connection, execution_id: UUID) -> Head:
    """Whoever asks has to prove that he may see its workspace. Raises ExecutionNotFoundError."""
    row = await connection.fetch_row(_HEAD, execution_id)
    if row is None:
        raise _unknown(execution_id)
    return Head(*row)


async def get_execution(connection: Connection, scope: Scope, execution_id: UUID) -> ExecutionView:
    """With input, output and why it waits. Raises ExecutionNotFoundError."""
    row = await connection.fetch_row(_GET, execution_id, scope.workspace_id)
    if row is None:
        raise _unknown(execution_id)
    waiting = None if row["status"] in FINISHED else await why_waiting(connection, execution_id)
    output = row["output"] if row["blob"] is None else orjson.loads(row["blob"])
    return _view(row, waiting, {"input": row["input"], "output": output})


async def list_executions(
    connection: Connection, scope: Scope, filters: Filters, *, before: UUID | None, limit: int
) -> list[ExecutionView]:
    """Newest first, those older than `before`; without inputs and outputs."""
    statement, values = _query(scope.workspace_id, filters, before, limit)
    rows = await connection.fetch(statement, *values)
    open_ones = [row["id"] for row in rows if row["status"] not in FINISHED]
    waiting = await why_all_waiting(connection, open_ones)
    return [_view(row, waiting.get(row["id"]), None) for row in rows]


def _query(workspace_id: UUID, filters: Filters, before: UUID | None, limit: int) -> tuple[str, list[object]]:
    """The statement, and the values for its places."""
    conditions: list[str] = []
    values: list[object] = []

    def place(value: object) -> str:
        values.append(value)
        return f"${len(values)}"

    conditions.append(f"workspace_id = {place(workspace_id)}")
    if before is not None:
        conditions.append(f"id < {place(before)}")
    if filters.workflow is not None:
        conditions.append(f"workflow_name = {place(filters.workflow)}")
    if filters.version is not None:
        conditions.append(f"version = {place(filters.version)}")
    if len(filters.statuses) == 1:
        # Written out, so that the condition of a partial index is seen to hold.
        conditions.append(_IS[filters.statuses[0]])
    elif filters.statuses:
        conditions.append(f"status = ANY ({place(list(filters.statuses))})")
    if filters.labels:
        conditions += ["labels <> '{}'", f"labels @> {place(dict(filters.labels))}"]
    if filters.correlation_id is not None:
        conditions.append(f"correlation_id = {place(filters.correlation_id)}")
    if filters.created_after is not None:
        conditions.append(f"created_at > {place(filters.created_after)}")
        conditions.append(f"id >= {place(_first_id(filters.created_after, -_SLACK))}")
    if filters.created_before is not None:
        conditions.append(f"created_at < {place(filters.created_before)}")
        conditions.append(f"id <= {place(_first_id(filters.created_before, _SLACK))}")
    return _LIST.format(conditions=" AND ".join(conditions), limit=place(limit)), values


def _first_id(moment: datetime, slack: int) -> UUID:
    """The first UUIDv7 of a moment: ids sort by the time at which they were made."""
    now = min(max(round(moment.timestamp() * 1000) + slack, 0), 2**48 - 1)
    return UUID(int=now << 80)


def _view(row: Row, waiting: Waiting | None, values: Mapping[str, Json] | None) -> ExecutionView:
    error = None
    if row["error_type"] is not None:
        error = {"node": row["error_node"], "type": row["error_type"], "message": row["error_message"]}
    shown = show_execution(
        execution_id=str(row["id"]),
        workspace_id=str(row["workspace_id"]),
        workflow={"name": row["workflow_name"], "version": row["version"]},
        status=row["status"],
        phase=row["phase"],
        values=values,
        error=error,
        created_at=milliseconds(row["created_at"]) or 0,
        started_at=milliseconds(row["started_at"]),
        finished_at=milliseconds(row["finished_at"]),
        duration_ms=row["duration_ms"],
        labels=row["labels"],
        correlation_id=row["correlation_id"],
        waiting=None if waiting is None else waiting.shown(),
    )
    shown |= {
        "run": row["run"],
        "priority": row["priority"],
        "scheduledFor": show_time(milliseconds(row["scheduled_for"])),
        "rerunOf": None if row["rerun_of"] is None else str(row["rerun_of"]),
    }
    return ExecutionView(
        row["id"], shown, row["workflow_definition_version_id"], row["status"], row["revision"]
    )


def _unknown(execution_id: UUID) -> ExecutionNotFoundError:
    return ExecutionNotFoundError(
        f"there is no execution {execution_id}; GET /api/v1/workflow/executions lists those that there are"
    )
