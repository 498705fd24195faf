"""What becomes of a claimed execution: the engine has it, refuses it, or is away."""

import pytest
from tests.dispatch.engines import Obedient
from tests.maintenance.kit import place
from tests.queue.lines import line_up, workspace

from riven.dispatch.starter import Starter, put_aside
from riven.engines.port import EngineAwayError, StartRefusedError
from riven.queue.claim import Stray, claim_executions

READY = "UPDATE execution_queue SET due = true, available_at = now()"
WAKE = "UPDATE workspaces SET idle = false, at_capacity = false"


def messages(caplog) -> list[str]:
    return [record.message for record in caplog.records if record.name == "riven.dispatch"]


async def start_once(here, starter, worker):
    """Let it be due, claim it and start it."""
    await here.execute(READY)
    await here.execute(WAKE)
    (claimed,) = (await claim_executions(here.database, worker.id, 1)).claimed
    return claimed, await starter.start(claimed)


async def test_the_engine_is_given_everything_that_the_run_needs(database_url, caplog):
    caplog.set_level("INFO", "riven.dispatch")
    async with place(database_url) as here:
        at = await workspace(here.database, name="acme")
        (execution_id,) = await line_up(here.database, at, 1)
        await here.execute("""UPDATE workflow_executions SET input = '{"n": 4}'""")
        engine = Obedient()
        claimed, started = await start_once(here, Starter(here.database, engine), await here.worker())
        assert started
        (request,) = engine.started
        assert (request.execution_id, request.run, request.token) == (execution_id, 1, 1)
        assert (request.workspace_id, request.workspace_name, request.input) == (at, "acme", {"n": 4})
        assert (request.resumed, request.recovered, request.suspect) == (False, False, False)
        assert messages(caplog) == ["dispatching", "dispatched"]
        dispatching, dispatched = caplog.records
        assert (dispatching.queueId, dispatching.workflowDefinitionId) == (
            str(claimed.queue_id), str(claimed.row["workflow_definition_id"]),
        )  # fmt: skip
        assert (dispatched.executionId, dispatched.queueId) == (str(execution_id), str(claimed.queue_id))


async def test_a_refused_start_is_an_attempt_and_gives_the_slot_back(database_url, caplog):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        engine = Obedient()
        engine.errors[None] = [StartRefusedError("no")]
        claimed, started = await start_once(here, Starter(here.database, engine), await here.worker())
        assert not started
        item, execution = await here.item(execution_id), await here.execution(execution_id)
        assert (item["status"], item["attempts"], item["last_error"], item["due"]) == (
            "PENDING",
            1,
            "no",
            False,
        )
        assert (execution["status"], execution["started_at"]) == ("PENDING", None)
        waits = await here.value("SELECT extract(epoch FROM available_at - now()) FROM execution_queue")
        assert 4 < waits <= 5
        assert messages(caplog) == ["engine_start_failed", "queue_item_error"]
        assert {(record.queueId, record.error) for record in caplog.records} == {
            (str(claimed.queue_id), "no")
        }


async def test_the_third_refusal_makes_it_a_dead_letter_and_its_execution_has_failed(database_url, caplog):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        engine, worker = Obedient(), await here.worker()
        engine.errors[None] = [StartRefusedError(f"no {number}") for number in (1, 2, 3)]
        starter = Starter(here.database, engine, 3)
        for _ in range(3):
            _, started = await start_once(here, starter, worker)
            assert not started
        item, execution = await here.item(execution_id), await here.execution(execution_id)
        assert (item["status"], item["attempts"]) == ("FAILED", 3)
        assert (execution["status"], execution["error_type"]) == ("FAILED", "DISPATCH_FAILED")
        assert execution["error_message"] == "the engine refused 3 starts, the last with: no 3"
        assert "queue_item_failed" in messages(caplog)


async def test_a_workspace_may_allow_more_attempts_or_fewer(database_url):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        await here.execute("UPDATE workspaces SET max_attempts = 1")
        engine = Obedient()
        engine.errors[None] = [StartRefusedError("no")]
        await start_once(here, Starter(here.database, engine, 3), await here.worker())
        assert (await here.execution(execution_id))["status"] == "FAILED"


async def test_an_engine_that_is_away_costs_no_attempt(database_url):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        engine, worker = Obedient(), await here.worker()
        engine.errors[None] = [EngineAwayError("away") for _ in range(5)]
        starter = Starter(here.database, engine, 3)
        for _ in range(5):
            await start_once(here, starter, worker)
        item = await here.item(execution_id)
        assert (item["status"], item["attempts"], item["waiting_kind"]) == ("PENDING", 0, "engine_down")
        assert (await here.execution(execution_id))["status"] == "PENDING"


@pytest.mark.parametrize("error", [StartRefusedError("no"), EngineAwayError("away")])
@pytest.mark.parametrize("attempts", [1, 3])
async def test_a_run_that_was_to_be_canceled_when_its_start_failed_waits_for_no_other_start(
    database_url, error, attempts
):
    """Who asked found it with an owner, so nobody else would end it."""
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        engine = Obedient()
        start = engine.start

        async def start_too_late(request):
            await here.execute(
                "INSERT INTO signals (execution_id, kind, run) VALUES ($1, 'CANCEL', 1)", execution_id
            )
            return await start(request)

        engine.start = start_too_late
        engine.errors[None] = [error]
        _, started = await start_once(here, Starter(here.database, engine, attempts), await here.worker())
        assert not started
        assert (await here.execution(execution_id))["status"] == "CANCELED"
        assert await here.item(execution_id) is None


async def test_a_retry_reuses_the_execution(database_url):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        engine, worker = Obedient(), await here.worker()
        engine.errors[None] = [StartRefusedError("no")]
        starter = Starter(here.database, engine)
        await start_once(here, starter, worker)
        _, started = await start_once(here, starter, worker)
        assert started
        assert [request.execution_id for request in engine.started] == [execution_id]
        assert await here.value("SELECT count(*) FROM workflow_executions") == 1


@pytest.mark.parametrize(
    ("status", "left"),
    [
        (None, "FAILED"),
        ("PAUSED", "PENDING"),
        ("COMPLETED", None),
        ("CANCELED", None),
        ("FAILED", "FAILED"),
    ],
)
async def test_an_item_that_needs_no_start_is_put_aside(database_url, status, left, caplog):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        if status not in (None, "PAUSED"):
            await here.execute("UPDATE workflow_executions SET status = $1, finished_at = now()", status)
        queue_id = (await here.item(execution_id))["id"]
        async with here.database.transaction() as connection:
            await put_aside(connection, Stray(queue_id, execution_id, status))
        item = await here.item(execution_id)
        assert (None if item is None else item["status"]) == left
        if status is None:
            assert item["last_error"] == "the execution is gone"
            assert messages(caplog) == ["execution_not_found_for_retry", "queue_item_failed"]
        if status == "PAUSED":
            assert not item["due"]


async def test_an_item_that_somebody_has_put_in_line_again_meanwhile_stays(database_url):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        queue_id = (await here.item(execution_id))["id"]
        async with here.database.transaction() as connection:
            await put_aside(connection, Stray(queue_id, execution_id, "FAILED"))
        assert (await here.item(execution_id))["status"] == "PENDING"
