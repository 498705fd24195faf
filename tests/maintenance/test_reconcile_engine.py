"""What runs here is compared with a real Temporal: where the two differ, it is ended or taken up again, with the reason."""

from contextlib import asynccontextmanager

import pytest
from temporalio import workflow
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.worker import UnsandboxedWorkflowRunner, Worker
from tests.dispatch.distant import Server, distant_dispatcher, server, until
from tests.maintenance.kit import place
from tests.queue.lines import line_up, workspace

from riven.engines.port import DriveStatus, EngineAwayError
from riven.engines.temporal.names import workflow_id
from riven.maintenance.reconcile import EngineReconciler
from riven.queue.recover import LAST_RECOVERY
from riven.wire.temporal import WORKFLOW_TYPE, RunInput

DISPATCHED = "SELECT bool_and(status = 'DISPATCHED' AND owner_id IS NULL) FROM execution_queue"
BACK_IN_LINE = ("PENDING", True, True)


@workflow.defn(name=WORKFLOW_TYPE)
class Forgetful:
    """Ends without recording its end: what is left when the database was away at the wrong moment."""

    @workflow.run
    async def run(self, given: RunInput) -> None:
        if given.continue_after == 1:
            raise ApplicationError("its end was not recorded", non_retryable=True)


@asynccontextmanager
async def one_dispatched(database_url: str, address: str, **options):
    async with place(database_url) as here, server(address) as there:
        for name, value in options.items():
            setattr(there.engine, name, value)
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        async with distant_dispatcher(here.database, there.engine):
            await until(lambda: here.value(DISPATCHED))
        yield here, there, execution_id


async def item_of(here, execution_id) -> tuple:
    item = await here.item(execution_id)
    return item["status"], item["due"], item["holds_slot"]


def reconciler(here, there: Server) -> EngineReconciler:
    return EngineReconciler(here.database, here.announcer, there.engine, after=0.0)


async def close(address: str, there: Server, execution_id) -> None:
    async with Worker(
        await Client.connect(address),
        task_queue=there.queue,
        workflows=[Forgetful],
        workflow_runner=UnsandboxedWorkflowRunner(),
    ):

        async def closed() -> bool:
            return (await there.engine.describe(execution_id, 1)).status is not DriveStatus.OPEN

        await until(closed)


async def test_what_is_open_there_is_left_alone(database_url, temporal_server):
    async with one_dispatched(database_url, temporal_server.address) as (here, there, execution_id):
        before = (await here.item(execution_id), await here.execution(execution_id))
        await reconciler(here, there).perform()
        assert (await here.item(execution_id), await here.execution(execution_id)) == before


@pytest.mark.parametrize(
    ("reason", "shown"),
    [("a person has seen enough", "a person has seen enough"), (None, "terminated by user via frontend")],
)
async def test_what_was_terminated_there_is_canceled_with_that_reason(
    database_url, temporal_server, caplog, reason, shown
):
    async with one_dispatched(database_url, temporal_server.address) as (here, there, execution_id):
        await there.client.get_workflow_handle(workflow_id(execution_id, 1)).terminate(reason=reason)
        await reconciler(here, there).perform()
        row = await here.execution(execution_id)
        assert (row["status"], row["error_message"]) == (
            "CANCELED",
            f"it was terminated in Temporal: {shown}",
        )
        assert await here.item(execution_id) is None
        (drift,) = [record for record in caplog.records if record.message == "engine_drift"]
        assert (drift.executionId, drift.status, drift.done) == (str(execution_id), "terminated", "ended")


async def test_what_is_unknown_there_goes_back_in_line_and_keeps_its_slot(database_url, temporal_server):
    async with place(database_url) as here, server(temporal_server.address) as there:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        await here.claim(await here.worker())
        await here.execute("UPDATE execution_queue SET owner_id = NULL")
        await reconciler(here, there).perform()
        assert await item_of(here, execution_id) == BACK_IN_LINE
        assert (await here.execution(execution_id))["status"] == "RUNNING"
        async with distant_dispatcher(here.database, there.engine):
            await until(lambda: here.value(DISPATCHED))
        assert (await there.engine.describe(execution_id, 1)).status is DriveStatus.OPEN


@pytest.mark.parametrize(
    ("options", "status"), [({}, DriveStatus.COMPLETED), ({"_continue_after": 1}, DriveStatus.FAILED)]
)
async def test_what_was_closed_without_its_end_being_recorded_is_taken_up_again(
    database_url, temporal_server, options, status
):
    async with one_dispatched(database_url, temporal_server.address, **options) as (
        here,
        there,
        execution_id,
    ):
        await close(temporal_server.address, there, execution_id)
        assert (await there.engine.describe(execution_id, 1)).status is status
        await reconciler(here, there).perform()
        assert await item_of(here, execution_id) == BACK_IN_LINE
        async with distant_dispatcher(here.database, there.engine):
            await until(lambda: here.value(DISPATCHED))
        found = await there.engine.describe(execution_id, 1)
        assert (found.status, found.token) == (DriveStatus.OPEN, 2)


async def test_what_is_closed_again_and_again_ends_with_the_reason(database_url, temporal_server):
    async with one_dispatched(database_url, temporal_server.address) as (here, there, execution_id):
        await close(temporal_server.address, there, execution_id)
        await here.execute("UPDATE workflow_executions SET recoveries = $1", LAST_RECOVERY - 1)
        await reconciler(here, there).perform()
        row = await here.execution(execution_id)
        assert (row["status"], row["error_type"]) == ("FAILED", "INTERNAL_ERROR")
        assert "without its end being recorded" in row["error_message"]
        assert (await here.item(execution_id))["status"] == "FAILED"


async def test_what_somebody_else_has_taken_up_since_is_left_alone(database_url, temporal_server):
    """It was read before its lock: another dispatcher's claim, a parked run, an end."""
    async with one_dispatched(database_url, temporal_server.address) as (here, there, execution_id):
        await there.client.get_workflow_handle(workflow_id(execution_id, 1)).terminate()
        describe = there.engine.describe

        async def late(execution_id, run):
            said = await describe(execution_id, run)
            await here.execute("UPDATE workflow_executions SET token = token + 1")
            return said

        there.engine.describe = late
        await reconciler(here, there).perform()
        assert (await here.execution(execution_id))["status"] == "RUNNING"


async def test_items_in_line_or_with_an_owner_are_nobody_s_to_judge(database_url, temporal_server):
    async with place(database_url) as here, server(temporal_server.address) as there:
        at = await workspace(here.database, limit=5)
        await line_up(here.database, at, 3)
        await here.claim(await here.worker(), 1)
        await here.claim(await here.worker(), 1, settled=False)
        before = await here.value("SELECT string_agg(status, ',' ORDER BY status) FROM execution_queue")
        await reconciler(here, there).perform()
        assert before == await here.value(
            "SELECT string_agg(status, ',' ORDER BY status) FROM execution_queue"
        )
        assert before == "CLAIMED,DISPATCHED,PENDING"


async def test_a_run_that_was_dispatched_a_moment_ago_is_not_asked_for(database_url, temporal_server):
    async with one_dispatched(database_url, temporal_server.address) as (here, there, execution_id):
        await there.client.get_workflow_handle(workflow_id(execution_id, 1)).terminate()
        patient = EngineReconciler(here.database, here.announcer, there.engine)
        await patient.perform()
        assert (await here.execution(execution_id))["status"] == "RUNNING"
        await here.execute("UPDATE execution_queue SET dispatched_at = now() - interval '21 s'")
        await patient.perform()
        assert (await here.execution(execution_id))["status"] == "CANCELED"


async def test_while_the_engine_is_away_nothing_is_judged(database_url, temporal_server, caplog):
    async with one_dispatched(database_url, temporal_server.address) as (here, there, execution_id):

        async def away(*_):
            raise EngineAwayError("connection refused")

        there.engine.describe = away
        await reconciler(here, there).perform()
        assert (await here.execution(execution_id))["status"] == "RUNNING"
        assert "engine_away" in [record.message for record in caplog.records]
