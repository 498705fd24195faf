"""The API on a real database, asked through ASGI: no port, everything else as it is.

async def test_a_stranger_sees_nothing(database_url: str) -> None:
    async with serving(database_url) as api:
        acme = await api.workspace("acme")
        other = await api.workspace("other")
        answer = await api.get(f"/workspaces/{acme.id}", key=other.admin)
        assert_problem(answer, 403, "foreign_workspace")
"""

# ruff: noqa: ANN401 - `more` is what httpx and AppState take
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import httpx
from fastapi import FastAPI

from riven.api.app import create_app
from riven.api.state import AppState
from riven.db.engine import Database
from riven.db.identity import new_id
from riven.nodes.functions import Functions
from riven.nodes.registry import Registry
from riven.queue.wake import Announcer
from riven.tenancy.authentication import Authenticator
from riven.tenancy.directory import WorkspaceDirectory
from riven.tenancy.keys import create_first_platform_key
from riven.wire.document import Json

PREFIX = "/api/v1"


@dataclass(frozen=True, slots=True)
class Tenant:
    """A workspace and a key of every role."""

    id: UUID
    viewer: str
    operator: str
    editor: str
    admin: str

    def key(self, role: str) -> str:
        return str(getattr(self, role.lower()))


class Api:
    """`path` is under `/api/v1`, unless it begins with it or `root=True`; without `key` the platform asks."""

    def __init__(self, state: AppState, app: FastAPI, client: httpx.AsyncClient, platform: str) -> None:
        self.state = state
        self.database = state.database
        self.app = app
        self.client = client
        self.platform = platform

    async def request(
        self,
        method: str,
        path: str,
        *,
        key: str | None = "platform",
        root: bool = False,
        headers: Mapping[str, str] | None = None,
        **more: Any,
    ) -> httpx.Response:
        """`key=None` sends no credential."""
        sent = dict(headers or {})
        if key is not None:
            sent["Authorization"] = f"Bearer {self.platform if key == 'platform' else key}"
        url = path if root or path.startswith(PREFIX) else PREFIX + path
        return await self.client.request(method, url, headers=sent, **more)

    async def get(self, path: str, **more: Any) -> httpx.Response:
        return await self.request("GET", path, **more)

    async def post(self, path: str, body: Json = None, **more: Any) -> httpx.Response:
        return await self.request("POST", path, **_with_body(body, more))

    async def put(self, path: str, body: Json = None, **more: Any) -> httpx.Response:
        return await self.request("PUT", path, **_with_body(body, more))

    async def patch(self, path: str, body: Json = None, **more: Any) -> httpx.Response:
        return await self.request("PATCH", path, **_with_body(body, more))

    async def delete(self, path: str, **more: Any) -> httpx.Response:
        return await self.request("DELETE", path, **more)

    async def workspace(
        self, name: str = "acme", tier: str = "ENTERPRISE", limits: dict[str, Any] | None = None
    ) -> Tenant:
        body: dict[str, Any] = {"name": name, "tier": tier}
        if limits is not None:
            body["limits"] = limits
        created = await self.post("/workspaces", body)
        assert created.status_code == 201, created.text
        workspace = created.json()["workspaceId"]
        keys = {
            role: await self.make_key(workspace, role) for role in ("viewer", "operator", "editor", "admin")
        }
        return Tenant(UUID(workspace), **keys)

    async def make_key(self, workspace: UUID | str, role: str) -> str:
        made = await self.post(f"/workspaces/{workspace}/keys", {"name": role, "role": role.upper()})
        assert made.status_code == 201, made.text
        return str(made.json()["key"])


def _with_body(body: Json, more: dict[str, Any]) -> dict[str, Any]:
    return more if body is None else {**more, "json": body}


def build_state(database: Database, **more: Any) -> AppState:
    """`more` are fields of AppState that a test wants otherwise."""
    fields: dict[str, Any] = {
        "database": database,
        "announcer": Announcer(database, new_id()),
        "authenticator": Authenticator(database),
        "directory": WorkspaceDirectory(database),
        "registry": Registry.discover(),
        "functions": Functions(),
    }
    return AppState(**{**fields, **more})


@asynccontextmanager
async def serving(database_url: str, **more: Any) -> AsyncIterator[Api]:
    """`more` as for `build_state`."""
    database = Database(database_url, pool_size=5)
    state = build_state(database, **more)
    app = create_app(state)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    try:
        async with database.transaction() as connection:
            first = await create_first_platform_key(connection, name="tests")
        assert first is not None
        async with httpx.AsyncClient(transport=transport, base_url="http://riven.test") as client:
            yield Api(state, app, client, first.secret)
    finally:
        await state.close()
        await database.close()


def assert_problem(answer: httpx.Response, status: int, code: str, *paths: str) -> dict[str, Any]:
    """It is a well-formed problem of this kind, about these fields."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    body: dict[str, Any] = answer.json()
    assert body["type"] == f"/problems/{code}", body
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    assert body["instance"] == answer.request.url.path
    assert [each["path"] for each in body["errors"]] == list(paths), body
    if status in (429, 503):
        assert int(answer.headers["retry-after"]) >= 1
    return body
