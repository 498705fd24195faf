import asyncio
from typing import Any

import httpx
import orjson
import pytest
from starlette.responses import StreamingResponse
from starlette.types import Message
from tests.api.harness import assert_problem, build_state, serving

from riven.api.app import create_app
from riven.api.binding import PublicOperation
from riven.db.engine import Database

PROTECTED = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}


async def test_every_answer_protects_browsers(database_url: str) -> None:
    async with serving(database_url) as api:
        data = [
            await api.get("/workspaces"),
            await api.get("/workspaces", key=None),
            await api.get("/nothing"),
            await api.get("/healthz", root=True),
        ]
        pages = [await api.get(path, root=True) for path in ("/docs", "/problems", "/problems/not_found")]
        for answer in (*data, *pages):
            assert PROTECTED.items() <= dict(answer.headers).items()
        for answer in data:
            assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"
            assert answer.headers["cache-control"] == "no-store"
        for answer in pages:
            policy = answer.headers.get_list("content-security-policy")
            assert len(policy) == 1
            assert "script" not in policy[0]
            assert "unsafe" not in policy[0]
            assert "default-src 'none'" in policy[0]
            assert "frame-ancestors 'none'" in policy[0]


async def test_what_does_not_exist_is_404_and_another_method_405(database_url: str) -> None:
    async with serving(database_url) as api:
        for path in ("/", "/api", "/api/v1", "/api/v1/", "/api/v1/workspaces/", "/docs/", "/ä", "//"):
            assert_problem(await api.client.get(path), 404, "not_found")
        answer = await api.request("PUT", "/workspaces")
        assert_problem(answer, 405, "method_not_allowed")
        assert set(answer.headers["allow"].split(", ")) <= {"GET", "POST", "HEAD"}
        assert_problem(await api.request("DELETE", "/healthz", root=True), 405, "method_not_allowed")


async def test_a_database_that_is_away_is_503_and_says_when_to_try_again(database_url: str) -> None:
    async with serving(database_url) as api:
        await api.get("/workspaces")
        await api.database.close()
        api.database._options["dsn"] = "postgresql://nobody@127.0.0.1:1/none"
        problem = assert_problem(await api.get("/workspaces"), 503, "unavailable")
        assert "try again" in problem["detail"]
        body = {"name": "a", "tier": "PRO"}
        assert_problem(await api.post("/workspaces", body), 503, "unavailable")


async def test_the_observer_is_told_of_every_answer_by_its_route(database_url: str) -> None:
    told: list[tuple[Any, ...]] = []

    def observe(method: str, route: str, status: int, seconds: float) -> None:
        assert 0 < seconds < 30
        told.append((method, route, status))

    async with serving(database_url, observe=observe) as api:
        tenant = await api.workspace()
        told.clear()
        await api.get(f"/workspaces/{tenant.id}")
        await api.get("/workspaces")
        await api.get("/workspaces", key=None)
        await api.get("/nowhere")
    assert told == [
        ("GET", "/api/v1/workspaces/{workspaceId}", 200),
        ("GET", "/api/v1/workspaces", 200),
        ("GET", "/api/v1/workspaces", 401),
        ("GET", "", 404),
    ]


async def test_an_answer_that_breaks_off_is_not_followed_by_a_problem(database_url: str) -> None:
    async def parts():
        yield b"first"
        raise ZeroDivisionError

    async def stream() -> StreamingResponse:
        return StreamingResponse(parts())

    async with serving(database_url) as api:
        api.app.router.routes[:0] = [PublicOperation("/stream", stream, methods=["GET"])]
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            return {"type": "http.request"}

        scope = {"type": "http", "method": "GET", "path": "/stream", "query_string": b"", "headers": []}
        with pytest.raises(ZeroDivisionError):
            await api.app({**scope, "asgi": {"spec_version": "2.4"}}, receive, send)
        assert [each["type"] for each in sent] == ["http.response.start", "http.response.body"]


async def test_who_is_still_asking_when_the_process_ends_is_told_to_try_again(database_url: str) -> None:
    async with serving(database_url) as api:
        asking = asyncio.Event()
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        async def receive() -> Message:
            asking.set()
            return await asyncio.Future()  # the rest of the body does not come

        headers = [(b"authorization", f"Bearer {api.platform}".encode())]
        path = {"method": "POST", "path": "/api/v1/workspaces", "query_string": b"", "headers": headers}
        request = asyncio.create_task(api.app({"type": "http", **path}, receive, send))
        await asking.wait()
        request.cancel()
        await request
        assert sent[0]["status"] == 503
        assert dict(sent[0]["headers"])[b"content-type"] == b"application/problem+json"
        assert b"retry-after" in dict(sent[0]["headers"])
        assert orjson.loads(sent[1]["body"])["type"] == "/problems/unavailable"


async def test_nobody_is_let_in_by_an_api_whose_database_was_never_there() -> None:
    state = build_state(Database("postgresql://nobody@127.0.0.1:1/none"))
    transport = httpx.ASGITransport(create_app(state))
    async with httpx.AsyncClient(transport=transport, base_url="http://riven.test") as client:
        answer = await client.get("/api/v1/workspaces", headers={"Authorization": f"Bearer rvn_{'a' * 43}"})
        assert_problem(answer, 503, "unavailable")
        assert_problem(await client.get("/api/v1/workspaces"), 401, "unauthenticated")
    await state.close()
