"""Starts: one, or a batch."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Body
from starlette.responses import Response

from riven.api.binding import Operation
from riven.api.deps import RequestKey, SomeOperator, State, authorise
from riven.api.executions.schemas import BatchRequest, StartedBatchBody, StartedBody, StartRequest
from riven.api.openapi import LOCATED, problems
from riven.api.requests import ApiRequest, decode_json
from riven.api.responses import JsonResponse
from riven.api.state import AppState
from riven.core.errors import Problem
from riven.intake.idempotency import IdempotencyKey, make_key
from riven.intake.wish import Accepted, Wish
from riven.tenancy.errors import ForbiddenError, NotFoundError
from riven.tenancy.policies import Scope
from riven.tenancy.principals import Principal, Role

PATH = "/api/v1/workflow/executions"
router = APIRouter(prefix=PATH, route_class=Operation, tags=["executions"])


@router.post(
    "/start",
    summary="Start a workflow",
    status_code=202,
    response_model=StartedBody,
    responses={**problems(404, 409), 202: LOCATED},
)
async def start_execution(
    state: State,
    caller: SomeOperator,
    request: ApiRequest,
    body: Annotated[StartRequest, Body()],
    key: RequestKey = None,
) -> Response:
    """It is durable and in line when this answers. `Location` is where to see it."""
    scope = await authorise(state, caller, body.workspace_id, Role.OPERATOR)
    raw = await request.body()
    wish = Wish(starts=((scope, body.wished()),), size=len(raw))
    if key is not None:
        wish.key = _key(scope, key, "start", raw)
    (accepted,) = await state.intake.accept(wish)
    return JsonResponse(_shown(accepted), 202, {"Location": f"{PATH}/{accepted.execution_id}"})


@router.post(
    "/start-batch",
    summary="Start up to 1,000 workflows",
    status_code=202,
    response_model=StartedBatchBody,
    responses=problems(404, 409),
)
async def start_batch(
    state: State,
    caller: SomeOperator,
    request: ApiRequest,
    body: Annotated[BatchRequest, Body()],
    key: RequestKey = None,
) -> Response:
    """All of them or none. The key, if there is one, is of the first one's workspace."""
    scopes = await _scopes(state, caller, [each.workspace_id for each in body.executions])
    starts = [(scopes[each.workspace_id], each.wished()) for each in body.executions]
    raw = await request.body()
    wish = Wish(starts=starts, batch=True, size=len(raw))
    if key is not None:
        wish.key = _key(starts[0][0], key, "start-batch", raw)
    accepted = await state.intake.accept(wish)
    return JsonResponse({"executions": [_shown(each) for each in accepted]}, 202)


async def _scopes(state: AppState, caller: Principal, workspaces: list[UUID]) -> dict[UUID, Scope]:
    """Of each workspace, asked once; a refusal says which start it is about."""
    scopes: dict[UUID, Scope] = {}
    for index, workspace_id in enumerate(workspaces):
        if workspace_id in scopes:
            continue
        try:
            scopes[workspace_id] = await authorise(state, caller, workspace_id, Role.OPERATOR)
        except (ForbiddenError, NotFoundError) as error:
            place = f"executions[{index}].workspaceId"
            problem = Problem(path=place, code=error.code, message=error.message)
            raise type(error)(f"{place}: {error.message}", problems=[problem]) from error
    return scopes


def _key(scope: Scope, key: str, operation: str, body: bytes) -> IdempotencyKey:
    return make_key(scope.workspace_id, key, operation, decode_json(body))


def _shown(accepted: Accepted) -> dict[str, object]:
    return {"executionId": accepted.execution_id, "queueId": accepted.queue_id, "status": "PENDING"}
