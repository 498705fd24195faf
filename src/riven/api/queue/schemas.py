"""Bodies about items in line."""

from typing import Literal
from uuid import UUID

from pydantic import ConfigDict

from riven.api.fields import ResponseBody, Shown


class QueueItemBody(ResponseBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "queueId": "0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e10",
                    "executionId": "0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f",
                    "workspaceId": "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b11",
                    "status": "FAILED",
                    "attempts": 3,
                    "priority": 0,
                    "createdAt": "2026-11-19T08:30:00.125Z",
                    "availableAt": "2026-11-19T08:30:15.190Z",
                    "claimedAt": None,
                    "lastError": "DISPATCH_FAILED: the engine refused 3 starts",
                }
            ]
        }
    )

    queue_id: UUID
    execution_id: UUID
    workspace_id: UUID
    status: Literal["PENDING", "CLAIMED", "DISPATCHED", "FAILED"]
    attempts: int
    """Starts that the engine has refused."""
    priority: int
    created_at: Shown
    available_at: Shown | None
    """When it may be claimed; null: not before somebody wakes it."""
    claimed_at: Shown | None
    last_error: str | None
