"""POSTs that steer a run: cancel, pause, resume, signals, approvals, retry and rerun."""

from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Body, Path
from pydantic import ConfigDict, Field
from starlette.responses import Response

from riven.api.binding import Operation
from riven.api.deps import RequestKey, State
from riven.api.executions.reach import PATH, Steered
from riven.api.executions.schemas import StartedBody
from riven.api.executions.views import ExecutionStatus
from riven.api.fields import Flag, RequestBody, ResponseBody, Text, Whole
from riven.api.openapi import LOCATED, problems
from riven.api.requests import ApiRequest, decode_json
from riven.api.responses import JsonResponse
from riven.intake.control import Answer
from riven.intake.idempotency import make_key
from riven.intake.rerun import RerunWish

router = APIRouter(prefix=PATH, route_class=Operation, tags=["executions"])

_PAYLOAD: Final[dict[str, Any]] = {
    "requestBody": {
        "required": False,
        "description": "The payload, any JSON; none is null.",
        "content": {
            "application/json": {
                "schema": {"$ref": "#/components/schemas/Json"},
                "examples": {"payment": {"value": {"paid": True, "amount": 129.9}}},
            }
        },
    }
}


class SteeredBody(ResponseBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"executionId": "0198c0df-12ab-7c3d-8e4f-5a6b7c8d9e0f", "status": "RUNNING"}]
        }
    )

    execution_id: UUID
    status: ExecutionStatus
    """As it is now; whoever drives the execution may still be about to do what was asked."""


class DecisionRequest(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"decision": "approved", "comment": "a good customer", "data": {"amount": 100}}]
        }
    )

    decision: Literal["approved", "rejected"]
    comment: Annotated[Annotated[Text, Field(max_length=10_000)] | None, Field()] = None
    data: Annotated[Any, Field(json_schema_extra={"allOf": [{"$ref": "#/components/schemas/Json"}]})] = None
    """What the approval's form asks for."""


class RerunRequest(RequestBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"fromNode": "pay", "input": {"amount": 100}, "dryRun": True}]}
    )

    from_node: Annotated[
        Text | None, Field(description="What comes before this node is kept; none: nothing is.")
    ] = None
    input: Annotated[
        dict[str, Any] | None,
        Field(description="What is other in the input: a JSON Merge Patch, null takes a field away."),
    ] = None
    version: Annotated[
        Annotated[Whole, Field(ge=1, le=2**31 - 1)] | None,
        Field(description="The one that ran, unless it is given."),
    ] = None
    dry_run: Annotated[
        Flag, Field(description="Start nothing; tell what would run and what would be kept.")
    ] = False


_AS_IT_WAS: Final = RerunRequest()


class RerunPlanBody(ResponseBody):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"willRun": ["pay", "tell"], "kept": ["order", "large"]}]}
    )

    will_run: list[str]
    """Nodes of the outermost scope that are decided anew, in document order."""
    kept: list[str]
    """Nodes whose outcome is taken over."""


_BOTH: Final[dict[int | str, dict[str, Any]]] = {
    **problems(404, 409),
    200: {"model": SteeredBody, "description": "It was so already."},
}
_PLANNED: Final[dict[int | str, dict[str, Any]]] = {
    **problems(404, 409),
    200: {"model": RerunPlanBody, "description": "What would run, with `dryRun`."},
    202: LOCATED,
}


@router.post(
    "/{executionId}/cancel", summary="Cancel an execution", status_code=202, response_model=SteeredBody, responses=_BOTH
)  # fmt: skip
async def cancel(state: State, found: Steered) -> Response:
    """What waits ends at once; what runs is asked to end, and ends soon."""
    return _answer(await state.controls.cancel(found.scope, found.id))


@router.post(
    "/{executionId}/pause", summary="Pause an execution", status_code=202, response_model=SteeredBody, responses=_BOTH
)  # fmt: skip
async def pause(state: State, found: Steered) -> Response:
    """Nothing more is started; when what runs has ended it is PAUSED, and its slot is free."""
    return _answer(await state.controls.pause(found.scope, found.id))


@router.post(
    "/{executionId}/resume", summary="Resume an execution", status_code=202, response_model=SteeredBody, responses=_BOTH
)  # fmt: skip
async def resume(state: State, found: Steered) -> Response:
    """In line again, due at the time that it had."""
    return _answer(await state.controls.resume(found.scope, found.id))


@router.post(
    "/{executionId}/retry",
    summary="Retry an execution",
    status_code=202,
    response_model=SteeredBody,
    responses=problems(404, 409),
)
async def retry(state: State, found: Steered) -> Response:
    """It goes on from what failed or was canceled, and keeps what completed."""
    return _answer(await state.controls.retry(found.scope, found.id))


@router.post(
    "/{executionId}/signal/{name}",
    summary="Send a signal",
    status_code=202,
    response_model=SteeredBody,
    responses=problems(404, 409),
    openapi_extra=_PAYLOAD,
)
async def signal(
    state: State,
    found: Steered,
    request: ApiRequest,
    name: Annotated[
        str,
        Path(
            description="The signal's name.",
            json_schema_extra={"pattern": "^[!-~]{1,255}$", "examples": ["paid"]},
        ),
    ],
) -> Response:
    """For the node that waits for it longest; without one it is kept for the next."""
    payload = await request.json() if (await request.body()).strip() else None
    return _answer(await state.controls.signal(found.scope, found.id, name, payload))


@router.post(
    "/{executionId}/approvals/{path}",
    summary="Decide an approval",
    status_code=202,
    response_model=SteeredBody,
    responses=problems(404, 409),
)
async def decide(
    state: State,
    found: Steered,
    path: Annotated[
        str,
        Path(description="The path of the approval's node.", json_schema_extra={"examples": ["each[3].ask"]}),
    ],
    body: Annotated[DecisionRequest, Body()],
) -> Response:
    """It goes on by `approved` or `rejected`. One that is decided already is 409."""
    answer = await state.controls.decide(
        found.scope, found.id, path, body.decision, comment=body.comment, data=body.data
    )
    return _answer(answer)


@router.post(
    "/{executionId}/rerun",
    summary="Run an execution again",
    status_code=202,
    response_model=StartedBody,
    responses=_PLANNED,
)
async def rerun(
    state: State,
    found: Steered,
    request: ApiRequest,
    body: Annotated[RerunRequest, Body()] = _AS_IT_WAS,
    key: RequestKey = None,
) -> Response:
    """A new execution of the same workflow, from the beginning or from a node, with other input or another version."""
    wish = RerunWish(from_node=body.from_node, patch=body.input, version=body.version)
    made = None
    if key is not None:
        raw = await request.body()
        asked = decode_json(raw) if raw.strip() else {}
        made = make_key(found.scope.workspace_id, key, f"rerun {found.id}", asked)
    if body.dry_run:
        plan = await state.reruns.plan(found.scope, found.id, wish)
        return JsonResponse({"willRun": plan.will_run, "kept": plan.kept})
    accepted = await state.reruns.rerun(found.scope, found.id, wish, made)
    shown = {"executionId": accepted.execution_id, "queueId": accepted.queue_id, "status": "PENDING"}
    return JsonResponse(shown, 202, {"Location": f"{PATH}/{accepted.execution_id}"})


def _answer(answer: Answer) -> Response:
    shown = {"executionId": str(answer.execution_id), "status": answer.status.value}
    return JsonResponse(shown, 200 if answer.already else 202)
