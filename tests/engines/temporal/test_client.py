"""The engine as a dispatcher sees it, against the real server; no worker takes anything."""

from datetime import timedelta

import pytest
from temporalio.client import WorkflowFailureError

from riven.core.graph import RetryPolicy
from riven.db.identity import new_id
from riven.engines.port import DriveStatus, EngineAwayError, StartRequest, StartResult
from riven.engines.temporal.client import (
    TemporalAddress,
    TemporalEngine,
    check_connection,
    connect,
    register_search_attributes,
)
from riven.engines.temporal.names import VERSION, WORKFLOW, WORKSPACE, workflow_id

NOBODY = TemporalAddress(address="127.0.0.1:9")


def request(**fields) -> StartRequest:
    given = {
        "execution_id": new_id(),
        "run": 1,
        "token": 1,
        "workspace_id": new_id(),
        "workspace_name": "secret-workspace",
        "workflow": "secret-workflow",
        "workflow_id": new_id(),
        "version": 1,
        "version_id": new_id(),
        "input": {"secret": "input"},
        "trigger": None,
        "started_at": 1,
        "run_started_at": 1,
        "frozen": None,
        "resumed": False,
    }
    return StartRequest(**{**given, **fields})


async def opened(where: TemporalAddress, **settings) -> TemporalEngine:
    client = await connect(where)
    life = timedelta(minutes=1)
    return TemporalEngine(
        client, task_queue=f"q-{new_id()}", retry=RetryPolicy(), execution_timeout=life, **settings
    )


@pytest.fixture
def where(temporal_server) -> TemporalAddress:
    return TemporalAddress(address=temporal_server.address)


async def test_a_start_is_idempotent_by_execution_and_run(where):
    await register_search_attributes(await connect(where))
    engine, first = await opened(where), request()
    assert await engine.start(first) is StartResult.STARTED
    assert await engine.start(first) is StartResult.ALREADY_RUNNING
    again = request(execution_id=first.execution_id, run=2, token=2)
    assert await engine.start(again) is StartResult.STARTED
    found = await engine.describe(first.execution_id, 1)
    assert (found.status, found.token) == (DriveStatus.OPEN, 1)


async def test_a_workflow_that_has_closed_is_started_again_only_for_a_newer_token(where):
    client = await connect(where)
    await register_search_attributes(client)
    engine, first = await opened(where), request(token=3)
    await engine.start(first)
    await client.get_workflow_handle(workflow_id(first.execution_id, 1)).terminate(reason="by hand")
    found = await engine.describe(first.execution_id, 1)
    assert (found.status, found.token, found.reason) == (DriveStatus.TERMINATED, 3, "by hand")
    assert await engine.start(first) is StartResult.ALREADY_FINISHED
    older = request(execution_id=first.execution_id, token=2)
    assert await engine.start(older) is StartResult.ALREADY_FINISHED
    newer = request(execution_id=first.execution_id, token=4)
    assert await engine.start(newer) is StartResult.STARTED


async def test_workflows_are_found_by_ids_and_tell_nothing_else(where):
    client = await connect(where)
    await register_search_attributes(client)
    await register_search_attributes(client)
    engine, started = await opened(where), request()
    await engine.start(started)
    handle = client.get_workflow_handle(workflow_id(started.execution_id, 1))
    found = {pair.key.name: pair.value for pair in (await handle.describe()).typed_search_attributes}
    assert found == {
        WORKSPACE: str(started.workspace_id),
        WORKFLOW: str(started.workflow_id),
        VERSION: str(started.version_id),
    }
    assert b"secret" not in b"".join(e.SerializeToString() for e in (await handle.fetch_history()).events)


async def test_what_is_not_there_is_not_told_anything(where):
    engine = await opened(where)
    nobody = new_id()
    assert await engine.signal(nobody, 1, [new_id()]) is False
    assert await engine.cancel(nobody, 1) is False
    assert (await engine.describe(nobody, 1)).status is DriveStatus.UNKNOWN


async def test_a_workflow_is_canceled_and_signaled_while_it_is_open(where):
    client = await connect(where)
    await register_search_attributes(client)
    engine, started = await opened(where), request()
    await engine.start(started)
    assert await engine.signal(started.execution_id, 1, [new_id()]) is True
    assert await engine.cancel(started.execution_id, 1) is True
    handle = client.get_workflow_handle(workflow_id(started.execution_id, 1))
    await handle.terminate()
    assert await engine.signal(started.execution_id, 1, []) is False
    with pytest.raises(WorkflowFailureError):
        await handle.result()


@pytest.mark.parametrize("away", [NOBODY, None], ids=["nobody-listens", "no-such-namespace"])
async def test_a_server_that_cannot_be_used_is_away_and_no_refusal(where, away):
    away = away or TemporalAddress(address=where.address, namespace="nowhere")
    client = await connect(away)
    engine = await opened(away)
    for asking in (
        engine.start(request()),
        engine.signal(new_id(), 1, []),
        engine.cancel(new_id(), 1),
        engine.describe(new_id(), 1),
        check_connection(client),
        register_search_attributes(client),
    ):
        with pytest.raises(EngineAwayError):
            await asking


async def test_a_server_that_answers_is_there(where):
    await check_connection(await connect(where))
