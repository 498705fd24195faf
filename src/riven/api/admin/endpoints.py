"""GET of the invariants."""

from fastapi import APIRouter
from starlette.responses import Response

from riven.api.admin.schemas import InvariantsBody
from riven.api.binding import Operation
from riven.api.deps import Platform, State
from riven.api.responses import JsonResponse
from riven.views.invariants import check_invariants

router = APIRouter(prefix="/api/v1/admin", route_class=Operation, tags=["operations"])


@router.get("/invariants", summary="Check the invariants", response_model=InvariantsBody)
async def invariants(state: State, platform: Platform) -> Response:
    """What must hold at every moment, with the count of what violates it.

    It is zero, unless riven has a defect or somebody has changed rows by hand. By a platform key alone.
    """
    del platform  # whoever has one
    async with state.database.read() as connection:
        checked = await check_invariants(connection, state.settings.lease_ttl)
    listed = [
        {"name": each.name, "violations": each.violations, "description": each.description}
        for each in checked
    ]
    return JsonResponse({"invariants": listed})
