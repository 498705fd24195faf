"""The API as a real process: it answers, tells of every process, and ends in order."""

import asyncio
import contextlib
import signal
import socket

import httpx
import pytest
from tests.engines.embedded.workers import installation
from tests.main.running import host

from riven.tenancy.keys import create_first_platform_key

pytestmark = pytest.mark.slow

ONE = "{name: one, nodes: {a: {type: python, with: {function: riven.echo, args: {x: 1}}}}}"


async def address(process) -> str:
    (line,) = await process.logs("api_listening")
    return line["url"]


async def test_it_says_whether_it_can_work_and_ends_in_order(database_url, tmp_path):
    async with host(database_url, tmp_path) as on, httpx.AsyncClient() as client:
        api = await on.start("api", "--port", "0")
        url = await address(api)
        assert (await client.get(f"{url}/healthz")).json() == {"status": "ok"}
        assert (await client.get(f"{url}/readyz")).status_code == 200
        api.send(signal.SIGTERM)
        assert await api.ended() == 0
        with pytest.raises(httpx.ConnectError):
            await client.get(f"{url}/healthz")


async def test_without_migrations_it_lives_and_is_not_ready(empty_database_url, tmp_path):
    async with host(empty_database_url, tmp_path) as on, httpx.AsyncClient() as client:
        url = await address(await on.start("api", "--port", "0"))
        assert (await client.get(f"{url}/healthz")).status_code == 200
        answer = await client.get(f"{url}/readyz")
        assert (answer.status_code, answer.json()["errors"][0]["path"]) == (503, "schema")
        migrated = await on.start("migrate", ready=False)
        assert await migrated.ended() == 0
        assert (await client.get(f"{url}/readyz")).status_code == 200


async def test_its_metrics_tell_of_every_process(database_url, tmp_path):
    async with (
        installation(database_url) as here,
        host(database_url, tmp_path) as on,
        httpx.AsyncClient() as client,
    ):
        url = await address(await on.start("api", "--port", "0"))
        await on.start("worker", "--name", "worker-1")
        for _ in range(3):
            await here.until(await here.start(ONE), "COMPLETED")
        wanted = [
            'riven_claims_total{process="worker-1"} 3.0',
            'riven_dispatch_attempts_count{process="worker-1"} 3.0',
            'riven_node_duration_seconds_count{process="worker-1",type="python"} 3.0',
            "riven_executions_running 0.0",
            'riven_processes{role="worker"} 1.0',
        ]
        async with asyncio.timeout(20):
            while True:
                answer = await client.get(f"{url}/metrics")
                missing = [line for line in wanted if line not in answer.text]
                if not missing:
                    break
                await asyncio.sleep(0.1)
        assert answer.headers["content-type"].startswith("text/plain")
        assert 'riven_commit_batch_size_count{process="worker-1"}' in answer.text


async def test_its_metrics_are_there_while_the_database_is_not(tmp_path):
    async with host("postgresql://nobody@127.0.0.1:1/nothing", tmp_path) as on, httpx.AsyncClient() as client:
        url = await address(await on.start("api", "--port", "0"))
        answer = await client.get(f"{url}/metrics")
        assert answer.status_code == 200
        assert "riven_http_requests_total" in answer.text
        assert (await client.get(f"{url}/readyz")).status_code == 503


async def test_everything_in_one_process_does_everything(database_url, tmp_path):
    async with (
        installation(database_url) as here,
        host(database_url, tmp_path) as on,
        httpx.AsyncClient() as client,
    ):
        both = await on.start("all", "--port", "0")
        url = await address(both)
        await here.until(await here.start(ONE), "COMPLETED")
        roles = {row["role"] for row in await here.rows("SELECT role FROM processes")}
        assert roles == {"worker", "maintenance"}
        text = (await client.get(f"{url}/metrics")).text
        assert len([line for line in text.splitlines() if line.startswith("riven_claims_total{")]) == 1
        both.send(signal.SIGTERM)
        assert await both.ended() == 0
        assert await here.rows("SELECT * FROM processes") == []


async def test_a_port_that_is_taken_is_one_line(database_url, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        async with host(database_url, tmp_path) as on:
            api = await on.start("api", "--port", str(port), ready=False)
            assert await api.ended() == 1
            (line,) = api.output
            assert line.startswith(f"riven: cannot listen on 127.0.0.1:{port}: ")


async def test_two_on_one_database_share_maintenance_and_both_stop(database_url, tmp_path):
    async with host(database_url, tmp_path) as on:
        both = [await on.maintenance(), await on.maintenance()]
        for each in both:
            each.send(signal.SIGINT)
        assert [await each.ended() for each in both] == [0, 0]


async def test_streams_of_events_do_not_hold_it_up_when_it_is_asked_to_end(database_url, tmp_path):
    async with installation(database_url) as here, host(database_url, tmp_path) as on:
        async with here.database.transaction() as connection:
            made = await create_first_platform_key(connection, name="tests")
        api = await on.start("api", "--port", "0")
        url = await address(api)
        execution_id = await here.start(ONE)  # nobody runs it
        headers = {"Authorization": f"Bearer {made.secret}"}
        async with httpx.AsyncClient(timeout=30) as client:
            with contextlib.suppress(httpx.RemoteProtocolError):  # cut off, or ended
                path = f"{url}/api/v1/workflow/executions/{execution_id}/events"
                async with client.stream("GET", path, headers=headers) as stream:
                    lines = stream.aiter_lines()
                    assert "snapshot" in await anext(lines) + await anext(lines)
                    begun = asyncio.get_running_loop().time()
                    api.send(signal.SIGTERM)
                    async for _ in lines:
                        pass
        assert await api.ended() == 0
        assert asyncio.get_running_loop().time() - begun < 3
        assert not [line for line in api.lines if line["level"] == "ERROR"]
