"""GET and PUT of tiers."""

from typing import Annotated

from fastapi import APIRouter, Body, Path
from starlette.responses import Response

from riven.api.binding import Operation
from riven.api.deps import Caller, Platform, State
from riven.api.fields import ResponseBody
from riven.api.responses import JsonResponse
from riven.api.tiers.schemas import TierBody, TierLimits
from riven.tenancy.tiers import Tier, list_tiers, save_tier

router = APIRouter(prefix="/api/v1/workspace-tiers", route_class=Operation, tags=["tiers"])

TierName = Annotated[str, Path(alias="tier", pattern=r"^[A-Z][A-Z0-9_]{0,62}$", description="Such as `PRO`.")]


class TiersBody(ResponseBody):
    items: list[TierBody]
    next_cursor: None
    """There are never so many that they fill a page."""


@router.get("", summary="List the tiers", response_model=TiersBody)
async def list_all(state: State, caller: Caller) -> Response:
    """Plans with their limits, the smallest first."""
    del caller  # anybody who is somebody
    async with state.database.read() as connection:
        tiers = await list_tiers(connection)
    return JsonResponse({"items": [_shown(each) for each in tiers], "nextCursor": None})


@router.put("/{tier}", summary="Make or change a tier", response_model=TierBody)
async def save(
    state: State, platform: Platform, name: TierName, body: Annotated[TierLimits, Body()]
) -> Response:
    """By a platform key alone. Holds at once for every workspace of the tier that sets no limit of its own."""
    tier = Tier(name, body.running, body.queued)
    async with state.database.transaction() as connection:
        workspaces = await save_tier(connection, platform, tier)
    state.announcer.announce(workspaces)
    return JsonResponse(_shown(tier))


def _shown(tier: Tier) -> object:
    return {"name": tier.name, "limits": {"running": tier.running, "queued": tier.queued}}
