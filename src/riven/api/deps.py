"""What endpoints ask for: the state, the caller, and the proof that the caller may touch a workspace."""

from collections.abc import Awaitable, Callable
from typing import Annotated
from uuid import UUID

from fastapi import Depends, Header, Path, Query

from riven.api.requests import ApiRequest
from riven.api.state import AppState
from riven.core.errors import Problem
from riven.tenancy.errors import ForeignWorkspaceError, WorkspaceNotFoundError
from riven.tenancy.policies import Scope, require_platform, scope_for
from riven.tenancy.principals import Principal, Role


def _state(request: ApiRequest) -> AppState:
    return request.services


def _caller(request: ApiRequest) -> Principal:
    return request.principal


def _platform(request: ApiRequest) -> Principal:
    require_platform(request.principal)
    return request.principal


State = Annotated[AppState, Depends(_state)]
Caller = Annotated[Principal, Depends(_caller)]
Platform = Annotated[Principal, Role.PLATFORM, Depends(_platform)]
"""The caller, who has a platform key."""
# The caller, of whom the endpoint asks this role itself, in the workspace that the body or the rows name.
SomeViewer = Annotated[Principal, Role.VIEWER, Depends(_caller)]
SomeOperator = Annotated[Principal, Role.OPERATOR, Depends(_caller)]
SomeAdmin = Annotated[Principal, Role.ADMIN, Depends(_caller)]
RequestKey = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="The same request with the same key is started once; a key is kept for a day at least.",
        json_schema_extra={"pattern": r"^[!-~]([ -~]{0,253}[!-~])?$"},
    ),
]
WorkspaceId = Annotated[UUID, Path(alias="workspaceId", description="The workspace.")]


async def authorise(state: AppState, principal: Principal, workspace_id: UUID, role: Role) -> Scope:
    """The scope, or 403; or 404 if there is no such workspace, which is looked up only where it is not known."""
    try:
        scope = scope_for(principal, workspace_id, role)
    except ForeignWorkspaceError:
        if not await state.directory.has(workspace_id):
            raise _unknown(workspace_id) from None
        raise
    if principal.is_platform and not await state.directory.has(workspace_id):
        raise _unknown(workspace_id)
    return scope


def _unknown(workspace_id: UUID) -> WorkspaceNotFoundError:
    return WorkspaceNotFoundError(f"there is no workspace {workspace_id}; GET /api/v1/workspaces lists yours")


def _in_path(role: Role) -> Callable[..., Awaitable[Scope]]:
    async def authorised(request: ApiRequest, workspace_id: WorkspaceId) -> Scope:
        return await authorise(request.services, request.principal, workspace_id, role)

    return authorised


def _in_query(role: Role) -> Callable[..., Awaitable[Scope]]:
    async def authorised(
        request: ApiRequest,
        workspace_id: Annotated[
            UUID | None,
            Query(
                alias="workspaceId",
                description="The workspace; keys of a workspace need not name it, and those of the platform mean the one called `default`, if there is one.",
            ),
        ] = None,
    ) -> Scope:
        named = workspace_id or await _meant(request.services, request.principal)
        return await authorise(request.services, request.principal, named, role)

    return authorised


async def _meant(state: AppState, principal: Principal) -> UUID:
    """A 404 and no 422: whether a workspace has to be named depends on who asks, not on the request."""
    workspaces = principal.workspaces
    if len(workspaces) == 1:
        return workspaces[0]
    default = await state.directory.default() if principal.is_platform else None
    if default is not None:
        return default
    said = "this credential has no workspace of its own, or several; name one with ?workspaceId="
    problem = Problem(path="workspaceId", code="missing_field", message=said)
    raise WorkspaceNotFoundError(said, problems=[problem])


# The workspace of the address (`/workspaces/{workspaceId}/...`), where the caller has at least this role.
Viewer = Annotated[Scope, Role.VIEWER, Depends(_in_path(Role.VIEWER))]
Operator = Annotated[Scope, Role.OPERATOR, Depends(_in_path(Role.OPERATOR))]
Editor = Annotated[Scope, Role.EDITOR, Depends(_in_path(Role.EDITOR))]
Admin = Annotated[Scope, Role.ADMIN, Depends(_in_path(Role.ADMIN))]
# The workspace that `?workspaceId=` names, or the only one that the caller has.
ListViewer = Annotated[Scope, Role.VIEWER, Depends(_in_query(Role.VIEWER))]
