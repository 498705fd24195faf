"""Bodies of starts."""

from typing import Annotated, Any, cast
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.config import JsonDict

from riven.api.fields import Moment, RequestBody, ResponseBody, Text, Whole
from riven.intake.wish import (
    MAX_BATCH,
    MAX_CORRELATION_ID,
    MAX_LABEL,
    MAX_LABEL_VALUE,
    MAX_LABELS,
    NewExecution,
)

Label = Annotated[Text, Field(min_length=1, max_length=MAX_LABEL)]
LabelValue = Annotated[Text, Field(max_length=MAX_LABEL_VALUE)]


def _by_name(schema: JsonDict) -> None:
    """Pydantic describes only those names that are right, and says nothing of the others."""
    for pattern, value in cast("JsonDict", schema.pop("patternProperties")).items():
        schema["propertyNames"] = cast("JsonDict", schema["propertyNames"]) | {"pattern": pattern}
        schema["additionalProperties"] = value


def _named_by(one: str, other: str) -> JsonDict:
    return {"required": [one], "properties": {one: {"type": "string"}, other: {"type": "null"}}}


class StartRequest(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "workspaceId": "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b11",
                    "workflowName": "refund",
                    "input": {"orderId": "A-1042", "amount": 129.9},
                    "priority": 10,
                    "correlationId": "ticket-77",
                    "labels": {"customer": "acme"},
                }
            ],
            "oneOf": [
                _named_by("workflowDefinitionId", "workflowName"),
                _named_by("workflowName", "workflowDefinitionId"),
            ],
        }
    )

    workspace_id: UUID
    workflow_definition_id: Annotated[UUID | None, Field(description="This, or `workflowName`.")] = None
    workflow_name: Annotated[str | None, Field(description="This, or `workflowDefinitionId`.")] = None
    version: Annotated[
        Annotated[Whole, Field(ge=1, le=2**31 - 1)] | None,
        Field(description="The latest, unless it is given."),
    ] = None
    input: Annotated[
        dict[str, Any] | None, Field(description="Checked against the schema of the version.")
    ] = None
    priority: Annotated[
        Annotated[Whole, Field(ge=-100, le=100)] | None,
        Field(description="Higher goes first; 0, unless given."),
    ] = None
    scheduled_for: Annotated[
        Moment | None, Field(description="Not before; a time in the past means now.")
    ] = None
    correlation_id: Annotated[
        Annotated[Text, Field(min_length=1, max_length=MAX_CORRELATION_ID)] | None,
        Field(description="Your own id of what this is about; lists filter by it."),
    ] = None
    labels: Annotated[
        Annotated[dict[Label, LabelValue], Field(max_length=MAX_LABELS, json_schema_extra=_by_name)] | None,
        Field(description="Text to text; lists filter by them."),
    ] = None

    def wished(self) -> NewExecution:
        return NewExecution(
            workflow_id=self.workflow_definition_id,
            workflow_name=self.workflow_name,
            version=self.version,
            input=self.input or {},
            priority=self.priority or 0,
            scheduled_for=self.scheduled_for,
            correlation_id=self.correlation_id,
            labels=self.labels or {},
        )


class BatchRequest(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "executions": [
                        {
                            "workspaceId": "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b11",
                            "workflowName": "refund",
                            "input": {"orderId": "A-1042", "amount": 129.9},
                        }
                    ]
                }
            ]
        }
    )

    executions: Annotated[list[StartRequest], Field(min_length=1, max_length=MAX_BATCH)]


class StartedBody(ResponseBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "executionId": "0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f",
                    "queueId": "0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e10",
                    "status": "PENDING",
                }
            ]
        }
    )

    execution_id: UUID
    queue_id: UUID
    """Names the item in line; after it has left the line there is nothing of that name."""
    status: str
    """PENDING."""


class StartedBatchBody(ResponseBody):
    executions: list[StartedBody]
    """In the order of the request."""
