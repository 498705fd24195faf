"""riven, through its public HTTP API."""

import asyncio
import importlib.metadata
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bench.documents import document, name_of
from bench.exchange import Exchange
from bench.peer import Peer
from bench.postgres import database_counters
from bench.product import Product, riven_dev

API = "/api/v1"
TERMINAL = frozenset({"COMPLETED", "FAILED", "CANCELED"})
RUNNING = 1_000
"""Executions of the workspace at once: no tier is measured here."""
LOOK_EVERY = 0.02
LOOK_AGAIN = 0.001
LOOK_LATER = 0.05
"""A run is looked at again after a twentieth of the time that it has taken, between 1 and 20 ms."""


class Riven(Peer):
    """There is no request that waits for an end. A run is looked at again and again, or followed by its events; many are
    awaited by the capacity of their workspace, looked at every 20 ms.
    """

    name = "riven"
    version = importlib.metadata.version("riven")

    def __init__(self, product: Product, exchange: Exchange, workspace_id: str) -> None:
        state = product.state
        self.settings = {"running": RUNNING, "workers": sum("worker" in name for name in state["pids"])}
        self.parts = parts_of(state)
        self._exchange = exchange
        self._workspace_id = workspace_id
        self._database_url = str(state["databaseUrl"])
        self._bodies: dict[str, bytes] = {}

    async def start(self, kind: str, **options: int) -> str:
        name = name_of(kind, **options)
        body = self._bodies.get(name)
        if body is None:
            body = json.dumps({"workspaceId": self._workspace_id, "workflowName": name, "input": {}}).encode()
            self._bodies[name] = body
        status, answer = await self._exchange.send("POST", f"{API}/workflow/executions/start", body)
        if status != 202:
            raise RuntimeError(f"{name} is not started: {status} {answer.decode()}")
        return str(json.loads(answer)["executionId"])

    async def prepare(self, kind: str, **options: int) -> None:
        name = name_of(kind, **options)
        await publish(self._exchange, self._workspace_id, name, document(kind, **options))

    async def wait(self, run: str) -> Any:  # noqa: ANN401
        begun = time.perf_counter()
        while True:
            said = await self._exchange.ask("GET", f"{API}/workflow/executions/{run}")
            if said["status"] in TERMINAL:
                return _output(said)
            waited = time.perf_counter() - begun
            await asyncio.sleep(min(max(LOOK_AGAIN, waited * LOOK_LATER), LOOK_EVERY))

    async def follow(self, run: str) -> Any:  # noqa: ANN401
        parts = b""
        async for part in self._exchange.stream(f"{API}/workflow/executions/{run}/events"):
            parts += part
            *whole, parts = parts.split(b"\n\n")
            for event in whole:
                if b"event: node" in event or b"\ndata: " not in event:
                    continue
                said = json.loads(event.partition(b"\ndata: ")[2])
                if said["status"] in TERMINAL:
                    return _output(said)
        raise RuntimeError(f"the events of execution {run} ended before it did")

    async def wait_all(self, runs: list[str]) -> None:  # noqa: ARG002 - they are all there are
        await until_idle(self._exchange, self._workspace_id)

    async def counters(self) -> dict[str, float]:
        return await database_counters(self._database_url)

    async def verify(self) -> None:
        for status in ("FAILED", "CANCELED"):
            listed = await self._exchange.ask(
                "GET", f"{API}/workflow/executions?workspaceId={self._workspace_id}&status={status}&limit=1"
            )
            if listed["items"]:
                raise RuntimeError(f"an execution is {status}: {listed['items'][0]}")


def _output(execution: dict[str, Any]) -> Any:  # noqa: ANN401
    if execution["status"] != "COMPLETED":
        raise RuntimeError(f"execution {execution['executionId']}: {execution['error']}")
    return execution["output"]


def parts_of(state: dict[str, Any]) -> dict[str, list[int]]:
    """Each process with all that it does."""
    names: dict[int, list[str]] = {}
    for name, pid in state["pids"].items():
        names.setdefault(pid, []).append(name)
    return {"dev": [state["pid"]]} | {"+".join(sorted(each)): [pid] for pid, each in names.items()}


@asynccontextmanager
async def opened() -> AsyncIterator[Riven]:
    """On a product of its own."""
    with riven_dev() as product:
        async with connected(product) as exchange:
            yield Riven(product, exchange, await new_workspace(exchange))


async def new_workspace(exchange: Exchange) -> str:
    wish = {"name": "bench", "tier": "ENTERPRISE", "limits": {"running": RUNNING}}
    return str((await exchange.ask("POST", f"{API}/workspaces", wish, expect=(201,)))["workspaceId"])


def connected(product: Product) -> Exchange:
    state = product.state
    return Exchange(state["url"], {"Authorization": f"Bearer {state['apiKey']}"})


async def capacity(exchange: Exchange, workspace_id: str) -> dict[str, int]:
    return dict(await exchange.ask("GET", f"{API}/workspaces/{workspace_id}/capacity"))


async def until_idle(exchange: Exchange, workspace_id: str) -> None:
    """Nothing runs there, nothing is in line."""
    while True:
        now = await capacity(exchange, workspace_id)
        if not now["inUse"] and not now["waiting"]:
            return
        await asyncio.sleep(LOOK_EVERY)


async def publish(exchange: Exchange, workspace_id: str, name: str, text: dict[str, Any]) -> None:
    path = f"{API}/workspaces/{workspace_id}/workflows/{name}"
    saved = await exchange.ask("PUT", path, text, expect=(200, 201))
    if saved["problems"]:
        raise RuntimeError(f"{name} is not valid: {saved['problems'][:3]}")
    await exchange.ask("POST", f"{path}/publish", {})
