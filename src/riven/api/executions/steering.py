"""POSTs that steer a run: cancel, pause, resume, retry, signals and approvals."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Body, Path
from pydantic import ConfigDict
from starlette.responses import Response

from riven.api.binding import Operation
from riven.api.deps import Caller, State
from riven.api.executions.reads import ExecutionId, reach
from riven.api.fields import RequestBody
from riven.api.openapi import problems
from riven.api.requests import ApiRequest, decode_json
from riven.api.responses import JsonResponse
from riven.api.state import AppState
from riven.intake.control import Answer
from riven.tenancy.policies import Scope
from riven.tenancy.principals import Principal, Role

router = APIRouter(prefix="/api/v1/workflow/executions", route_class=Operation, tags=["executions"])


class DecisionRequest(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"decision": "approved", "comment": "they are a good customer"}]}
    )

    decision: Literal["approved", "rejected"]
    comment: str | None = None
    data: Any = None


@router.post("/{executionId}/cancel", summary="Cancel it", status_code=202, response_model=dict[str, Any],
             responses=problems(404, 409))  # fmt: skip
async def cancel(state: State, caller: Caller, execution_id: ExecutionId) -> Response:
    """What runs is asked to end, what waits ends at once. One that is canceled already answers 200."""
    return await _steer(state, caller, execution_id, state.controls.cancel)


@router.post("/{executionId}/pause", summary="Pause it", status_code=202, response_model=dict[str, Any],
             responses=problems(404, 409))  # fmt: skip
async def pause(state: State, caller: Caller, execution_id: ExecutionId) -> Response:
    """Nothing new starts; what runs finishes, then the execution is PAUSED and its slot is free."""
    return await _steer(state, caller, execution_id, state.controls.pause)


@router.post("/{executionId}/resume", summary="Resume it", status_code=202, response_model=dict[str, Any],
             responses=problems(404, 409))  # fmt: skip
async def resume(state: State, caller: Caller, execution_id: ExecutionId) -> Response:
    """It comes in line again, at the time that it had."""
    return await _steer(state, caller, execution_id, state.controls.resume)


@router.post("/{executionId}/retry", summary="Go on from what failed", status_code=202, response_model=dict[str, Any],
             responses=problems(404, 409))  # fmt: skip
async def retry(state: State, caller: Caller, execution_id: ExecutionId) -> Response:
    """What completed is kept; what failed, was canceled or skipped is decided anew."""
    return await _steer(state, caller, execution_id, state.controls.retry)


@router.post("/{executionId}/signal/{name}", summary="Send it a signal", status_code=202,
             response_model=dict[str, Any], responses=problems(404, 409))  # fmt: skip
async def signal(
    state: State,
    caller: Caller,
    request: ApiRequest,
    execution_id: ExecutionId,
    name: Annotated[str, Path(description="The signal's name.")],
) -> Response:
    """The body is the payload. A signal that no node waits for yet is kept for the one that will."""
    raw = await request.body()
    payload = decode_json(raw) if raw.strip() else None
    scope, head = await reach(state, caller, execution_id, Role.OPERATOR)
    return _answer(await state.controls.signal(scope, head.id, name, payload))


@router.post("/{executionId}/approvals/{path}", summary="Decide an approval", status_code=202,
             response_model=dict[str, Any], responses=problems(404, 409))  # fmt: skip
async def decide(
    state: State,
    caller: Caller,
    execution_id: ExecutionId,
    path: Annotated[str, Path(description="The path of the approval's node.")],
    body: Annotated[DecisionRequest, Body()],
) -> Response:
    """`path` is that of the node. A decided approval answers 409."""
    scope, head = await reach(state, caller, execution_id, Role.OPERATOR)
    answer = await state.controls.decide(
        scope, head.id, path, body.decision, comment=body.comment, data=body.data
    )
    return _answer(answer)


async def _steer(
    state: AppState, caller: Principal, execution_id: UUID, move: Callable[[Scope, UUID], Awaitable[Answer]]
) -> Response:
    scope, head = await reach(state, caller, execution_id, Role.OPERATOR)
    return _answer(await move(scope, head.id))


def _answer(answer: Answer) -> Response:
    shown = {"executionId": str(answer.execution_id), "status": answer.status.value}
    return JsonResponse(shown, 200 if answer.already else 202)
