"""Executions by their ids: found, and the proof that the caller may do this with them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Final
from uuid import UUID

from fastapi import Depends, Path

from riven.api.deps import authorise
from riven.api.requests import ApiRequest
from riven.api.state import AppState
from riven.tenancy.errors import WorkspaceNotFoundError
from riven.tenancy.policies import Scope
from riven.tenancy.principals import Role
from riven.views.errors import ExecutionNotFoundError
from riven.views.executions import Head, find_execution

PATH: Final = "/api/v1/workflow/executions"

ExecutionId = Annotated[UUID, Path(alias="executionId", description="The execution.")]


@dataclass(frozen=True, slots=True)
class Reached:
    scope: Scope
    head: Head

    @property
    def id(self) -> UUID:
        return self.head.id


def _reached(role: Role) -> Callable[..., Awaitable[Reached]]:
    async def reached(request: ApiRequest, execution_id: ExecutionId) -> Reached:
        state: AppState = request.services
        async with state.database.read() as connection:
            head = await find_execution(connection, execution_id)
        try:
            return Reached(await authorise(state, request.principal, head.workspace_id, role), head)
        except WorkspaceNotFoundError as error:
            raise ExecutionNotFoundError(f"the workspace of execution {execution_id} is gone") from error

    return reached


# The execution of the address, whose workspace the caller may see, or in which he may steer what runs.
Seen = Annotated[Reached, Role.VIEWER, Depends(_reached(Role.VIEWER))]
Steered = Annotated[Reached, Role.OPERATOR, Depends(_reached(Role.OPERATOR))]
