"""The loop that serves the queue: woken, fair to each item, alive as long as it works."""

import asyncio
from contextlib import AsyncExitStack

from tests.dispatch.engines import Obedient, dispatcher
from tests.engines.embedded.workers import eventually
from tests.maintenance.kit import place
from tests.queue.lines import line_up, workspace

from riven.db.errors import DatabaseUnavailableError
from riven.dispatch import loop as looping
from riven.engines.port import StartRefusedError
from riven.queue.recover import promote_due


async def driven(engine: Obedient, count: int) -> None:
    await eventually(lambda: len(engine.driven) >= count)


async def test_what_is_announced_starts_at_once_however_rare_the_poll(database_url):
    async with place(database_url) as here, dispatcher(here.database, poll_interval=3_600) as one:
        at = await workspace(here.database, limit=5)
        await one.loop.registered.wait()
        await asyncio.sleep(0.05)
        (execution_id,) = await line_up(here.database, at, 1)
        here.announcer.announce((at,))
        one.announcer.announce((at,))
        assert await asyncio.wait_for(one.engine.tries.get(), 0.9) == execution_id


async def test_it_claims_no_more_than_the_engine_has_room_for(database_url):
    async with place(database_url) as here:
        await line_up(here.database, await workspace(here.database, limit=50), 20)
        async with dispatcher(here.database, Obedient(room=7)) as one:
            await driven(one.engine, 7)
            await asyncio.sleep(0.1)
            assert await here.value("SELECT count(*) FROM execution_queue WHERE status = 'CLAIMED'") == 7


async def test_one_item_at_fault_leaves_the_others_alone(database_url, caplog):
    async with place(database_url) as here:
        executions = await line_up(here.database, await workspace(here.database, limit=20), 10)
        engine = Obedient(room=20)
        engine.errors[executions[4]] = [ValueError("a defect"), ValueError("a defect")]
        async with dispatcher(here.database, engine):
            await driven(engine, 9)
        assert set(engine.driven) == set(executions) - {executions[4]}
        told = [record for record in caplog.records if record.message == "queue_item_error"]
        assert {record.queueId for record in told} == {str((await here.item(executions[4]))["id"])}


async def test_what_it_holds_without_driving_it_goes_back_in_line(database_url, caplog):
    """The start broke off: nobody would drive it, and its owner lives."""
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        engine = Obedient()
        engine.errors[execution_id] = [DatabaseUnavailableError("broken off")]
        async with dispatcher(here.database, engine, lease_ttl=0.3):
            await driven(engine, 1)
        assert engine.started[0].token == 2
        told = [record for record in caplog.records if record.message == "items_recovered"]
        assert [(record.count, record.reason) for record in told] == [(1, "forgotten")]


async def test_a_refused_start_makes_room_for_the_next_of_its_workspace_at_once(database_url):
    async with place(database_url) as here:
        first, second = await line_up(here.database, await workspace(here.database, limit=1), 2)
        engine = Obedient()
        engine.errors[first] = [StartRefusedError("no")]
        async with dispatcher(here.database, engine, poll_interval=3_600):
            await driven(engine, 1)
        assert engine.driven == [second]


async def test_a_workspace_that_has_reached_its_limit_is_told_of(database_url, caplog):
    caplog.set_level("INFO", "riven.dispatch")
    async with place(database_url) as here:
        at = await workspace(here.database, limit=2)
        await line_up(here.database, at, 3)
        async with dispatcher(here.database) as one:
            await driven(one.engine, 2)
        (told,) = [record for record in caplog.records if record.message == "workspace_at_capacity"]
        assert (told.workspaceId, told.active, told.limit) == (str(at), 2, 2)


async def test_a_suspect_is_settled_before_it_is_driven_and_beside_no_other(database_url, monkeypatch):
    monkeypatch.setattr(looping, "SUSPECT_DELAY", 0.05)
    async with place(database_url) as here:
        executions = await line_up(here.database, await workspace(here.database, limit=5), 3)
        await here.execute(
            "UPDATE workflow_executions SET suspect = true, recoveries = 2 WHERE id = ANY ($1::uuid[])",
            executions[:2],
        )
        engine = Obedient()
        statuses = []
        start = engine.start

        async def watched(request):
            statuses.append((request.suspect, (await here.item(request.execution_id))["status"]))
            engine.drives_suspect = engine.drives_suspect or request.suspect
            return await start(request)

        engine.start = watched
        async with dispatcher(here.database, engine):
            await driven(engine, 2)
            await asyncio.sleep(0.2)
            assert sorted(statuses) == [(False, "CLAIMED"), (True, "DISPATCHED")]
            (waiting,) = set(executions) - set(engine.driven)
            assert (await here.item(waiting))["holds_slot"]
            engine.drives_suspect = False  # its turn is over
            await driven(engine, 3)


async def test_it_gives_its_sign_of_life_and_says_when_it_was_judged_dead(database_url, caplog):
    async with place(database_url) as here, dispatcher(here.database, lease_ttl=0.15) as one:
        await one.loop.registered.wait()
        seen = await here.value("SELECT seen_at FROM processes")
        await asyncio.sleep(0.2)
        assert await here.value("SELECT seen_at FROM processes") > seen
        await here.execute("UPDATE processes SET dead = true")
        await eventually(lambda: "process_judged_dead" in caplog.messages)
        await asyncio.sleep(0.1)
        assert not await here.value("SELECT dead FROM processes")


async def test_draining_it_claims_nothing_and_stays_alive(database_url):
    async with place(database_url) as here, dispatcher(here.database, lease_ttl=0.15) as one:
        await one.loop.registered.wait()
        one.loop.drain()
        await line_up(here.database, await workspace(here.database), 1)
        seen = await here.value("SELECT seen_at FROM processes")
        await asyncio.sleep(0.3)
        assert one.engine.driven == []
        assert await here.value("SELECT seen_at FROM processes") > seen


async def test_an_item_whose_time_comes_is_started_then(database_url):
    async with place(database_url) as here, dispatcher(here.database, poll_interval=3_600) as one:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        await here.execute(
            "UPDATE execution_queue SET due = false, available_at = now() + interval '400 milliseconds'"
        )
        begun = asyncio.get_running_loop().time()
        assert await asyncio.wait_for(one.engine.tries.get(), 5) == execution_id
        assert asyncio.get_running_loop().time() - begun < 2


async def test_a_due_item_that_somebody_holds_keeps_no_loop_spinning(database_url, monkeypatch):
    looks = []

    async def counted(database):
        looks.append(database)
        return await promote_due(database)

    monkeypatch.setattr(looping, "promote_due", counted)
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        await here.execute("UPDATE execution_queue SET due = false")
        async with dispatcher(here.database, poll_interval=3_600) as one:
            async with here.database.transaction() as holder:
                await holder.fetch("SELECT FROM execution_queue FOR UPDATE")
                await one.loop.registered.wait()
                before = len(looks)
                await asyncio.sleep(0.5)
                assert len(looks) - before <= 30
                await eventually(lambda: len(looks) > before)
            assert await asyncio.wait_for(one.engine.tries.get(), 5) == execution_id


async def test_what_nobody_announced_is_found_by_looking(database_url):
    async with place(database_url) as here, dispatcher(here.database, poll_interval=0.05) as one:
        await one.loop.registered.wait()
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        assert await asyncio.wait_for(one.engine.tries.get(), 5) == execution_id


async def test_a_workspace_that_somebody_serves_is_tried_again_at_once(database_url):
    async with place(database_url) as here, AsyncExitStack() as serving:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        somebody = await serving.enter_async_context(here.database.transaction())
        await somebody.fetch("SELECT FROM workspaces FOR NO KEY UPDATE")
        async with dispatcher(here.database, poll_interval=3_600, lease_ttl=3_600) as one:
            await one.loop.registered.wait()
            await asyncio.sleep(0.1)
            assert one.engine.tries.empty()
            await serving.aclose()
            assert await asyncio.wait_for(one.engine.tries.get(), 0.9) == execution_id


async def test_a_switched_off_engine_takes_up_nothing_that_holds_its_slot_either(database_url):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        await here.claim(await here.worker())
        await here.execute(
            "UPDATE execution_queue SET status = 'PENDING', owner_id = NULL, holds_slot = true, available_at = now()"
        )
        async with dispatcher(here.database, enabled=False, poll_interval=0.01) as off:
            await off.loop.registered.wait()
            await asyncio.sleep(0.2)
            assert off.engine.tries.empty()
            assert (await here.item(execution_id))["status"] == "PENDING"
        async with dispatcher(here.database) as on:
            assert await asyncio.wait_for(on.engine.tries.get(), 5) == execution_id
