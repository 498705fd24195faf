"""Announcements that get lost: what they were for happens all the same."""

import asyncio
from contextlib import asynccontextmanager

from tests.engines.embedded.workers import eventually
from tests.maintenance.kit import place
from tests.queue.lines import finish, line_up, workspace

from riven.db.engine import Database
from riven.db.identity import new_id
from riven.maintenance.reconcile import Reconciler
from riven.queue import wake
from riven.queue.claim import claim_executions
from riven.queue.wake import Announcer, WakeListener

NO_WRITES = "LOCK TABLE workspaces IN SHARE MODE"
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
            await connection.execute(NO_WRITES)
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
            await holder.execute(NO_WRITES)
            async with here.database.transaction() as connection:
                await wake.notify_within(connection, [at])
            await until(here, BLOCKED)
            assert len(await holder.fetch(BREAK_BLOCKED)) == 1
        await until(here, f"SELECT NOT ({HINTED})")
        await listener.stop()


async def test_a_workspace_that_somebody_holds_keeps_no_other_from_being_announced(database_url):
    """Somebody has forgotten to end his transaction."""
    async with place(database_url) as here:
        held, other = await workspace(here.database), await workspace(here.database)
        for at in (held, other):
            await line_up(here.database, at, 1)
        await here.execute("UPDATE workspaces SET at_capacity = true")
        free = f"SELECT NOT at_capacity FROM workspaces WHERE id = '{other}'"
        reconciler = Reconciler(here.database, here.announcer)
        async with here.database.transaction() as holder:
            await holder.fetch("SELECT FROM workspaces WHERE id = $1 FOR UPDATE", held)
            here.announcer.announce((held, other))
            await until(here, free)
            await here.execute("UPDATE workspaces SET at_capacity = true WHERE id = $1", other)
            async with asyncio.timeout(10):
                await reconciler.clear_hints()
            await until(here, free)
        assert not await here.value("SELECT bool_and(NOT at_capacity) FROM workspaces")
        await reconciler.clear_hints()
        await until(here, "SELECT bool_and(NOT at_capacity) FROM workspaces")


async def test_a_claim_looks_again_for_those_who_could_not_tell_it(database_url):
    """While it is being served a workspace is announced in vain: whoever serves it finds out by himself."""
    async with place(database_url) as here:
        at = await workspace(here.database, limit=1)
        await line_up(here.database, at, 2)
        (running,) = await here.claim(await here.worker(), 1)
        announced = asyncio.Event()

        class Claiming(Database):
            """Announces the end of the run when the claim has counted and not yet committed."""

            @asynccontextmanager
            async def transaction(self):
                async with super().transaction() as connection:
                    yield connection
                    if not announced.is_set():
                        await finish(here.database, running, hinted=True)
                        here.announcer.announce((at,))
                        await here.announcer.close()
                        announced.set()

        database = Claiming(database_url)
        await here.execute("UPDATE workspaces SET at_capacity = false")
        claim = await claim_executions(database, new_id(), 1)
        assert announced.is_set()
        assert (claim.claimed, claim.skipped) == ([], True)
        assert not await here.value(HINTED)
        await database.close()
