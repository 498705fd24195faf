"""Whether the process lives, whether it can do its work, and what it counts. No key needed."""

from fastapi import APIRouter
from starlette.responses import PlainTextResponse, Response

from riven.api.binding import PublicOperation
from riven.api.deps import State
from riven.api.fields import ResponseBody
from riven.api.openapi import problems
from riven.api.problems import ProblemError
from riven.api.responses import JsonResponse
from riven.api.state import AppState
from riven.core.errors import Problem
from riven.db.errors import DatabaseError

router = APIRouter(route_class=PublicOperation, tags=["operations"])


class Health(ResponseBody):
    status: str
    """`ok`."""


class Readiness(ResponseBody):
    status: str
    checks: dict[str, str]


@router.get("/healthz", summary="The process lives", response_model=Health)
async def healthz() -> Response:
    return JsonResponse({"status": "ok"})


@router.get(
    "/readyz", summary="The process can do its work", response_model=Readiness, responses=problems(503)
)
async def readyz(state: State) -> Response:
    """The database is reachable, its schema is that of this build, and the engine is there where it is needed."""
    found = {"database": await _database(state)}
    found["schema"] = await _schema(state) if found["database"] is None else "not known: no database"
    for name, check in state.checks.items():
        found[name] = await check()
    missing = {name: wrong for name, wrong in found.items() if wrong is not None}
    if missing:
        said = "; ".join(f"{name}: {wrong}" for name, wrong in missing.items())
        errors = [Problem(path=name, code="not_ready", message=wrong) for name, wrong in missing.items()]
        raise ProblemError("unavailable", f"not ready: {said}", problems=errors)
    return JsonResponse({"status": "ready", "checks": dict.fromkeys(found, "ok")})


@router.get("/metrics", summary="Metrics, as Prometheus reads them", response_class=PlainTextResponse)
async def metrics(state: State) -> Response:
    if state.expose_metrics is None:
        return Response(b"", media_type="text/plain; version=0.0.4")
    exposition = await state.expose_metrics()
    return Response(exposition.body, headers={"content-type": exposition.media_type})


async def _database(state: AppState) -> str | None:
    try:
        async with state.database.read() as connection:
            await connection.fetch_value("SELECT 1")
    except DatabaseError as error:
        return f"cannot be reached ({type(error).__name__})"
    return None


async def _schema(state: AppState) -> str | None:
    try:
        current = await state.schema_is_current()
    except DatabaseError as error:
        return f"cannot be read ({type(error).__name__})"
    return None if current else "is not that of this build; run `riven migrate`"
