"""POST, GET and PATCH of workspaces."""

from typing import Annotated

from fastapi import APIRouter, Body
from starlette.responses import Response

from riven.api.binding import Operation
from riven.api.deps import Caller, Platform, State, Viewer, WorkspaceId
from riven.api.openapi import LOCATED
from riven.api.pagination import Listed, Page, page_of
from riven.api.responses import JsonResponse
from riven.api.workspaces.schemas import (
    LimitsBody,
    LimitsRequest,
    NewWorkspaceRequest,
    WorkspaceBody,
    WorkspacePatch,
)
from riven.tenancy.workspaces import (
    UNCHANGED,
    Limits,
    Workspace,
    WorkspaceChange,
    change_workspace,
    create_workspace,
    get_workspace,
    list_workspaces,
)

router = APIRouter(prefix="/api/v1/workspaces", route_class=Operation, tags=["workspaces"])


@router.post(
    "",
    summary="Create a workspace",
    status_code=201,
    response_model=WorkspaceBody,
    responses={201: LOCATED},
)
async def create(state: State, platform: Platform, body: Annotated[NewWorkspaceRequest, Body()]) -> Response:
    """By a platform key alone. `limits` override those of the tier."""
    wanted = body.limits or LimitsRequest()
    limits = Limits(running=wanted.running, queued=wanted.queued, max_attempts=wanted.max_attempts)
    async with state.database.transaction() as connection:
        created = await create_workspace(
            connection, platform, name=body.name, tier=body.tier, limits=limits, weight=body.weight
        )
    shown = _shown(created, state.settings.queue_max_attempts)
    return JsonResponse(shown, 201, {"Location": f"/api/v1/workspaces/{created.id}"})


@router.get("", summary="List workspaces", response_model=Listed[WorkspaceBody])
async def list_all(state: State, caller: Caller, page: Annotated[Page, page_of("workspaces")]) -> Response:
    """A platform key sees all of them, others see those in which they have a role."""
    async with state.database.read() as connection:
        found = await list_workspaces(connection, caller, before=page.before, limit=page.wanted)
    return page.answer(
        found, lambda each: each.id, lambda each: _shown(each, state.settings.queue_max_attempts)
    )


@router.get("/{workspaceId}", summary="Get a workspace", response_model=WorkspaceBody)
async def get(state: State, scope: Viewer) -> Response:
    async with state.database.read() as connection:
        found = await get_workspace(connection, scope.workspace_id)
    return JsonResponse(_shown(found, state.settings.queue_max_attempts))


@router.patch("/{workspaceId}", summary="Change a workspace", response_model=WorkspaceBody)
async def change(
    state: State, platform: Platform, workspace_id: WorkspaceId, body: Annotated[WorkspacePatch, Body()]
) -> Response:
    """By a platform key alone. A changed limit holds at once; a lowered one stops nothing that runs."""
    async with state.database.transaction() as connection:
        changed = await change_workspace(connection, platform, workspace_id, _change(body))
    state.announcer.announce([workspace_id])
    return JsonResponse(_shown(changed, state.settings.queue_max_attempts))


def _change(body: WorkspacePatch) -> WorkspaceChange:
    """Only what the body names changes; null is a value of limits."""
    own = body.model_fields_set
    limits = body.limits.model_fields_set if "limits" in own else set()
    return WorkspaceChange(
        name=body.name if "name" in own else UNCHANGED,
        tier=body.tier if "tier" in own else UNCHANGED,
        running=body.limits.running if "running" in limits else UNCHANGED,
        queued=body.limits.queued if "queued" in limits else UNCHANGED,
        max_attempts=body.limits.max_attempts if "max_attempts" in limits else UNCHANGED,
        weight=body.weight if "weight" in own else UNCHANGED,
        disabled=body.disabled if "disabled" in own else UNCHANGED,
    )


def _shown(workspace: Workspace, max_attempts: int) -> object:
    own = workspace.limits.max_attempts
    limits = LimitsBody(
        running=workspace.running_limit,
        queued=workspace.queued_limit,
        max_attempts=max_attempts if own is None else own,
    )
    return WorkspaceBody(
        workspace_id=workspace.id,
        name=workspace.name,
        tier=workspace.tier,
        limits=limits,
        weight=workspace.weight,
        disabled=workspace.disabled,
        created_at=workspace.created_at,
        updated_at=workspace.updated_at,
    ).shown()
