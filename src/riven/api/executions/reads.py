"""GETs of executions: lists, one, its nodes, why it waits, and its events as they happen."""

import re
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Final

import orjson
from fastapi import APIRouter, Header, Query
from pydantic import Field
from starlette.responses import Response

from riven.api.binding import Operation, identify
from riven.api.deps import ListViewer, State, authorise
from riven.api.executions.reach import PATH, Seen
from riven.api.executions.views import (
    NODE,
    ExecutionBody,
    ExecutionStatus,
    ExecutionSummaryBody,
    NodeBody,
    WaitingBody,
)
from riven.api.fields import Moment, Text
from riven.api.openapi import problems
from riven.api.pagination import Listed, Page, bad_cursor, page_of
from riven.api.requests import ApiRequest
from riven.api.responses import JsonResponse
from riven.api.sse import KEEP_ALIVE, MEDIA_TYPE, format_event, read_last_id, stream
from riven.core.errors import Problem
from riven.db.errors import DatabaseError
from riven.tenancy.errors import InvalidRequestError, RefusedError
from riven.tenancy.policies import Scope
from riven.tenancy.principals import Role
from riven.views.events import Event
from riven.views.executions import Filters, get_execution, list_executions
from riven.views.nodes import After, list_nodes
from riven.views.waiting import why_waiting

router = APIRouter(prefix=PATH, route_class=Operation, tags=["executions"])

_Labelled = Annotated[
    Text, Field(json_schema_extra={"pattern": r"^[^=\u0000]+=[^\u0000]*$", "examples": ["customer=acme"]})
]
_STEP: Final = r"[A-Za-z_]\w{0,127}(?:~[0-9]{1,9})?"
_CURSOR: Final = rf"^nodes\.((?:[a-t][0-9]{{1,9}}){{1,20}})\.({_STEP}(?:\.{_STEP}){{0,9}})$"
_MOST_LABELS: Final = 32
_STREAM: Final[dict[str, Any]] = {
    "description": "The events, as they happen. The stream ends with the execution.",
    "content": {
        MEDIA_TYPE: {
            "schema": {
                "title": "Event",
                "type": "object",
                "required": ["id", "event", "data"],
                "properties": {
                    "id": {"type": "string", "pattern": "^[0-9]+$", "description": "It grows."},
                    "event": {"type": "string", "enum": ["snapshot", "node", "execution"]},
                    "data": {"type": "string", "contentMediaType": "application/json"},
                },
            },
            "example": {"id": "17", "event": "node", "data": orjson.dumps(NODE).decode()},
        }
    },
}


@router.get("", summary="List executions", response_model=Listed[ExecutionSummaryBody])
async def list_all(
    state: State,
    scope: ListViewer,
    page: Annotated[Page, page_of("executions")],
    workflow: Annotated[Text | None, Query(description="The name of the workflow.")] = None,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Its version.")] = None,
    status: Annotated[list[ExecutionStatus] | None, Query(description="Any of these; repeatable.")] = None,
    label: Annotated[
        list[_Labelled] | None,
        Query(description="`key=value`; all of these; repeatable.", max_length=_MOST_LABELS),
    ] = None,
    correlation_id: Annotated[
        Text | None, Query(alias="correlationId", description="Your own id of what it is about.")
    ] = None,
    created_after: Annotated[
        Moment | None, Query(alias="createdAfter", description="Accepted after this time.")
    ] = None,
    created_before: Annotated[
        Moment | None, Query(alias="createdBefore", description="Accepted before this time.")
    ] = None,
) -> Response:
    """The newest first, without their inputs and outputs."""
    labels = _labels(label or [])
    if labels is None:
        return JsonResponse({"items": [], "nextCursor": None})
    filters = Filters(
        workflow=workflow,
        version=version,
        statuses=list(dict.fromkeys(status or ())),
        labels=labels,
        correlation_id=correlation_id,
        created_after=created_after,
        created_before=created_before,
    )
    async with state.database.read() as connection:
        found = await list_executions(connection, scope, filters, before=page.before, limit=page.wanted)
    return page.answer(found, lambda each: each.id, lambda each: each.shown)


@router.get(
    "/{executionId}", summary="See an execution", response_model=ExecutionBody, responses=problems(404)
)
async def get_one(state: State, seen: Seen) -> Response:
    """Its status and phase, times, input, output, error, and why it waits; its nodes are a list of their own."""
    async with state.database.read() as connection:
        found = await get_execution(connection, seen.scope, seen.id)
    return JsonResponse(found.shown)


@router.get(
    "/{executionId}/nodes",
    summary="See the nodes of an execution",
    response_model=Listed[NodeBody],
    responses=problems(404),
)
async def get_nodes(
    state: State,
    seen: Seen,
    cursor: Annotated[
        str | None,
        Query(
            description="`nextCursor` of the page before; none for the first page.",
            json_schema_extra={"pattern": _CURSOR},
        ),
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1_000, description="At most so many nodes.")] = 1_000,
) -> Response:
    """In document order, items and iterations by their index; also those that never started.

    A page ends early where inputs and outputs are large.
    """
    head, after = seen.head, _after(cursor)
    async with state.database.read() as connection:
        document = await state.documents.get(connection, head.version_id)
        page = await list_nodes(connection, head.id, head.status, document, after=after, limit=limit)
    return JsonResponse({"items": list(page.items), "nextCursor": _cursor(page.after)})


@router.get(
    "/{executionId}/waiting",
    summary="See why an execution waits",
    response_model=WaitingBody | None,
    responses=problems(404),
)
async def get_waiting(state: State, seen: Seen) -> Response:
    """The first reason that holds; null: it does not wait."""
    async with state.database.read() as connection:
        waiting = await why_waiting(connection, seen.id)
    return JsonResponse(None if waiting is None else waiting.shown())


@router.get(
    "/{executionId}/events",
    summary="Follow an execution",
    response_class=Response,
    responses={**problems(404), 200: _STREAM},
)
async def follow(
    state: State,
    seen: Seen,
    request: ApiRequest,
    last: Annotated[
        str | None,
        Header(alias="Last-Event-ID", description="The last event that was seen: only later ones are sent."),
    ] = None,
) -> Response:
    """Server-sent events: `snapshot` (the execution with its nodes), then `node` and `execution`, each as it is now.

    Ids grow, and hold for every later request. A snapshot of more than 10,000 nodes, or of very large ones, has a
    `nextCursor` for the list of nodes.
    """
    return stream(_lines(state.events.follow(seen.scope, seen.id, read_last_id(last)), request, seen.scope))


async def _lines(
    events: AsyncIterator[Event | None], request: ApiRequest, scope: Scope
) -> AsyncIterator[bytes]:
    """For as long as whoever asked may see it: keys are revoked and members leave while a run goes on for days."""
    async with aclosing(events):  # type: ignore[type-var]  # an async generator
        async for event in events:
            if not await _may_see(request, scope):
                return
            if event is None:
                yield KEEP_ALIVE
            elif event.name == "snapshot":
                yield format_event(event.id, event.name, event.data | {"nextCursor": _cursor(event.after)})
            else:
                yield format_event(event.id, event.name, event.data)


async def _may_see(request: ApiRequest, scope: Scope) -> bool:
    try:
        await authorise(request.services, await identify(request), scope.workspace_id, Role.VIEWER)
    except RefusedError:
        return False
    except DatabaseError:
        return True  # nobody is turned away because it cannot be asked
    return True


def _labels(written: list[str]) -> dict[str, str] | None:
    """None: one of them has two values, which no execution has."""
    labels: dict[str, str] = {}
    problems: list[Problem] = []
    contradicts = False
    for index, text in enumerate(written):
        name, equals, value = text.partition("=")
        if not equals or not name:
            said = "write a label as key=value, such as label=customer=acme"
            problems.append(Problem(path=f"label[{index}]", code="invalid_value", message=said))
        contradicts = contradicts or labels.setdefault(name, value) != value
    if problems:
        raise InvalidRequestError(problems[0].message, problems=problems)
    return None if contradicts else labels


def _cursor(after: After | None) -> str | None:
    """As characters that no address needs to quote: `nodes.a2a3a1.each~3.send`."""
    if after is None:
        return None
    return f"nodes.{after.place}.{after.path.replace('[', '~').replace(']', '')}"


def _after(cursor: str | None) -> After | None:
    if cursor is None:
        return None
    found = re.fullmatch(_CURSOR, cursor, re.ASCII)
    if found is None:
        raise bad_cursor()
    return After(found[1], re.sub(r"~(\d+)", r"[\1]", found[2]))
