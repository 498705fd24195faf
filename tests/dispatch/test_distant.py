"""Dispatch to an engine that is elsewhere: a real Temporal, of which nobody takes the work, and which goes and comes."""

import asyncio

import pytest
from tests.dispatch.distant import distant_dispatcher, server, until
from tests.engines.embedded.workers import eventually
from tests.fixtures_temporal import FORGETFUL
from tests.maintenance.kit import place
from tests.queue.lines import line_up, workspace

from riven.completion.undriven import end_undriven
from riven.core.messages import ExecutionStatus
from riven.devstack.temporal import EmbeddedTemporal
from riven.dispatch import control as controlling
from riven.dispatch.starter import DistantStarter
from riven.engines.port import DriveStatus, StartUncertainError
from riven.queue.claim import claim_executions
from riven.queue.settle import Drive, settle_dispatched
from riven.views.waiting import engine_trouble, why_waiting

STATES = "SELECT status, owner_id IS NULL AS free, attempts, holds_slot, waiting_kind FROM execution_queue"


async def states(here) -> set[tuple]:
    async with here.database.read() as connection:
        return {tuple(row) for row in await connection.fetch(STATES)}


async def until_states(here, wanted: set[tuple]) -> None:
    async def so() -> bool:
        return await states(here) == wanted

    await until(so)


DISPATCHED = ("DISPATCHED", True, 0, False, None)


async def test_what_is_in_line_is_started_and_is_the_engine_s_from_then_on(database_url, temporal_server):
    async with place(database_url) as here, server(temporal_server.address) as there:
        executions = await line_up(here.database, await workspace(here.database, limit=7), 9)
        async with distant_dispatcher(here.database, there.engine) as one:
            await until_states(here, {DISPATCHED, ("PENDING", True, 0, False, None)})
            assert await here.value("SELECT count(*) FROM workflow_executions WHERE status = 'RUNNING'") == 7
            seen = await here.row("SELECT * FROM processes")
            assert (seen["role"], seen["engine"], seen["engine_error"]) == ("dispatcher", "temporal", None)
        for execution_id in executions[:7]:
            found = await there.engine.describe(execution_id, 1)
            assert (found.status, found.token) == (DriveStatus.OPEN, 1)
        # a dispatcher that goes takes nothing of it along
        assert one.task.done()
        assert DISPATCHED in await states(here)


async def test_a_start_that_was_not_settled_is_found_by_the_next_one(database_url, temporal_server):
    """As when the dispatcher dies in between: the item goes back in line, and keeps its slot."""
    async with place(database_url) as here, server(temporal_server.address) as there:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        first = await here.worker()
        (claimed,) = (await claim_executions(here.database, first.id, 1)).claimed
        starter = DistantStarter(here.database, there.engine, first.id)
        assert await starter.start(claimed)
        await here.execute(
            "UPDATE execution_queue SET status = 'PENDING', owner_id = NULL, holds_slot = true, due = true"
        )
        async with distant_dispatcher(here.database, there.engine):
            await until_states(here, {DISPATCHED})
        found = await there.engine.describe(execution_id, 1)
        assert (found.status, found.token) == (DriveStatus.OPEN, 1)
        events = await there.events(execution_id)
        assert (events["STARTED"], events["SIGNALED"]) == (1, 1)  # admitted, with the new token
        assert (await here.execution(execution_id))["token"] == 2


async def test_what_the_run_has_settled_itself_is_left_with_nobody(database_url):
    """A worker may be faster than the dispatcher's second commit."""
    async with place(database_url) as here:
        await line_up(here.database, await workspace(here.database), 1)
        owner = await here.worker()
        (claimed,) = await here.claim(owner)
        drive = Drive(claimed.execution_id, claimed.run, claimed.token)
        async with here.database.transaction() as connection:
            assert await settle_dispatched(connection, [drive], None) == [claimed.execution_id]
        assert await states(here) == {DISPATCHED}
        async with here.database.transaction() as connection:
            assert await settle_dispatched(connection, [drive], None) == []


@pytest.fixture
def absent(tmp_path):
    """A server that is not there yet, at an address that it keeps."""
    made = EmbeddedTemporal(tmp_path / "temporal", pragmas=FORGETFUL)
    asyncio.run(made.start())
    asyncio.run(made.stop(deadline=0))
    yield made
    asyncio.run(made.stop(deadline=0))


async def test_an_engine_that_is_away_costs_nothing_and_all_is_started_when_it_comes(
    database_url, absent, monkeypatch
):
    monkeypatch.setattr("riven.dispatch.reach.LONGEST_PAUSE", 1.0)
    async with place(database_url) as here:
        executions = await line_up(here.database, await workspace(here.database, limit=50), 20)
        client_of = server(absent.address)
        await absent.start()
        async with client_of as there:
            await absent.stop(deadline=0)
            async with distant_dispatcher(here.database, there.engine, patience=1.0):
                await until(lambda: here.value("SELECT engine_error FROM processes"))
                async with here.database.read() as connection:
                    assert await engine_trouble(connection) == "no answer within 1 s"
                    kinds = {(await why_waiting(connection, each)).kind for each in executions}
                assert kinds == {"engine_down"}
                assert {status for status, *_ in await states(here)} == {"PENDING"}
                assert await here.value("SELECT max(attempts) FROM execution_queue") == 0
                await absent.start()
                await until_states(here, {DISPATCHED})
                async with here.database.read() as connection:
                    assert await engine_trouble(connection) is None


async def test_a_start_of_which_nobody_knows_keeps_its_slot_and_is_tried_again(database_url, temporal_server):
    async with place(database_url) as here, server(temporal_server.address) as there:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        start, lost = there.engine.start, []

        async def answerless(request):
            result = await start(request)
            if not lost:
                lost.append(result)
                raise StartUncertainError("the answer was lost")
            return result

        there.engine.start = answerless
        async with distant_dispatcher(here.database, there.engine):
            await until_states(here, {("PENDING", True, 0, True, "engine_down")})
            assert (await here.execution(execution_id))["status"] == "RUNNING"
            await until_states(here, {DISPATCHED})
        assert (await there.events(execution_id))["STARTED"] == 1


async def test_what_is_asked_of_a_run_is_told_once_and_then_ever_more_rarely(database_url, temporal_server):
    async with place(database_url) as here, server(temporal_server.address) as there:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        async with distant_dispatcher(here.database, there.engine) as one:
            await until_states(here, {DISPATCHED})
            ask = "INSERT INTO signals (execution_id, kind, name, run) VALUES ($1, 'SIGNAL', 'go', 1)"
            await here.execute(ask, execution_id)

            async def told() -> int:
                return (await there.events(execution_id))["SIGNALED"]

            await until(told)
            await eventually(lambda: one.control._told)
            await one.control.stop()  # from here on it is asked for by the test alone
            for _ in range(10):
                await one.control.deliver(None)
            assert await told() == 1
            (memory,) = one.control._told.values()
            memory.again = 0.0  # it is time
            await one.control.deliver((execution_id,))
            await one.control.deliver(None)
            assert await told() == 2
            (memory,) = one.control._told.values()
            assert memory.pause == 2 * controlling.FIRST_REPEAT
            await here.execute("UPDATE signals SET seq = 1")
            memory.again = 0.0
            await one.control.deliver(None)
            assert await told() == 2
            assert one.control._told == {}


async def test_what_was_ended_by_its_rows_is_canceled_there(database_url, temporal_server):
    async with place(database_url) as here, server(temporal_server.address) as there:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        async with distant_dispatcher(here.database, there.engine) as one:
            await until_states(here, {DISPATCHED})
            # as one that waits: nobody drives it
            await here.execute(
                "UPDATE execution_queue SET status = 'PENDING', due = false, available_at = NULL"
            )
            await here.execute("UPDATE workflow_executions SET status = 'WAITING'")
            async with here.database.transaction() as connection:
                assert await end_undriven(connection, execution_id, ExecutionStatus.CANCELED)
            one.control.connected()

            async def asked() -> int:
                return (await there.events(execution_id))["CANCEL_REQUESTED"]

            await until(asked)
            await until(lambda: here.value("SELECT bool_and(void) FROM signals"))


async def test_what_was_never_started_leaves_nothing_to_cancel(database_url):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        async with here.database.transaction() as connection:
            assert await end_undriven(connection, execution_id, ExecutionStatus.CANCELED)
        assert await here.value("SELECT count(*) FROM signals") == 0


async def test_two_dispatchers_start_each_execution_once(database_url, temporal_server):
    async with place(database_url) as here, server(temporal_server.address) as there:
        executions = await line_up(here.database, await workspace(here.database, limit=100), 40)
        async with (
            distant_dispatcher(here.database, there.engine) as one,
            distant_dispatcher(here.database, there.engine) as other,
        ):
            assert one.process.id != other.process.id
            await until_states(here, {DISPATCHED})
        for execution_id in executions:
            assert (await there.events(execution_id))["STARTED"] == 1
        assert await here.value("SELECT max(token) FROM workflow_executions") == 1
