"""GETs of queue items."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from riven.api.binding import Operation
from riven.api.deps import Caller, ListViewer, State, authorise
from riven.api.fields import rfc3339
from riven.api.openapi import problems
from riven.api.pagination import Page, page_of
from riven.api.responses import JsonResponse
from riven.tenancy.principals import Role
from riven.views.queue_items import QueueItem, find_queue_item, list_dead_letters

QueueId = Annotated[UUID, Path(alias="queueId", description="The item's id.")]

router = APIRouter(prefix="/api/v1/workflow/queue", route_class=Operation, tags=["executions"])


@router.get("", summary="List dead letters", response_model=dict[str, Any])
async def list_dead_letters_of(
    state: State,
    scope: ListViewer,
    page: Annotated[Page, page_of("queue")],
    status: Annotated[Literal["FAILED"], Query(description="Of items that failed for good.")] = "FAILED",
) -> Response:
    """With their errors, the newest first. They leave after seven days."""
    del status  # there is no other list
    async with state.database.read() as connection:
        found = await list_dead_letters(connection, scope, before=page.before, limit=page.wanted)
    return page.answer(found, lambda each: each.id, _shown)


@router.get("/{queueId}", summary="See a queue item", response_model=dict[str, Any], responses=problems(404))
async def get_item(state: State, caller: Caller, queue_id: QueueId) -> Response:
    """It is there from the start until its run is over."""
    async with state.database.read() as connection:
        item = await find_queue_item(connection, queue_id)
    await authorise(state, caller, item.workspace_id, Role.VIEWER)
    return JsonResponse(_shown(item))


def _shown(item: QueueItem) -> dict[str, Any]:
    return {
        "queueId": str(item.id),
        "executionId": str(item.execution_id),
        "workspaceId": str(item.workspace_id),
        "status": item.status,
        "attempts": item.attempts,
        "priority": item.priority,
        "createdAt": rfc3339(item.created_at),
        "availableAt": None if item.available_at is None else rfc3339(item.available_at),
        "claimedAt": None if item.claimed_at is None else rfc3339(item.claimed_at),
        "lastError": item.last_error,
    }
