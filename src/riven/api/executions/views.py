"""Bodies that show executions. They describe: what is answered are the objects of `riven.views`, which these mirror."""

from typing import Any, Final, Literal
from uuid import UUID

from pydantic import ConfigDict

from riven.api.fields import ResponseBody, Shown

ExecutionStatus = Literal["PENDING", "RUNNING", "WAITING", "PAUSED", "COMPLETED", "FAILED", "CANCELED"]
NodeStatus = Literal[
    "PENDING", "RUNNING", "RETRYING", "WAITING", "COMPLETED", "FAILED", "SKIPPED", "CANCELED"
]
Phase = Literal["INITIALIZING", "EXECUTING_NODES", "COMPLETED", "FAILED", "CANCELED"]
WaitingKind = Literal[
    "paused",
    "dispatch_retry",
    "approval",
    "signal",
    "timer",
    "retry",
    "workspace_disabled",
    "engine_disabled",
    "workspace_limit",
    "engine_down",
    "worker_absent",
    "worker_busy",
]

_WAITING: Final[dict[str, Any]] = {
    "kind": "workspace_limit",
    "since": "2026-11-19T08:30:00.125Z",
    "limit": 5,
    "inUse": 5,
    "holders": ["0198c0df-0f00-7abc-8def-0123456789ab"],
    "position": 3,
}
_SUMMARY: Final[dict[str, Any]] = {
    "executionId": "0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f",
    "workspaceId": "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b11",
    "workflow": {"name": "refund", "version": 3},
    "status": "FAILED",
    "phase": "FAILED",
    "error": {"node": "pay", "type": "HTTP_SERVER_ERROR", "message": "the server answered 503"},
    "createdAt": "2026-11-19T08:30:00.125Z",
    "startedAt": "2026-11-19T08:30:00.131Z",
    "finishedAt": "2026-11-19T08:30:07.402Z",
    "durationMs": 7271,
    "labels": {"customer": "acme"},
    "correlationId": "ticket-77",
    "waiting": None,
    "run": 1,
    "priority": 0,
    "scheduledFor": None,
    "rerunOf": None,
}
EXECUTION: Final[dict[str, Any]] = {
    **_SUMMARY,
    "input": {"orderId": "A-1042", "amount": 129.9},
    "output": None,
}
NODE: Final[dict[str, Any]] = {
    "path": "order",
    "type": "http_request",
    "name": None,
    "status": "COMPLETED",
    "outcome": "success",
    "attempt": 1,
    "attempts": [
        {
            "attempt": 1,
            "status": "COMPLETED",
            "startedAt": "2026-11-19T08:30:00.140Z",
            "finishedAt": "2026-11-19T08:30:00.192Z",
            "error": None,
            "nextRetryAt": None,
        }
    ],
    "startedAt": "2026-11-19T08:30:00.140Z",
    "finishedAt": "2026-11-19T08:30:00.192Z",
    "durationMs": 52,
    "input": {"url": "https://shop.example/orders/A-1042"},
    "output": {"status": 200, "headers": {}, "body": {"id": "A-1042"}, "elapsedMs": 51},
    "error": None,
    "skipReason": None,
}


class WorkflowVersionBody(ResponseBody):
    name: str
    version: int


class ExecutionErrorBody(ResponseBody):
    node: str | None
    """The path of the innermost node that failed; `output` if the output could not be built; null if none is at fault."""
    type: str
    """The class of the error."""
    message: str


class WaitingBody(ResponseBody):
    """What does not apply is left out."""

    model_config = ConfigDict(json_schema_extra={"examples": [_WAITING]})

    kind: WaitingKind
    """The first reason that holds."""
    since: Shown | None
    until: Shown | None = None
    """When it goes on by itself, or expires."""
    limit: int | None = None
    """Executions that the workspace may run at once."""
    in_use: int | None = None
    """Executions that it runs."""
    holders: list[UUID] | None = None
    """At most 20 of those that run."""
    position: int | None = None
    """In the workspace's line, from 1; left out beyond 100,000."""


class ExecutionSummaryBody(ResponseBody):
    model_config = ConfigDict(json_schema_extra={"examples": [_SUMMARY]})

    execution_id: UUID
    workspace_id: UUID
    workflow: WorkflowVersionBody
    status: ExecutionStatus
    phase: Phase
    error: ExecutionErrorBody | None
    created_at: Shown
    started_at: Shown | None
    """The first admission; it is never moved afterwards."""
    finished_at: Shown | None
    duration_ms: int | None
    """From `startedAt` to `finishedAt`."""
    labels: dict[str, str]
    correlation_id: str | None
    waiting: WaitingBody | None
    """Why it waits. Lists leave out holders and position, and what a running execution waits for inside."""
    run: int
    """1, and one more for each retry."""
    priority: int
    scheduled_for: Shown | None
    rerun_of: UUID | None


class ExecutionBody(ExecutionSummaryBody):
    model_config = ConfigDict(json_schema_extra={"examples": [EXECUTION]})

    input: Any
    output: Any


class NodeErrorBody(ResponseBody):
    type: str
    message: str


class AttemptBody(ResponseBody):
    attempt: int
    """From 1; a retried execution goes on counting."""
    status: NodeStatus
    started_at: Shown | None
    finished_at: Shown | None
    error: NodeErrorBody | None
    next_retry_at: Shown | None


class NodeBody(ResponseBody):
    model_config = ConfigDict(json_schema_extra={"examples": [NODE]})

    path: str
    """`order`, `each[3].send`, `poll[2].check`."""
    type: str
    name: str | None
    status: NodeStatus
    outcome: str | None
    """The label by which it left."""
    attempt: int
    """The number of the last attempt; 0: it never started."""
    attempts: list[AttemptBody]
    started_at: Shown | None
    finished_at: Shown | None
    duration_ms: int | None
    input: Any
    """Its configuration with all templates resolved; secrets hidden."""
    output: Any
    error: NodeErrorBody | None
    skip_reason: Literal["not_chosen", "upstream_skipped", "upstream_failed", "when_false"] | None
