"""What every request comes through: headers that protect browsers, the last word on errors, and the time it took."""

import asyncio
import time
from typing import Final

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from riven.api.problems import ProblemError, problem_response
from riven.api.routing import RouteTable
from riven.api.state import AppState

_ALWAYS: Final = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
_DATA: Final = (
    *_ALWAYS,
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cache-control", b"no-store"),
)
"""For answers that are no pages; pages bring what they need with them."""


class Gate:
    """Serves the operations of the table; what has no place in it goes to `app`."""

    def __init__(self, app: ASGIApp, state: AppState, table: RouteTable) -> None:
        self._app = app
        self._state = state
        self._table = table

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began = time.perf_counter()
        status = 0

        async def send_protected(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message["headers"])
                own = any(name == b"content-security-policy" for name, _ in headers)
                message = {**message, "headers": headers + list(_ALWAYS if own else _DATA)}
            await send(message)

        scope["riven"] = self._state
        try:
            await self._serve(scope, receive, send_protected)
        except ClientDisconnect:
            return
        except asyncio.CancelledError:  # the process ends, and waits for nobody any more
            if status:
                raise
            said = "the API is being stopped; try again, with an Idempotency-Key where it matters"
            ended = ProblemError("unavailable", said)
            await problem_response(ended, scope["path"])(scope, receive, send_protected)
        except Exception as error:  # whatever it is, the client gets a problem and no stack trace
            if status:
                raise  # half an answer is out: the server closes the connection
            await problem_response(error, scope["path"])(scope, receive, send_protected)
        finally:
            if self._state.observe is not None and status:
                route = getattr(scope.get("route"), "path", "")
                self._state.observe(scope["method"], route, status, time.perf_counter() - began)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        found = self._table.find(scope["method"], scope["path"], scope.get("raw_path") or b"")
        if found is None:
            await self._app(scope, receive, send)
            return
        operation, scope["path_params"] = found
        scope["route"] = operation
        await operation.app(scope, receive, send)
