"""Bodies about workflows."""

from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict

from riven.api.fields import ResponseBody, Shown

_SOURCE = "name: refund\nnodes:\n  tell:\n    type: log\n    with: {message: hello}\n"
_SUMMARY: dict[str, Any] = {
    "workflowDefinitionId": "0198c0de-8a10-7d3e-9f00-0c1d2e3f4a5b",
    "workspaceId": "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b11",
    "name": "refund",
    "status": "PUBLISHED",
    "latestVersion": 3,
    "etag": "9f86d081884c7d659a2feaa0c55ad015",
    "createdAt": "2026-11-19T08:30:00.125Z",
    "updatedAt": "2026-11-19T08:30:00.125Z",
}


class ProblemBody(ResponseBody):
    path: str
    line: int | None
    column: int | None
    code: str
    severity: Literal["error", "warning"]
    message: str


class WorkflowSummaryBody(ResponseBody):
    model_config = ConfigDict(json_schema_extra={"examples": [_SUMMARY]})

    workflow_definition_id: UUID
    workspace_id: UUID
    name: str
    status: Literal["DRAFT", "PUBLISHED"]
    """PUBLISHED once there is a version, whatever the draft has become since."""
    latest_version: int | None
    etag: str
    """Of the draft."""
    created_at: Shown
    updated_at: Shown


class WorkflowBody(WorkflowSummaryBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    **_SUMMARY,
                    "source": _SOURCE,
                    "document": {
                        "name": "refund",
                        "nodes": {"tell": {"type": "log", "with": {"message": "hello"}}},
                    },
                    "problems": [],
                }
            ]
        }
    )

    source: str
    """The draft as it was sent."""
    document: Any
    """The draft as JSON; null where it cannot be read."""
    problems: list[ProblemBody]
    """All that is wrong with the draft; it can be published when none is an error."""


class PublicationBody(ResponseBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"version": 3, "published": True}]})

    version: int
    published: bool
    """False: nothing has changed since this version."""


class VersionSummaryBody(ResponseBody):
    workflow_definition_id: UUID
    name: str
    version: int
    created_at: Shown
    created_by: str
    """Who published it: `key:` or `user:` and an id."""


class CalledBody(ResponseBody):
    workflow: str
    version: int


class VersionBody(VersionSummaryBody):
    source: str
    document: Any
    """The source as JSON."""
    calls: list[CalledBody]
    """The workflows that it calls, each at the version that it was pinned to."""
