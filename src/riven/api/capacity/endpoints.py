"""GET of capacity."""

from fastapi import APIRouter
from starlette.responses import Response

from riven.api.binding import Operation
from riven.api.capacity.schemas import CapacityBody
from riven.api.deps import State, Viewer
from riven.api.responses import JsonResponse
from riven.views.capacity import get_capacity

router = APIRouter(
    prefix="/api/v1/workspaces/{workspaceId}/capacity", route_class=Operation, tags=["capacity"]
)


@router.get("", summary="How full a workspace is", response_model=CapacityBody)
async def get(state: State, scope: Viewer) -> Response:
    """The limits in force, what uses them, and the line in front."""
    async with state.database.read() as connection:
        found = await get_capacity(connection, scope)
    body = CapacityBody(
        limit=found.limit,
        in_use=found.in_use,
        waiting=found.waiting,
        oldest_waiting_since=found.oldest_waiting_since,
        queued_limit=found.queued_limit,
    )
    return JsonResponse(body.shown())
