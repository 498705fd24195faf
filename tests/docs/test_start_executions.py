"""What the page on starts shows is what the API takes."""

import re
import textwrap
from pathlib import Path
from typing import Any

import orjson
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool
from tests.api.harness import Api, Tenant, serving

from riven.api.problem_kinds import PROBLEM_KINDS

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "start-executions.md").read_text(encoding="utf-8")
SHOWN_WORKSPACE = "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b11"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"^```{kind}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


async def published(api: Api) -> Tenant:
    tenant = await api.workspace()
    (document,) = blocks("yaml")
    path = f"/workspaces/{tenant.id}/workflows/refund"
    saved = await api.put(path, key=tenant.editor, content=document)
    assert saved.json()["problems"] == []
    assert (await api.post(f"{path}/publish", key=tenant.editor)).json() == {"version": 1, "published": True}
    return tenant


async def test_every_body_on_the_page_is_accepted(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await published(api)
        bodies = [orjson.loads(block.replace(SHOWN_WORKSPACE, str(tenant.id))) for block in blocks("json")]
        assert len(bodies) == 3
        for body in bodies:
            path = (
                "/workflow/executions/start-batch" if "executions" in body else "/workflow/executions/start"
            )
            answer = await api.post(path, body, key=tenant.operator)
            assert answer.status_code == 202, answer.text


async def test_the_python_on_the_page_runs(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await published(api)
        url = make_url(database_url).set(drivername="postgresql+asyncpg")
        engine = create_async_engine(url, poolclass=NullPool)
        async with engine.begin() as connection:
            await connection.execute(text("CREATE TABLE orders (id text)"))
        (program,) = blocks("python")
        code = f"async def shown(engine, workspace, text):\n{textwrap.indent(program, '    ')}    return started\n"
        names: dict[str, Any] = {}
        exec(code, names)
        started = await names["shown"](engine, tenant.id, text)
        async with engine.connect() as connection:
            found = await connection.execute(text("SELECT id FROM workflow_executions"))
            assert found.scalar_one() == started.execution_id
        await engine.dispose()


def test_every_status_of_the_table_has_a_kind_of_problem() -> None:
    listed = {int(status) for status in re.findall(r"^\| (\d{3}) \|", PAGE, re.MULTILINE)}
    assert listed <= {kind.status for kind in PROBLEM_KINDS.values()}
    assert "idempotency_key_reused" in PROBLEM_KINDS
