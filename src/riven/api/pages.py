"""Pages for people: the API's description, and what each kind of problem means. No scripts, nothing from outside."""

from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final

from fastapi import APIRouter, Path
from starlette.responses import Response

from riven.api.binding import PublicOperation
from riven.api.deps import State
from riven.api.documentation import describe_page, problem_page, problems_page
from riven.api.openapi import with_tiers
from riven.api.problem_kinds import PROBLEM_KINDS
from riven.api.problems import ProblemError
from riven.api.requests import ApiRequest
from riven.api.responses import JsonResponse
from riven.api.state import AppState
from riven.api.workspaces.schemas import TIERS
from riven.db.errors import DatabaseError
from riven.tenancy.tiers import list_tiers

router = APIRouter(route_class=PublicOperation, include_in_schema=False)

_POLICY: Final = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}


@router.get("/openapi.json")
async def openapi(request: ApiRequest, state: State) -> Response:
    return JsonResponse(await _described(request, state))


@router.get("/docs")
async def docs(request: ApiRequest, state: State) -> Response:
    return _html(describe_page(await _described(request, state)))


@router.get("/docs/pages.css")
async def style() -> Response:
    headers = {**_POLICY, "cache-control": "max-age=3600"}
    return Response(_style(), headers=headers, media_type="text/css; charset=utf-8")


@router.get("/problems")
async def problems() -> Response:
    return _html(problems_page())


@router.get("/problems/{code}")
async def problem(code: Annotated[str, Path()]) -> Response:
    kind = PROBLEM_KINDS.get(code)
    if kind is None:
        raise ProblemError("not_found", "there is no such kind of problem; /problems lists all of them")
    return _html(problem_page(kind))


async def _described(request: ApiRequest, state: AppState) -> dict[str, Any]:
    """The description, with the tiers that this installation has; while the database is away, those of every one."""
    try:
        async with state.database.read() as connection:
            tiers = [tier.name for tier in await list_tiers(connection)]
    except DatabaseError:
        tiers = list(TIERS)
    return with_tiers(request.app.openapi(), tiers)


@cache
def _style() -> bytes:
    return files("riven.api").joinpath("pages.css").read_bytes()


def _html(page: str) -> Response:
    return Response(page, headers=_POLICY, media_type="text/html; charset=utf-8")
