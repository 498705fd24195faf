"""The API with a worker beside it, on one database: what is started is run."""

# ruff: noqa: ANN401 - `more` and answers are what httpx has
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.api.harness import Api, Tenant, serving
from tests.engines.embedded.workers import Installation, Worker
from tests.intake.steering import Stage

from riven.nodes.registry import Registry

BASE = "/workflow/executions"


class Served:
    """A tenant, short ways to ask as its operator, and a stage on which its nodes play."""

    def __init__(self, api: Api, tenant: Tenant, stage: Stage) -> None:
        self.api = api
        self.tenant = tenant
        self.stage = stage
        self.here = Installation(api.database, tenant.id, Registry.discover(), stage.functions)

    async def publish(self, text: str, name: str = "w") -> None:
        path = f"/workspaces/{self.tenant.id}/workflows/{name}"
        saved = await self.api.put(path, key=self.tenant.editor, content=f"name: {name}\n{text}")
        assert saved.status_code == 200, saved.text
        done = await self.api.post(f"{path}/publish", key=self.tenant.editor)
        assert done.status_code == 200, done.text

    async def start(self, text: str | None = None, **more: Any) -> str:
        """The id of an execution of this document, or of the one before."""
        if text is not None:
            await self.publish(text)
        body = {"workspaceId": str(self.tenant.id), "workflowName": "w", **more}
        answer = await self.api.post(f"{BASE}/start", body, key=self.tenant.operator)
        assert answer.status_code == 202, answer.text
        return answer.json()["executionId"]

    async def get(self, path: str, status: int = 200) -> Any:
        answer = await self.api.get(f"{BASE}{path}", key=self.tenant.viewer)
        assert answer.status_code == status, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None, **more: Any) -> Any:
        return await self.api.post(f"{BASE}{path}", body, key=self.tenant.operator, **more)

    async def until(self, execution_id: str, *wanted: str) -> Any:
        await self.here.until(execution_id, *wanted)
        return await self.get(f"/{execution_id}")


@asynccontextmanager
async def served(database_url: str, *, at_work: bool = True) -> AsyncIterator[Served]:
    stage = Stage()
    async with serving(database_url, functions=stage.functions) as api:
        made = Served(api, await api.workspace(), stage)
        worker = Worker(made.here) if at_work else None
        try:
            yield made
        finally:
            if worker is not None:
                await worker.stop()
