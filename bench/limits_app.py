"""The least server that accepts executions: FastAPI, uvicorn, asyncpg, one insert a POST."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
from bench.product import ENVIRONMENT
from fastapi import FastAPI
from pydantic import BaseModel


class Wish(BaseModel):
    tenant: int
    workflow: str
    input: dict[str, Any]


@asynccontextmanager
async def _connected(app: FastAPI) -> AsyncIterator[None]:
    async with asyncpg.create_pool(ENVIRONMENT["BENCH_LIMITS_URL"], min_size=16, max_size=16) as pool:
        app.state.pool = pool
        yield


app = FastAPI(lifespan=_connected)


@app.post("/executions", status_code=202)
async def accept(wish: Wish) -> dict[str, int]:
    payload = json.dumps({"workflow": wish.workflow, "input": wish.input})
    insert = "INSERT INTO q (tenant, payload) VALUES ($1, $2::jsonb) RETURNING id"
    return {"id": await app.state.pool.fetchval(insert, wish.tenant, payload)}


@app.post("/noop", status_code=202)
async def noop(wish: Wish) -> dict[str, int]:
    return {"id": wish.tenant}
