"""Validation, the schema of documents, node types."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query
from starlette.responses import Response

from riven.api.binding import DocumentOperation
from riven.api.deps import Caller, State, authorise
from riven.api.requests import ApiRequest
from riven.api.responses import JsonResponse
from riven.api.tooling.schemas import NodeTypesBody, ValidationBody
from riven.api.workflows.endpoints import DOCUMENT
from riven.documents.schema import document_schema
from riven.tenancy.principals import Role
from riven.wire.problems import problem_to_json

router = APIRouter(prefix="/api/v1", route_class=DocumentOperation, tags=["tooling"])


@router.post(
    "/workflow/validate", summary="Validate a document", response_model=ValidationBody, openapi_extra=DOCUMENT
)
async def validate(
    state: State,
    caller: Caller,
    request: ApiRequest,
    workspace_id: Annotated[
        UUID | None,
        Query(
            alias="workspaceId", description="Where the workflows are that it calls; a key's own is known."
        ),
    ] = None,
) -> Response:
    """Everything that is wrong with it, at once. Without a workspace, the workflows that it calls are not looked for."""
    named = workspace_id or (caller.workspaces[0] if len(caller.workspaces) == 1 else None)
    if named is not None:
        await authorise(state, caller, named, Role.VIEWER)
    checked = await state.checker.check(await request.body(), named)
    return JsonResponse(
        {"valid": checked.valid, "problems": [problem_to_json(each) for each in checked.problems]}
    )


@router.get("/workflow/schema", summary="Get the schema of documents", response_model=dict[str, object])
async def schema(state: State, caller: Caller) -> Response:
    """JSON Schema 2020-12, node types included: name it in an editor to have documents completed and checked."""
    del caller
    return JsonResponse(document_schema(state.registry))


@router.get("/node-types", summary="List node types", response_model=NodeTypesBody)
async def node_types(state: State, caller: Caller) -> Response:
    """With the JSON Schemas that forms are made from; built-in ones first."""
    del caller
    return JsonResponse({"items": state.registry.describe(), "nextCursor": None})
