"""GETs of items in line."""

from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from riven.api.binding import Operation
from riven.api.deps import ListViewer, SomeViewer, State, authorise
from riven.api.openapi import problems
from riven.api.pagination import Listed, Page, page_of
from riven.api.queue.schemas import QueueItemBody
from riven.api.responses import JsonResponse
from riven.tenancy.errors import WorkspaceNotFoundError
from riven.tenancy.principals import Role
from riven.views.errors import QueueItemNotFoundError
from riven.views.queue_items import QueueItem, find_queue_item, list_dead_letters

router = APIRouter(prefix="/api/v1/workflow/queue", route_class=Operation, tags=["queue"])


@router.get("", summary="List dead letters", response_model=Listed[QueueItemBody])
async def list_failed(
    state: State,
    scope: ListViewer,
    page: Annotated[Page, page_of("queue")],
    status: Annotated[
        Literal["FAILED"], Query(description="Of items that left the line for good.")
    ] = "FAILED",
) -> Response:
    """Items whose executions have failed, with the reason, newest first. They leave after 7 days."""
    del status  # there is no other list: what is in line is seen by its executions
    async with state.database.read() as connection:
        found = await list_dead_letters(connection, scope, before=page.before, limit=page.wanted)
    return page.answer(found, lambda each: each.id, _shown)


@router.get("/{queueId}", summary="See a queue item", response_model=QueueItemBody, responses=problems(404))
async def get_one(
    state: State,
    caller: SomeViewer,
    queue_id: Annotated[UUID, Path(alias="queueId", description="From the answer to the start.")],
) -> Response:
    """An execution's place in line; 404 once its run is over."""
    async with state.database.read() as connection:
        item = await find_queue_item(connection, queue_id)
    try:
        await authorise(state, caller, item.workspace_id, Role.VIEWER)
    except WorkspaceNotFoundError as error:
        raise QueueItemNotFoundError(f"the workspace of queue item {queue_id} is gone") from error
    return JsonResponse(_shown(item))


def _shown(item: QueueItem) -> dict[str, Any]:
    return QueueItemBody(
        queue_id=item.id,
        execution_id=item.execution_id,
        workspace_id=item.workspace_id,
        status=item.status,
        attempts=item.attempts,
        priority=item.priority,
        created_at=item.created_at,
        available_at=item.available_at,
        claimed_at=item.claimed_at,
        last_error=item.last_error,
    ).shown()
