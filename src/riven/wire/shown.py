"""Executions and nodes as people see them: `riven run --json` and the HTTP API give these objects, with these fields.

Times come in as milliseconds since the epoch and are shown as RFC 3339 in UTC.
"""

from collections.abc import Mapping, Sequence

from riven.wire.document import Json
from riven.wire.times import to_rfc3339


def show_execution(
    *,
    execution_id: str,
    workspace_id: str | None = None,
    workflow: Mapping[str, Json],
    status: str,
    phase: str,
    values: Mapping[str, Json] | None = None,
    error: Json,
    created_at: int,
    started_at: int | None,
    finished_at: int | None,
    duration_ms: int | None,
    labels: Mapping[str, str],
    correlation_id: str | None,
    waiting: Json,
) -> dict[str, Json]:
    """All but its nodes. `workflow` is `{name, version?}`, `error` `{node, type, message}`.

    `values`: input and output, where they are shown; in lists they would be too large.
    """
    shown: dict[str, Json] = {"executionId": execution_id}
    if workspace_id is not None:
        shown["workspaceId"] = workspace_id
    return shown | {
        "workflow": workflow,
        "status": status,
        "phase": phase,
        **(values or {}),
        "error": error,
        "createdAt": to_rfc3339(created_at),
        "startedAt": show_time(started_at),
        "finishedAt": show_time(finished_at),
        "durationMs": duration_ms,
        "labels": labels,
        "correlationId": correlation_id,
        "waiting": waiting,
    }


def show_node(
    *,
    path: str,
    type: str,
    name: str | None,
    status: str,
    outcome: str | None,
    attempt: int,
    attempts: Sequence[Json],
    started_at: int | None,
    finished_at: int | None,
    input: Json,
    output: Json,
    error: Json,
    skip_reason: str | None,
) -> dict[str, Json]:
    """`attempt` is the number of the last one, 0 if it never started; `error` is `{type, message}`."""
    return {
        "path": path,
        "type": type,
        "name": name,
        "status": status,
        "outcome": outcome,
        "attempt": attempt,
        "attempts": attempts,
        "startedAt": show_time(started_at),
        "finishedAt": show_time(finished_at),
        "durationMs": None if started_at is None or finished_at is None else finished_at - started_at,
        "input": input,
        "output": output,
        "error": error,
        "skipReason": skip_reason,
    }


def show_attempt(
    attempt: int,
    status: str,
    started_at: int | None,
    finished_at: int | None,
    error: Json,
    next_retry_at: int | None,
) -> dict[str, Json]:
    return {
        "attempt": attempt,
        "status": status,
        "startedAt": show_time(started_at),
        "finishedAt": show_time(finished_at),
        "error": error,
        "nextRetryAt": show_time(next_retry_at),
    }


def show_time(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else to_rfc3339(milliseconds)
