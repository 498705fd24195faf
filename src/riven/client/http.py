"""A typed client of the HTTP API.

    async with Client("http://127.0.0.1:8642", key) as riven:
        started = await riven.start(workspace_id, "refund", {"orderId": "o-1"})
        execution = await riven.wait(started.execution_id)

Objects are the API's own JSON. Every start carries an Idempotency-Key, one of its own unless the caller gives one, so
that a start whose answer was lost is sent again and still happens once. Reads, and starts, are sent again when nobody
answers or the server asks for patience (429, 503); everything else is sent once.
"""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias
from urllib.parse import quote

import httpx

from riven.client.errors import FieldError, RefusedError, ServerAwayError
from riven.wire.document import Json

Object: TypeAlias = dict[str, Any]

TERMINAL = frozenset({"COMPLETED", "FAILED", "CANCELED"})
_TRIES = 5
_FIRST_DELAY = 0.2
_LONGEST_DELAY = 5.0
_QUIET = 45.0
"""Seconds without a word, keep-alives included, after which a stream of events counts as broken."""


@dataclass(frozen=True, slots=True)
class Started:
    execution_id: str
    queue_id: str
    status: str


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """`snapshot`, `node` or `execution`, and the object that changed."""

    kind: str
    data: Object
    id: str | None = None


class Client:
    """Belongs to one event loop. Raises RefusedError for what the server refuses, ServerAwayError when nobody answers."""

    def __init__(self, url: str, api_key: str, *, timeout: float = 30.0) -> None:
        self._http = httpx.AsyncClient(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {api_key}"},
            timeout=timeout,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    # ---- executions --------------------------------------------------------------------------------------------------

    async def start(
        self,
        workspace_id: str,
        workflow: str,
        input: Json = None,
        *,
        version: int | None = None,
        priority: int | None = None,
        scheduled_for: str | None = None,
        correlation_id: str | None = None,
        labels: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Started:
        """Returns when the start is durable. `scheduled_for` is RFC 3339."""
        body = _given(
            workspaceId=workspace_id,
            workflowName=workflow,
            input=input,
            version=version,
            priority=priority,
            scheduledFor=scheduled_for,
            correlationId=correlation_id,
            labels=None if labels is None else dict(labels),
        )
        answer = await self._start("/workflow/executions/start", body, idempotency_key)
        return _started(answer)

    async def start_batch(
        self, executions: Sequence[Object], *, idempotency_key: str | None = None
    ) -> list[Started]:
        """All or none of up to 1,000 starts, each as the API's body of a start."""
        body = {"executions": list(executions)}
        answer = await self._start("/workflow/executions/start-batch", body, idempotency_key)
        return [_started(each) for each in answer["executions"]]

    async def execution(self, execution_id: str) -> Object:
        return await self._read(f"/workflow/executions/{execution_id}")

    async def executions(self, **filters: Json) -> Object:
        """A page: `{items, nextCursor}`. Filters as the API names them; lists are repeated."""
        return await self._read("/workflow/executions", filters)

    async def nodes(self, execution_id: str) -> list[Object]:
        """All nodes, in document order."""
        path, found = f"/workflow/executions/{execution_id}/nodes", []
        page = await self._read(path)
        found += page["items"]
        while page["nextCursor"] is not None:
            page = await self._read(path, {"cursor": page["nextCursor"]})
            found += page["items"]
        return found

    async def waiting(self, execution_id: str) -> Object | None:
        answer: Object | None = await self._read(f"/workflow/executions/{execution_id}/waiting")
        return answer

    async def cancel(self, execution_id: str) -> Object:
        return await self._send("POST", f"/workflow/executions/{execution_id}/cancel")

    async def pause(self, execution_id: str) -> Object:
        return await self._send("POST", f"/workflow/executions/{execution_id}/pause")

    async def resume(self, execution_id: str) -> Object:
        return await self._send("POST", f"/workflow/executions/{execution_id}/resume")

    async def signal(self, execution_id: str, name: str, payload: Json = None) -> Object:
        return await self._send("POST", f"/workflow/executions/{execution_id}/signal/{_part(name)}", payload)

    async def approve(
        self, execution_id: str, path: str, decision: str, *, comment: str | None = None, data: Json = None
    ) -> Object:
        body = _given(decision=decision, comment=comment, data=data)
        return await self._send("POST", f"/workflow/executions/{execution_id}/approvals/{_part(path)}", body)

    async def retry(self, execution_id: str) -> Object:
        """Go on from what failed, keeping what completed."""
        return await self._send("POST", f"/workflow/executions/{execution_id}/retry")

    async def rerun(
        self,
        execution_id: str,
        *,
        from_node: str | None = None,
        input: Json = None,
        version: int | None = None,
        dry_run: bool = False,
    ) -> Object:
        """A new execution like this one; with `dry_run` only which nodes would run and which are kept."""
        body = _given(fromNode=from_node, input=input, version=version, dryRun=dry_run or None)
        return await self._start(f"/workflow/executions/{execution_id}/rerun", body, None)

    async def events(
        self, execution_id: str, *, last_event_id: str | None = None
    ) -> AsyncIterator[ServerEvent]:
        """Snapshot, then every change, to the execution's end. Goes on after a lost connection without a gap."""
        failures = 0
        while True:
            try:
                async with self._stream(execution_id, last_event_id) as lines:
                    async for event in _parsed(lines):
                        failures, last_event_id = 0, event.id or last_event_id
                        yield event
                        if event.kind != "node" and event.data.get("status") in TERMINAL:
                            return
            except ServerAwayError:
                failures += 1
                if failures >= _TRIES:
                    raise
                await asyncio.sleep(_delay(failures))

    @asynccontextmanager
    async def _stream(
        self, execution_id: str, last_event_id: str | None
    ) -> AsyncIterator[AsyncIterator[str]]:
        headers = {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        try:
            async with self._http.stream(
                "GET",
                f"/api/v1/workflow/executions/{execution_id}/events",
                headers=headers,
                timeout=httpx.Timeout(30.0, read=_QUIET),
            ) as response:
                if response.status_code != 200:
                    await response.aread()
                    raise _refusal(response)
                yield response.aiter_lines()
        except httpx.TransportError as error:
            raise _away(error) from error

    async def wait(self, execution_id: str) -> Object:
        """The execution, once it has ended; with its nodes."""
        async for event in self.events(execution_id):
            if event.kind != "node" and event.data.get("status") in TERMINAL:
                break
        return await self.execution(execution_id)

    # ---- the rest ----------------------------------------------------------------------------------------------------

    async def queue_item(self, queue_id: str) -> Object:
        return await self._read(f"/workflow/queue/{queue_id}")

    async def put_workflow(
        self, workspace_id: str, name: str, text: str | bytes, *, if_match: str | None = None
    ) -> Object:
        """Save a draft, YAML or JSON; its problems come back with it."""
        headers = {"Content-Type": "application/yaml"}
        if if_match is not None:
            headers["If-Match"] = if_match
        path = f"/workspaces/{workspace_id}/workflows/{_part(name)}"
        answer = await self._request("PUT", path, content=text, headers=headers, again=True)
        saved: Object = answer.json()
        return saved

    async def publish(self, workspace_id: str, name: str) -> Object:
        """`{version, published}`; raises RefusedError with all problems of an invalid draft."""
        return await self._send("POST", f"/workspaces/{workspace_id}/workflows/{_part(name)}/publish")

    async def workflow(self, workspace_id: str, name: str) -> Object:
        return await self._read(f"/workspaces/{workspace_id}/workflows/{_part(name)}")

    async def workflows(self, workspace_id: str, **filters: Json) -> Object:
        return await self._read(f"/workspaces/{workspace_id}/workflows", filters)

    async def workspaces(self, **filters: Json) -> Object:
        return await self._read("/workspaces", filters)

    async def create_workspace(self, name: str, tier: str, limits: Object | None = None) -> Object:
        return await self._send("POST", "/workspaces", _given(name=name, tier=tier, limits=limits))

    async def change_workspace(self, workspace_id: str, change: Object) -> Object:
        return await self._send("PATCH", f"/workspaces/{workspace_id}", change)

    async def capacity(self, workspace_id: str) -> Object:
        return await self._read(f"/workspaces/{workspace_id}/capacity")

    async def keys(self, workspace_id: str, **filters: Json) -> Object:
        return await self._read(f"/workspaces/{workspace_id}/keys", filters)

    async def create_key(
        self, workspace_id: str, name: str, role: str, expires_at: str | None = None
    ) -> Object:
        body = _given(name=name, role=role, expiresAt=expires_at)
        return await self._send("POST", f"/workspaces/{workspace_id}/keys", body)

    async def revoke_key(self, key_id: str) -> None:
        await self._request("DELETE", f"/keys/{key_id}")

    # ---- requests ----------------------------------------------------------------------------------------------------

    async def _start(self, path: str, body: Object, key: str | None) -> Object:
        headers = {"Idempotency-Key": key or str(uuid.uuid4())}
        answer = await self._request("POST", path, json=body, headers=headers, again=True)
        started: Object = answer.json()
        return started

    async def _read(self, path: str, filters: Mapping[str, Json] | None = None) -> Object:
        given = {name: value for name, value in (filters or {}).items() if value is not None}
        read: Object = (await self._request("GET", path, parameters=given, again=True)).json()
        return read

    async def _send(self, method: str, path: str, body: Json = None) -> Object:
        answer = await self._request(method, path, json=body)
        sent: Object = answer.json() if answer.content else {}
        return sent

    async def _request(
        self,
        method: str,
        path: str,
        *,
        json: Json = None,
        content: str | bytes | None = None,
        parameters: Mapping[str, Json] | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = False,
    ) -> httpx.Response:
        """`again`: it may be sent more than once."""
        for attempt in range(1, _TRIES + 1):
            last = attempt == _TRIES or not again
            try:
                answer = await self._http.request(
                    method, f"/api/v1{path}", json=json, content=content, params=parameters, headers=headers
                )
            except httpx.TransportError as error:
                if last:
                    raise _away(error) from error
                await asyncio.sleep(_delay(attempt))
                continue
            if answer.is_success:
                return answer
            refusal = _refusal(answer)
            if last or answer.status_code not in {429, 503}:
                raise refusal
            await asyncio.sleep(min(refusal.retry_after or _delay(attempt), _LONGEST_DELAY))
        raise AssertionError("the last attempt returns or raises")


def _delay(attempt: int) -> float:
    return min(_FIRST_DELAY * 2.0 ** (attempt - 1), _LONGEST_DELAY)


def _part(name: str) -> str:
    return quote(name, safe="")


def _given(**fields: Json) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


def _started(answer: Object) -> Started:
    return Started(answer["executionId"], answer["queueId"], answer["status"])


def _away(error: httpx.TransportError) -> ServerAwayError:
    return ServerAwayError(f"the server does not answer: {error or type(error).__name__}")


def _refusal(answer: httpx.Response) -> RefusedError:
    try:
        problem = answer.json()
    except ValueError:
        problem = {}
    if not isinstance(problem, dict):
        problem = {}
    after = answer.headers.get("Retry-After", "")
    return RefusedError(
        answer.status_code,
        problem.get("title") or answer.reason_phrase,
        problem.get("detail") or "",
        type=problem.get("type") or "about:blank",
        errors=[
            FieldError(str(each.get("path", "")), str(each.get("code", "")), str(each.get("message", "")))
            for each in problem.get("errors") or ()
        ],
        retry_after=float(after) if after.isdigit() else None,
    )


async def _parsed(lines: AsyncIterator[str]) -> AsyncIterator[ServerEvent]:
    """Events of a text/event-stream; comments and what has no data are left out."""
    kind, data, event_id = "message", "", None
    async for line in lines:
        if not line:
            if data:
                yield ServerEvent(kind, json.loads(data), event_id)
            kind, data = "message", ""
        elif line.startswith(":"):
            continue
        else:
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            match name:
                case "event":
                    kind = value
                case "data":
                    data = f"{data}\n{value}" if data else value
                case "id":
                    event_id = value
                case _:
                    pass  # as the format says
