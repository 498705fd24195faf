"""Announcements that get lost: what they were for happens all the same."""

import asyncio

from tests.engines.embedded.workers import eventually
from tests.maintenance.kit import place
from tests.queue.lines import line_up, workspace

from riven.db.engine import Database
from riven.db.identity import new_id
from riven.queue import wake
from riven.queue.wake import Announcer, WakeListener

HINTED = "SELECT idle OR at_capacity FROM workspaces"
BLOCKED = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
"""
BREAK = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND "
BREAK_BLOCKED = f"{BREAK} wait_event_type = 'Lock'"
BREAK_LISTENING = f"{BREAK} query LIKE 'LISTEN%'"


async def until(here, statement: str) -> None:
    async with asyncio.timeout(10):
        while not await here.value(statement):  # noqa: ASYNC110 - PostgreSQL tells nobody
            await asyncio.sleep(0.01)


async def test_an_announcement_whose_connection_breaks_is_repeated(database_url, monkeypatch):
    monkeypatch.setattr(wake, "_AGAIN", 0.01)
    async with place(database_url) as here:
        at = await workspace(here.database)
        await here.execute("UPDATE workspaces SET at_capacity = true")
        woken = []
        here.announcer.listen(lambda: woken.append(True))
        async with here.database.transaction() as connection:
            await connection.fetch("SELECT FROM workspaces FOR UPDATE")
            here.announcer.announce((at,))
            await until(here, BLOCKED)
            assert len(await connection.fetch(BREAK_BLOCKED)) == 1
            await eventually(lambda: woken)
            assert await here.value(HINTED)
        await until(here, f"SELECT NOT ({HINTED})")


async def test_closing_does_not_wait_for_a_database_that_is_away(caplog):
    announcer = Announcer(Database("postgresql://nobody@127.0.0.1:1/none"), new_id())
    announcer.announce((new_id(),))
    async with asyncio.timeout(5):
        await announcer.close()
    assert [record.message for record in caplog.records] == ["wake_up_lost"]


async def test_a_listener_whose_connection_breaks_makes_up_for_what_it_missed(database_url):
    async with place(database_url) as here:
        woken: asyncio.Queue[None] = asyncio.Queue()
        listener = WakeListener(here.database, new_id(), lambda: woken.put_nowait(None))
        listener.start()
        await woken.get()
        await line_up(here.database, await workspace(here.database), 1)
        await here.execute("UPDATE workspaces SET idle = true")
        async with here.database.read() as connection:
            assert await connection.fetch(BREAK_LISTENING)
        await asyncio.wait_for(woken.get(), 5)
        assert not await here.value(HINTED)
        await listener.stop()


async def test_what_is_heard_of_others_transactions_is_heeded_even_if_the_connection_for_it_breaks(
    database_url, monkeypatch
):
    monkeypatch.setattr(wake, "_AGAIN", 0.01)
    async with place(database_url) as here:
        listener = WakeListener(here.database, new_id(), lambda: None)
        listener.start()
        await listener._listener.listening.wait()
        at = await workspace(here.database)
        await line_up(here.database, at, 1)
        await here.execute("UPDATE workspaces SET idle = true")
        async with here.database.transaction() as holder:
            await holder.fetch("SELECT FROM workspaces FOR UPDATE")
            async with here.database.transaction() as connection:
                await wake.notify_within(connection, [at])
            await until(here, BLOCKED)
            assert len(await holder.fetch(BREAK_BLOCKED)) == 1
        await until(here, f"SELECT NOT ({HINTED})")
        await listener.stop()


async def test_two_announcements_of_the_same_workspaces_cannot_lock_each_other_out(database_url):
    """They take the locks by id, wherever the rows stand."""
    async with place(database_url) as here:
        low, high = sorted([await workspace(here.database), await workspace(here.database)])
        for each in (high, low):
            await here.execute("UPDATE workspaces SET at_capacity = true WHERE id = $1", each)
        async with here.database.transaction() as holder:
            await holder.fetch("SELECT FROM workspaces WHERE id = $1 FOR UPDATE", low)
            here.announcer.announce((high, low))
            await until(here, BLOCKED)
            free = "SELECT count(*) FROM (SELECT FROM workspaces WHERE id = $1 FOR UPDATE SKIP LOCKED) w"
            assert await here.value(free, high) == 1
        await until(here, "SELECT bool_and(NOT at_capacity) FROM workspaces")
