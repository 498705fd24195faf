"""Drafts, publishing, versions."""

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Header, Path
from starlette.responses import Response

from riven.api.binding import DocumentOperation
from riven.api.deps import Editor, State, Viewer
from riven.api.fields import rfc3339
from riven.api.openapi import TAGGED, problems
from riven.api.pagination import Listed, Page, page_of
from riven.api.requests import ApiRequest
from riven.api.responses import JsonResponse, no_content
from riven.api.workflows.schemas import (
    PublicationBody,
    VersionBody,
    VersionSummaryBody,
    WorkflowBody,
    WorkflowSummaryBody,
)
from riven.catalog.repository import Workflow, WorkflowSummary, get_workflow, list_workflows
from riven.catalog.versions import VersionSummary, get_version, list_versions, publish_workflow
from riven.catalog.workflows import Expected, archive_workflow, save_draft

router = APIRouter(
    prefix="/api/v1/workspaces/{workspaceId}/workflows", route_class=DocumentOperation, tags=["workflows"]
)

Name = Annotated[
    str,
    Path(
        alias="name",
        description="The workflow's name: `[a-z][a-z0-9-]{0,62}`.",
        json_schema_extra={"pattern": "^[a-z][a-z0-9-]{0,62}$", "examples": ["refund"]},
    ),
]
# Conditions are HTTP's own and told in words: among the parameters they would promise that any etag is taken.
IfMatch = Annotated[str | None, Header(alias="If-Match", include_in_schema=False)]
IfNoneMatch = Annotated[str | None, Header(alias="If-None-Match", include_in_schema=False)]
DOCUMENT: dict[str, Any] = {
    "requestBody": {
        "required": False,
        "description": "The document, YAML or JSON, of up to 4 MiB. `GET /api/v1/workflow/schema` describes it.",
        "content": {
            "application/yaml": {
                "schema": {},
                "example": "name: refund\nnodes:\n  tell:\n    type: log\n    with: {message: hello}\n",
            },
            "application/json": {
                "schema": {},
                "example": {
                    "name": "refund",
                    "nodes": {"tell": {"type": "log", "with": {"message": "hello"}}},
                },
            },
        },
    }
}


@router.put(
    "/{name}",
    summary="Save a draft",
    response_model=WorkflowBody,
    responses={**problems(412), 200: TAGGED},
    openapi_extra=DOCUMENT,
)
async def save(
    state: State,
    scope: Editor,
    request: ApiRequest,
    name: Name,
    if_match: IfMatch = None,
    if_none_match: IfNoneMatch = None,
) -> Response:
    """Right or wrong: what is wrong is answered in `problems`, and keeps it from being published.

    With the header `If-Match` and the draft's etag it is saved only if nobody else has saved it meanwhile, with
    `If-None-Match: *` only if there is none; 412 otherwise.
    """
    expected = _expected(if_match, if_none_match)
    saved = await save_draft(state.database, scope, state.checker, name, await request.body(), expected)
    return _answer(saved)


@router.get("", summary="List workflows", response_model=Listed[WorkflowSummaryBody])
async def list_all(state: State, scope: Viewer, page: Annotated[Page, page_of("workflows")]) -> Response:
    """Without the drafts themselves, and without those that were archived."""
    async with state.database.read() as connection:
        found = await list_workflows(connection, scope, before=page.before, limit=page.wanted)
    return page.answer(found, lambda each: each.id, _summary)


@router.get(
    "/{name}",
    summary="Get a workflow and its draft",
    response_model=WorkflowBody,
    responses={200: TAGGED},
)
async def get(state: State, scope: Viewer, name: Name) -> Response:
    async with state.database.read() as connection:
        found = await get_workflow(connection, scope, name)
    return _answer(found)


@router.delete("/{name}", summary="Archive a workflow", status_code=204, responses=problems(412))
async def archive(state: State, scope: Editor, name: Name, if_match: IfMatch = None) -> Response:
    """Starts are 404 from now on. Versions stay, and what was accepted before runs to its end.

    With the header `If-Match` and the draft's etag only if nobody has saved it meanwhile; 412 otherwise.
    """
    await archive_workflow(state.database, scope, name, _expected(if_match, None))
    return no_content()


@router.post("/{name}/publish", summary="Publish the draft", response_model=PublicationBody)
async def publish(state: State, scope: Editor, name: Name) -> Response:
    """Makes a version that never changes; the next start runs it. 422 with all problems of an invalid draft."""
    done = await publish_workflow(state.database, scope, state.checker, name)
    return JsonResponse({"version": done.version, "published": done.published})


@router.get("/{name}/versions", summary="List versions", response_model=Listed[VersionSummaryBody])
async def versions(
    state: State, scope: Viewer, name: Name, page: Annotated[Page, page_of("versions")]
) -> Response:
    """Of an archived workflow too, while no other has its name."""
    before = None if page.before is None else page.before.int
    async with state.database.read() as connection:
        found = await list_versions(connection, scope, name, before=before, limit=page.wanted)
    return page.answer(found, lambda each: UUID(int=each.version), _version)


@router.get("/{name}/versions/{version}", summary="Get a version", response_model=VersionBody)
async def version(
    state: State,
    scope: Viewer,
    name: Name,
    version: Annotated[int, Path(alias="version", description="Versions count from 1.")],
) -> Response:
    async with state.database.read() as connection:
        found = await get_version(connection, scope, name, version)
    document = await state.checker.read(found.source)
    calls = [{"workflow": workflow, "version": number} for workflow, number in found.calls]
    return JsonResponse({**_version(found), "source": found.source, "document": document, "calls": calls})


def _expected(if_match: str | None, if_none_match: str | None) -> Expected:
    if if_none_match is not None and if_none_match.strip() == "*":
        return Expected(exists=False)
    if if_match is None:
        return Expected()
    if if_match.strip() == "*":
        return Expected(exists=True)
    return Expected(frozenset(_etag(each) for each in if_match.split(",")))


def _etag(text: str) -> str:
    """With or without quotes: it stands without them in the body of answers."""
    return text.strip().removeprefix("W/").strip('"')


def _answer(workflow: Workflow) -> Response:
    return JsonResponse(
        {
            **_summary(workflow),
            "source": workflow.source,
            "document": workflow.document,
            "problems": workflow.problems,
        },
        headers={"ETag": f'"{workflow.etag}"'},
    )


def _summary(workflow: WorkflowSummary) -> dict[str, object]:
    return {
        "workflowDefinitionId": str(workflow.id),
        "workspaceId": str(workflow.workspace_id),
        "name": workflow.name,
        "status": workflow.status,
        "latestVersion": workflow.latest_version,
        "etag": workflow.etag,
        "createdAt": rfc3339(workflow.created_at),
        "updatedAt": rfc3339(workflow.updated_at),
    }


def _version(version: VersionSummary) -> dict[str, object]:
    return {
        "workflowDefinitionId": str(version.workflow_id),
        "name": version.name,
        "version": version.version,
        "createdAt": rfc3339(version.created_at),
        "createdBy": version.created_by,
    }
