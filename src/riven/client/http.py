"""A typed client of the HTTP API.

    async with Client("http://127.0.0.1:8642", key) as riven:
        started = await riven.start(workspace_id, "refund", {"orderId": "o-1"})
        execution = await riven.wait(started.execution_id)

Objects are the API's own JSON. Every start carries an Idempotency-Key, one of its own unless the caller gives one, so
that a start whose answer was lost is sent again and still happens once. Reads and starts are sent again when nobody
answers or the server asks for patience (429, 503); everything else only when it cannot have arrived.
"""

import asyncio
import json
import re
import time
import uuid
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self, TypeAlias
from urllib.parse import quote, urlsplit

import httpx

from riven.client.errors import ClientError, FieldError, RefusedError, ServerAwayError
from riven.client.events import EventParser, ServerEvent
from riven.wire.document import Json

Object: TypeAlias = dict[str, Any]

TERMINAL = frozenset({"COMPLETED", "FAILED", "CANCELED"})
_COME_BACK = frozenset({429, 503})
_FIRST_DELAY = 0.2
_LONGEST_DELAY = 5.0
_QUIET = 45.0
"""Seconds without a word, keep-alives included, after which a stream of events counts as broken."""
_THIS_MACHINE = re.compile(r"^https?://(?:localhost|127\.[0-9.]+|\[::1\])(?:[:/]|$)", re.IGNORECASE)
_NOTHING: Final = object()
"""No body at all, where None would be the JSON value null."""


@dataclass(frozen=True, slots=True)
class Started:
    execution_id: str
    queue_id: str
    status: str


class Client:
    """Belongs to one event loop. Raises RefusedError for what the server refuses, ServerAwayError when nobody answers."""

    def __init__(
        self, url: str, api_key: str, *, timeout: float = 30.0, tries: int = 5, patience: float = 60.0
    ) -> None:
        """`timeout` in seconds, of one request; `tries` of a request that may be repeated.

        `patience`: seconds for which a stream of events that broke off is taken up again.

        Raises:
            ClientError: the address or the key is none.
        """
        self._tries = tries
        self._patience = patience
        try:
            self._http = httpx.AsyncClient(
                base_url=_address(url),
                headers={"Authorization": f"Bearer {api_key}"},
                timeout=timeout,
                trust_env=_THIS_MACHINE.match(url) is None,  # a proxy is for what lies outside
            )
        except UnicodeEncodeError:
            raise ClientError("the API key has characters that none has") from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends its connections."""
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
        """As it is now, without its nodes."""
        return await self._read(f"/workflow/executions/{_part(execution_id)}")

    async def executions(self, **filters: Json) -> Object:
        """A page: `{items, nextCursor}`. Filters as the API names them; lists are repeated."""
        return await self._read("/workflow/executions", filters)

    async def nodes(self, execution_id: str) -> list[Object]:
        """All nodes, in document order."""
        path = f"/workflow/executions/{_part(execution_id)}/nodes"
        return [node async for node in self.every(path)]

    async def every(self, path: str, **filters: Json) -> AsyncIterator[Object]:
        """The items of all pages of a list, read as they are asked for."""
        cursor: str | None = None
        while True:
            page = await self._read(path, {**filters, "cursor": cursor})
            for item in page["items"]:
                yield item
            cursor = page["nextCursor"]
            if cursor is None:
                return

    async def waiting(self, execution_id: str) -> Object | None:
        """What it waits for; None: for nothing."""
        answer: Object | None = await self._read(f"/workflow/executions/{_part(execution_id)}/waiting")
        return answer

    async def cancel(self, execution_id: str) -> Object:
        """What waits ends at once, what runs soon."""
        return await self._send("POST", f"/workflow/executions/{_part(execution_id)}/cancel")

    async def pause(self, execution_id: str) -> Object:
        """Start nothing more of it; what runs finishes."""
        return await self._send("POST", f"/workflow/executions/{_part(execution_id)}/pause")

    async def resume(self, execution_id: str) -> Object:
        """In line again."""
        return await self._send("POST", f"/workflow/executions/{_part(execution_id)}/resume")

    async def signal(self, execution_id: str, name: str, payload: Json = None) -> Object:
        """Kept for the next node that waits for it, if none does now."""
        path = f"/workflow/executions/{_part(execution_id)}/signal/{_part(name)}"
        return await self._send("POST", path, payload)

    async def approve(
        self, execution_id: str, path: str, decision: str, *, comment: str | None = None, data: Json = None
    ) -> Object:
        """`decision` is `approved` or `rejected`."""
        body = _given(decision=decision, comment=comment, data=data)
        address = f"/workflow/executions/{_part(execution_id)}/approvals/{_part(path)}"
        return await self._send("POST", address, body)

    async def retry(self, execution_id: str) -> Object:
        """Go on from what failed, keeping what completed."""
        return await self._send("POST", f"/workflow/executions/{_part(execution_id)}/retry")

    async def rerun(
        self,
        execution_id: str,
        *,
        from_node: str | None = None,
        input: Json = None,
        version: int | None = None,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> Object:
        """A new execution like this one; with `dry_run` only which nodes would run and which are kept."""
        body = _given(fromNode=from_node, input=input, version=version, dryRun=dry_run or None)
        return await self._start(f"/workflow/executions/{_part(execution_id)}/rerun", body, idempotency_key)

    async def events(
        self, execution_id: str, *, last_event_id: str | None = None
    ) -> AsyncIterator[ServerEvent]:
        """Snapshot, then every change, to the execution's end. Goes on after a lost connection without a gap."""
        failures, lost = 0, 0.0
        while True:
            try:
                async with self._stream(execution_id, last_event_id) as response:
                    parser = EventParser()
                    async for chunk in response.aiter_bytes():
                        for event in parser.feed(chunk):
                            failures, last_event_id = 0, event.id or last_event_id
                            yield event
                            if event.kind != "node" and event.data.get("status") in TERMINAL:
                                return
                problem: ClientError = ServerAwayError("the server ended the stream of events")
            except ServerAwayError as error:
                problem = error
            except RefusedError as refused:
                if refused.status not in _COME_BACK:
                    raise
                problem = refused
            failures += 1
            lost = time.monotonic() if failures == 1 else lost
            if time.monotonic() - lost > self._patience:
                raise problem
            await asyncio.sleep(_delay(failures))

    @asynccontextmanager
    async def _stream(self, execution_id: str, last_event_id: str | None) -> AsyncIterator[httpx.Response]:
        headers = {"Accept": "text/event-stream"}
        if last_event_id is not None:
            headers["Last-Event-ID"] = last_event_id
        try:
            async with self._http.stream(
                "GET",
                f"/api/v1/workflow/executions/{_part(execution_id)}/events",
                headers=headers,
                timeout=httpx.Timeout(30.0, read=_QUIET),
            ) as response:
                if response.status_code != 200:
                    await response.aread()
                    raise _refusal(response)
                yield response
        except httpx.TransportError as error:
            raise _away(error) from error

    async def wait(self, execution_id: str) -> Object:
        """The execution with its `nodes`, once it has ended."""
        async for _ in self.events(execution_id):
            pass  # the last one is the execution's end
        return {**await self.execution(execution_id), "nodes": await self.nodes(execution_id)}

    # ---- the rest ----------------------------------------------------------------------------------------------------

    async def queue_item(self, queue_id: str) -> Object:
        """Its place in line; 404 once its run is over."""
        return await self._read(f"/workflow/queue/{_part(queue_id)}")

    async def put_workflow(
        self, workspace_id: str, name: str, text: str | bytes, *, if_match: str | None = None
    ) -> Object:
        """Save a draft, YAML or JSON; its problems come back with it."""
        headers = {"Content-Type": "application/yaml"}
        if if_match is not None:
            headers["If-Match"] = if_match
        path = f"/workspaces/{workspace_id}/workflows/{_part(name)}"
        return _object(
            await self._request("PUT", path, content=text, headers=headers, again=if_match is None)
        )

    async def publish(self, workspace_id: str, name: str) -> Object:
        """`{version, published}`; raises RefusedError with all problems of an invalid draft."""
        return await self._send("POST", f"/workspaces/{workspace_id}/workflows/{_part(name)}/publish")

    async def workflow(self, workspace_id: str, name: str) -> Object:
        """With its draft."""
        return await self._read(f"/workspaces/{workspace_id}/workflows/{_part(name)}")

    async def workflows(self, workspace_id: str, **filters: Json) -> Object:
        """A page: `{items, nextCursor}`."""
        return await self._read(f"/workspaces/{workspace_id}/workflows", filters)

    async def version(self, workspace_id: str, name: str, version: int) -> Object:
        """With its `source`, and the versions that it `calls`."""
        return await self._read(f"/workspaces/{workspace_id}/workflows/{_part(name)}/versions/{version}")

    async def workspaces(self, **filters: Json) -> Object:
        """A page: `{items, nextCursor}`."""
        return await self._read("/workspaces", filters)

    async def workspace(self, workspace_id: str) -> Object:
        """With the limits in force."""
        return await self._read(f"/workspaces/{_part(workspace_id)}")

    async def create_workspace(
        self, name: str, tier: str, *, limits: Object | None = None, weight: int | None = None
    ) -> Object:
        """By a platform key. `limits`: `{running?, queued?, maxAttempts?}`."""
        return await self._send(
            "POST", "/workspaces", _given(name=name, tier=tier, limits=limits, weight=weight)
        )

    async def change_workspace(self, workspace_id: str, change: Object) -> Object:
        """By a platform key: `{name?, tier?, limits?, weight?, disabled?}`; a limit that is None is the tier's again."""
        return await self._send("PATCH", f"/workspaces/{_part(workspace_id)}", change)

    async def capacity(self, workspace_id: str) -> Object:
        """The limits, what uses them, and the line in front."""
        return await self._read(f"/workspaces/{_part(workspace_id)}/capacity")

    async def keys(self, workspace_id: str | None, **filters: Json) -> Object:
        """A page: `{items, nextCursor}`; None: the platform's."""
        return await self._read(keys_path(workspace_id), filters)

    async def create_key(
        self, workspace_id: str | None, name: str, role: str | None = None, *, expires_at: str | None = None
    ) -> Object:
        """The only time that the `key` is seen. None: a key of the platform, which has no role."""
        body = _given(name=name, role=role, expiresAt=expires_at)
        return await self._send("POST", keys_path(workspace_id), body)

    async def revoke_key(self, key_id: str) -> None:
        """At once; by the key's id."""
        await self._request("DELETE", f"/keys/{_part(key_id)}")

    # ---- requests ----------------------------------------------------------------------------------------------------

    async def _start(self, path: str, body: Object, key: str | None) -> Object:
        headers = {"Idempotency-Key": str(uuid.uuid4()) if key is None else key}
        return _object(await self._request("POST", path, body=body, headers=headers, again=True))

    async def _read(self, path: str, filters: Mapping[str, Json] | None = None) -> Object:
        given = {name: value for name, value in (filters or {}).items() if value is not None}
        return _object(await self._request("GET", path, parameters=given, again=True))

    async def _send(self, method: str, path: str, body: object = _NOTHING) -> Object:
        answer = await self._request(method, path, body=body)
        return _object(answer) if answer.content else {}

    async def _request(
        self,
        method: str,
        path: str,
        *,
        body: object = _NOTHING,
        content: str | bytes | None = None,
        parameters: Mapping[str, Json] | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = False,
    ) -> httpx.Response:
        """`again`: it may arrive more than once. `body` is JSON, `content` is sent as it is."""
        sent = dict(headers or {})
        if body is not _NOTHING:
            content = json.dumps(body, allow_nan=False, separators=(",", ":"))
            sent["Content-Type"] = "application/json"
        for attempt in range(1, self._tries + 1):
            try:
                answer = await self._http.request(
                    method, f"/api/v1{path}", content=content, params=parameters, headers=sent
                )
            except (httpx.LocalProtocolError, UnicodeEncodeError) as error:
                raise ClientError(f"this cannot be sent: {error}") from error
            except httpx.TransportError as error:
                if attempt == self._tries or not (again or isinstance(error, httpx.ConnectError)):
                    raise _away(error) from error
                await asyncio.sleep(_delay(attempt))
                continue
            if answer.is_success:
                return answer
            refusal = _refusal(answer)
            if attempt == self._tries or not again or answer.status_code not in _COME_BACK:
                raise refusal
            await asyncio.sleep(min(refusal.retry_after or _delay(attempt), _LONGEST_DELAY))
        raise AssertionError("the last attempt returns or raises")


def keys_path(workspace_id: str | None) -> str:
    """Where keys of a workspace, or of the platform, are listed."""
    return "/keys" if workspace_id is None else f"/workspaces/{_part(workspace_id)}/keys"


def _address(url: str) -> str:
    """As it was given, without what it ends in. Raises ClientError."""
    try:
        parts = urlsplit(url)
        known = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known or not url.isprintable() or " " in url:
        raise ClientError(f"{url[:200]!r} is no address of a server; write for example http://127.0.0.1:8642")
    return url.rstrip("/")


def _object(answer: httpx.Response) -> Object:
    try:
        found: Object = answer.json()
    except ValueError:
        raise ClientError("what answers there is no riven server: its answer is no JSON") from None
    return found


def _delay(attempt: int) -> float:
    return min(_FIRST_DELAY * 2.0 ** min(attempt - 1, 16), _LONGEST_DELAY)


def _part(name: str) -> str:
    return quote(name, safe="")


def _given(**fields: Json) -> Object:
    return {name: value for name, value in fields.items() if value is not None}


def _started(answer: Object) -> Started:
    return Started(answer["executionId"], answer["queueId"], answer["status"])


def _away(error: httpx.TransportError) -> ServerAwayError:
    reason = str(error) or type(error).__name__
    return ServerAwayError(f"the server does not answer: {reason}")


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
