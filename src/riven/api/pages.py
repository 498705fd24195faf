"""Pages for people: the API's description, and what each kind of problem means. No scripts, nothing from outside."""

from fastapi import APIRouter
from starlette.responses import Response

from riven.api.binding import PublicOperation
from riven.api.requests import ApiRequest
from riven.api.responses import JsonResponse

router = APIRouter(route_class=PublicOperation, include_in_schema=False)


@router.get("/openapi.json")
async def openapi(request: ApiRequest) -> Response:
    return JsonResponse(request.app.openapi())
