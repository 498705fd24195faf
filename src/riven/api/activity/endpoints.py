"""GET of the audit trail."""

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from riven.api.activity.schemas import ActivityBody
from riven.api.binding import Operation
from riven.api.deps import Platform, State, Viewer
from riven.api.pagination import Listed, Page, page_of
from riven.tenancy.activity import RecordedActivity, list_activity, list_platform_activity

router = APIRouter(prefix="/api/v1", route_class=Operation, tags=["activity"])


@router.get(
    "/workspaces/{workspaceId}/activity",
    summary="What was done in a workspace, and by whom",
    response_model=Listed[ActivityBody],
)
async def list_all(state: State, scope: Viewer, page: Annotated[Page, page_of("activity")]) -> Response:
    """Every change and every start, the newest first."""
    async with state.database.read() as connection:
        found = await list_activity(connection, scope, before=page.before, limit=page.wanted)
    return page.answer(found, lambda each: each.id, _shown)


@router.get(
    "/admin/activity",
    summary="What was done to the installation, and by whom",
    response_model=Listed[ActivityBody],
)
async def list_platform(
    state: State, platform: Platform, page: Annotated[Page, page_of("platform-activity")]
) -> Response:
    """Platform keys and tiers; what was done in a workspace is told there."""
    async with state.database.read() as connection:
        found = await list_platform_activity(connection, platform, before=page.before, limit=page.wanted)
    return page.answer(found, lambda each: each.id, _shown)


def _shown(entry: RecordedActivity) -> object:
    return ActivityBody(
        id=entry.id,
        at=entry.at,
        actor=entry.actor,
        action=entry.action,
        subject=entry.subject,
        details=entry.details,
    ).shown()
