"""GETs of executions: one, lists, its nodes, why it waits, and its events as they happen."""

from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any, Final
from uuid import UUID

import orjson
from fastapi import APIRouter, Header, Path, Query
from starlette.responses import Response, StreamingResponse

from riven.api.binding import Operation
from riven.api.deps import Caller, ListViewer, State, authorise
from riven.api.openapi import problems
from riven.api.pagination import Page, decode_cursor, encode_cursor, page_of
from riven.api.problems import ProblemError
from riven.api.responses import JsonResponse
from riven.api.state import AppState
from riven.tenancy.errors import ForbiddenError, NotFoundError, field_error
from riven.tenancy.policies import Scope
from riven.tenancy.principals import Principal, Role
from riven.views.events import Event
from riven.views.executions import STATUSES, Filters, Head, find_execution, get_execution, list_executions
from riven.views.nodes import After, list_nodes
from riven.wire.document import Json

router = APIRouter(prefix="/api/v1/workflow/executions", route_class=Operation, tags=["executions"])

ExecutionId = Annotated[UUID, Path(alias="executionId", description="The execution's id.")]
_NODES: Final = "nodes"
_MOST_LABELS: Final = 32
NodeLimit = Annotated[int, Query(ge=1, le=1_000, description="At most so many nodes.")]


async def reach(state: AppState, caller: Principal, execution_id: UUID, role: Role) -> tuple[Scope, Head]:
    """The execution, and the proof that the caller may do this with it."""
    async with state.database.read() as connection:
        head = await find_execution(connection, execution_id)
    try:
        return await authorise(state, caller, head.workspace_id, role), head
    except NotFoundError as error:  # its workspace is gone: nobody's any more
        raise ForbiddenError("the execution belongs to no workspace of yours") from error


@router.get("", summary="List executions", response_model=dict[str, Any])
async def list_all(
    state: State,
    scope: ListViewer,
    page: Annotated[Page, page_of("executions")],
    workflow: Annotated[str | None, Query(description="The name of the workflow.")] = None,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None,
    status: Annotated[list[str] | None, Query(description="Any of these.")] = None,
    label: Annotated[list[str] | None, Query(description="`key=value`; all of these.")] = None,
    correlation_id: Annotated[str | None, Query(alias="correlationId")] = None,
    created_after: Annotated[datetime | None, Query(alias="createdAfter")] = None,
    created_before: Annotated[datetime | None, Query(alias="createdBefore")] = None,
) -> Response:
    """The newest first, without inputs and outputs."""
    filters = Filters(
        workflow=workflow,
        version=version,
        statuses=_statuses(status or []),
        labels=_labels(label or []),
        correlation_id=correlation_id,
        created_after=created_after,
        created_before=created_before,
    )
    async with state.database.read() as connection:
        found = await list_executions(connection, scope, filters, before=page.before, limit=page.wanted)
    return page.answer(found, lambda each: each.id, lambda each: each.shown)


@router.get(
    "/{executionId}", summary="See an execution", response_model=dict[str, Any], responses=problems(404)
)
async def get_one(state: State, caller: Caller, execution_id: ExecutionId) -> Response:
    """Its status and phase, times, input, output, error, and why it waits."""
    scope, head = await reach(state, caller, execution_id, Role.VIEWER)
    async with state.database.read() as connection:
        found = await get_execution(connection, scope, head.id)
    return JsonResponse(found.shown)


@router.get(
    "/{executionId}/nodes", summary="See its nodes", response_model=dict[str, Any], responses=problems(404)
)
async def get_nodes(
    state: State,
    caller: Caller,
    execution_id: ExecutionId,
    limit: NodeLimit = 1_000,
    cursor: Annotated[str | None, Query(description="`nextCursor` of the page before.")] = None,
) -> Response:
    """In document order, items of loops by their index; nodes that never started included."""
    _, head = await reach(state, caller, execution_id, Role.VIEWER)
    after = _after(cursor)
    async with state.database.read() as connection:
        document = await state.documents.get(connection, head.version_id)
        page = await list_nodes(connection, head.id, head.status, document, after=after, limit=limit)
    following = None if page.after is None else encode_cursor(_NODES, page.after.place, page.after.path)
    return JsonResponse({"items": list(page.items), "nextCursor": following})


@router.get("/{executionId}/waiting", summary="Why it waits", response_model=Any, responses=problems(404))
async def get_waiting(state: State, caller: Caller, execution_id: ExecutionId) -> Response:
    """Null when it does not wait."""
    scope, head = await reach(state, caller, execution_id, Role.VIEWER)
    async with state.database.read() as connection:
        found = await get_execution(connection, scope, head.id)
    return JsonResponse(found.shown["waiting"])


@router.get("/{executionId}/events", summary="Follow it", response_model=Any, responses=problems(404))
async def follow(
    state: State,
    caller: Caller,
    execution_id: ExecutionId,
    last: Annotated[str | None, Header(alias="Last-Event-ID")] = None,
) -> Response:
    """Server-sent events: a snapshot, then every change, until the execution has ended."""
    scope, head = await reach(state, caller, execution_id, Role.VIEWER)
    seen = int(last) if last is not None and last.isascii() and last.isdigit() and len(last) < 19 else None
    events = state.events.follow(scope, head.id, seen)
    return StreamingResponse(
        _lines(events), media_type="text/event-stream", headers={"Cache-Control": "no-store"}
    )


async def _lines(events: AsyncIterator[Event | None]) -> AsyncIterator[bytes]:
    async for event in events:
        if event is None:
            yield b": still here\n\n"
        else:
            yield b"id: %d\nevent: %s\ndata: %s\n\n" % (
                event.id,
                event.name.encode(),
                orjson.dumps(event.data),
            )


def _statuses(named: list[str]) -> list[str]:
    for status in named:
        if status not in STATUSES:
            raise field_error("status", "invalid_value", f"`status` is one of {', '.join(STATUSES)}")
    return named


def _labels(written: list[str]) -> dict[str, str]:
    labels: dict[str, str] = {}
    for text in written[:_MOST_LABELS]:
        name, equals, value = text.partition("=")
        if not equals or not name or "\x00" in text:
            raise field_error("label", "invalid_value", "write a label as key=value")
        labels[name] = value
    return labels


def _after(cursor: str | None) -> After | None:
    if cursor is None:
        return None
    values: list[Json] = decode_cursor(_NODES, cursor)
    if len(values) != 2 or not isinstance(values[1], str):
        raise ProblemError("bad_cursor", "the cursor is none of this list's; send `nextCursor` as it came")
    return After(values[0], values[1])
