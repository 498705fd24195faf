"""The application: every endpoint, its description, and the gate that each request comes through."""

from typing import Any, Final

from fastapi import APIRouter, FastAPI
from starlette.types import ASGIApp

from riven.api.activity import endpoints as activity
from riven.api.admin import endpoints as admin
from riven.api.capacity import endpoints as capacity
from riven.api.executions import endpoints as executions
from riven.api.executions import reads, steering
from riven.api.gate import Gate
from riven.api.health import router as health
from riven.api.keys import endpoints as keys
from riven.api.members import endpoints as members
from riven.api.openapi import describe
from riven.api.pages import router as pages
from riven.api.queue import endpoints as queue
from riven.api.routing import RouteTable
from riven.api.state import AppState
from riven.api.tiers import endpoints as tiers
from riven.api.tooling import endpoints as tooling
from riven.api.workflows import endpoints as workflows
from riven.api.workspaces import endpoints as workspaces

ROUTERS: Final[tuple[APIRouter, ...]] = (
    workspaces.router,
    keys.router,
    members.router,
    activity.router,
    capacity.router,
    tiers.router,
    workflows.router,
    tooling.router,
    executions.router,
    reads.router,
    steering.router,
    queue.router,
    admin.router,
    health,
    pages,
)
"""Addresses are tried in this order."""


def create_app(state: AppState) -> FastAPI:
    """`state.start()` and `state.close()` are called by whoever serves the application."""
    return _Api(state)


class _Api(FastAPI):
    """FastAPI describes; riven serves: routes as they are declared, behind one gate instead of a stack of layers."""

    def __init__(self, state: AppState) -> None:
        silent: Any = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False}
        super().__init__(
            title="riven",
            docs_url=None,
            redoc_url=None,
            openapi_url=None,
            redirect_slashes=False,
            telemetry=silent,
        )
        self._riven = state
        for router in ROUTERS:
            self.router.routes.extend(router.routes)

    def build_middleware_stack(self) -> ASGIApp:
        return Gate(self.router, self._riven, RouteTable(self.routes))

    def openapi(self) -> dict[str, Any]:
        if self.openapi_schema is None:
            self.openapi_schema = describe(self.routes)
        return self.openapi_schema
