"""PostgreSQL goes and comes back while everything is at work: processes stay, nothing is lost, doubled or held."""

import asyncio
import os
import signal
from collections import Counter

import httpx
import pytest
from tests.engines.embedded.workers import Installation, installation
from tests.fixtures_postgres import FORGETFUL
from tests.main.running import host

from riven.db.errors import DatabaseError
from riven.db.schema import migrate
from riven.devstack.postgres import EmbeddedPostgres
from riven.tenancy.keys import create_first_platform_key
from riven.views.invariants import check_invariants

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

CHAIN = """
name: chain
nodes:
  a: {type: python, with: {function: test.deed, args: {name: "{{ input.n }}-a", seconds: 0.1}}}
  b: {type: python, needs: [a], with: {function: test.deed, args: {name: "{{ input.n }}-b", seconds: 0.1}}}
  c: {type: python, needs: [b], with: {function: test.deed, args: {name: "{{ input.n }}-c"}}}
  nap: {type: wait, needs: [c], with: {for: 300ms}}
output: "{{ steps.c.output }}"
"""


async def start_until_accepted(here: Installation, definition, number: int):
    """As a client does: again, when the database was away before it was asked. Answers the execution."""
    while True:
        try:
            return await here.start_version(definition, input={"n": str(number)})
        except DatabaseError:
            await asyncio.sleep(0.05)


@pytest.mark.parametrize("how", ["stopped", "killed"])
async def test_postgres_goes_and_comes_back_every_few_seconds(tmp_path, how):
    server = EmbeddedPostgres(tmp_path / "postgres", settings={**FORGETFUL, "fsync": "on"})
    await server.start()
    try:
        await migrate(server.url)
        async with installation(server.url) as here, host(server.url, tmp_path) as on:
            worker, maintenance = await on.worker(), await on.maintenance()
            definition = await here.publish(CHAIN)
            accepted = []

            async def load() -> None:
                for number in range(60):
                    accepted.append(await start_until_accepted(here, definition, number))
                    await asyncio.sleep(0.1)

            loading = asyncio.create_task(load())
            for _ in range(3):
                await asyncio.sleep(1.5)
                if how == "stopped":
                    await server.stop()
                else:
                    os.kill(server.pid, signal.SIGKILL)
                    await server.wait()
                await server.start()
            await loading
            for execution_id in accepted:
                row = await here.until(execution_id, "COMPLETED", "FAILED", within=60)
                assert (row["status"], row["run"]) == ("COMPLETED", 1)
            doubled = {deed: count for deed, count in Counter(on.deeds).items() if count > 1}
            assert doubled == {}
            assert len([deed for deed in on.deeds if deed.startswith("done")]) == 3 * len(accepted)
            async with here.database.read() as connection:
                for each in await check_invariants(connection, 1.5):
                    assert each.violations == 0, each.name
            assert await here.row("SELECT * FROM execution_queue") is None
            assert not maintenance.events("process_dead")
            for process in (worker, maintenance):
                process.send(signal.SIGTERM)
                assert await process.ended() == 0
    finally:
        await server.stop()


async def post_until_accepted(client: httpx.AsyncClient, url: str, body, key: str) -> str:
    """As a client does, with one key for all its tries. Answers the execution."""
    while True:
        answer = await client.post(url, json=body, headers={"Idempotency-Key": key}, timeout=60)
        if answer.status_code == 202:
            return answer.json()["executionId"]
        assert answer.status_code == 503, answer.text
        assert float(answer.headers["Retry-After"]) > 0
        await asyncio.sleep(0.1)


async def test_every_start_that_a_client_repeats_until_it_is_accepted_happens_once(tmp_path):
    server = EmbeddedPostgres(tmp_path / "postgres", settings={**FORGETFUL, "fsync": "on"})
    await server.start()
    try:
        await migrate(server.url)
        async with installation(server.url) as here, host(server.url, tmp_path) as on:
            workflow, _ = await here.publish(CHAIN)
            async with here.database.transaction() as connection:
                await connection.execute(
                    "UPDATE workflow_definitions SET latest_version = 1, status = 'PUBLISHED'"
                )
                key = (await create_first_platform_key(connection, name="tests")).secret
            await on.worker()
            await on.maintenance()
            (line,) = await (await on.start("api", "--port", "0")).logs("api_listening")
            start = f"{line['url']}/api/v1/workflow/executions/start"
            about = {"workspaceId": str(here.workspace_id), "workflowDefinitionId": str(workflow)}

            async with httpx.AsyncClient(headers={"Authorization": f"Bearer {key}"}) as client:

                async def ask(number: int) -> str:
                    await asyncio.sleep(number * 0.08)
                    body = {**about, "input": {"n": str(number)}}
                    return await post_until_accepted(client, start, body, f"start {number}")

                asking = [asyncio.create_task(ask(number)) for number in range(60)]
                for _ in range(3):
                    await asyncio.sleep(1.0)
                    os.kill(server.pid, signal.SIGKILL)
                    await server.wait()
                    await server.start()
                accepted = await asyncio.gather(*asking)
            assert len(set(accepted)) == 60
            stored = await here.rows("SELECT id FROM workflow_executions")
            assert {str(row["id"]) for row in stored} == set(accepted)
            for row in stored:
                ended = await here.until(row["id"], "COMPLETED", "FAILED", within=60)
                assert (ended["status"], ended["run"]) == ("COMPLETED", 1)
            done = Counter(deed for deed in on.deeds if deed.startswith("done"))
            assert done == {f"done {number}-{node}": 1 for number in range(60) for node in "abc"}
    finally:
        await server.stop()


async def test_asked_to_end_while_the_database_is_away_it_ends_all_the_same(tmp_path):
    server = EmbeddedPostgres(tmp_path / "postgres", settings=FORGETFUL)
    await server.start()
    try:
        await migrate(server.url)
        async with host(server.url, tmp_path) as on:
            processes = [
                await on.worker(DRAIN_TIMEOUT="500ms"),
                await on.maintenance(),
                await on.start("all", "--port", "0"),
            ]
            await server.stop()
            for process in processes:
                process.send(signal.SIGTERM)
            assert [await process.ended() for process in processes] == [0, 0, 0]
    finally:
        await server.stop()
