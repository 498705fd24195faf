"""Changes are told of runs that somebody watches, gathered, and of no others."""

import asyncio
from contextlib import asynccontextmanager

from tests.engines.embedded.workers import eventually

from riven.completion import changes
from riven.completion.changes import ChangeFeed
from riven.db.channels import CHANGES, WATCH, read_ids
from riven.db.engine import Database
from riven.db.identity import new_id
from riven.db.listen import Listener


@asynccontextmanager
async def feed(database_url):
    """A feed, what is heard of it, and what it asks."""
    database = Database(database_url)
    made = ChangeFeed(database)
    heard, asked = [], []
    listener = Listener(database, {CHANGES: heard.append, WATCH: asked.append})
    listener.start()
    await listener.listening.wait()
    try:
        yield made, heard, asked
    finally:
        await made.close()
        await listener.stop()
        await database.close()


async def test_what_nobody_watches_is_told_to_nobody(database_url):
    async with feed(database_url) as (made, heard, _):
        watched = new_id()
        made.tell([new_id()])
        made.heard(str(watched))
        made.tell([new_id()])
        assert made._task is None
        made.tell([watched])
        await eventually(lambda: heard)
        assert heard == [str(watched)]


async def test_changes_that_come_close_together_are_told_at_once(database_url):
    async with feed(database_url) as (made, heard, _):
        watched = [new_id() for _ in range(3)]
        made.heard(",".join(map(str, watched)))
        for _ in range(50):
            made.tell(watched)
            await asyncio.sleep(0)
        await made.close()
        await eventually(lambda: heard)
        assert len(heard) <= 4
        assert {each for payload in heard for each in read_ids(payload)} == set(watched)


async def test_changes_that_come_one_by_one_are_not_gathered(database_url, monkeypatch):
    monkeypatch.setattr(changes, "_GATHER", 3_600)
    async with feed(database_url) as (made, heard, _):
        watched = new_id()
        made.heard(str(watched))
        for count in range(1, 6):
            made.tell([watched])
            await eventually(lambda count=count: len(heard) == count)


async def test_many_are_told_in_portions(database_url):
    async with feed(database_url) as (made, heard, _):
        watched = [new_id() for _ in range(450)]
        made.heard(",".join(map(str, watched)))
        made.tell(watched)
        await eventually(lambda: len(heard) == 3)
        assert [each for payload in heard for each in read_ids(payload)] == watched


async def test_who_does_not_say_so_again_watches_no_more(database_url, monkeypatch):
    monkeypatch.setattr(changes, "WATCHED", 0.0)
    async with feed(database_url) as (made, heard, _):
        watched = new_id()
        made.heard(str(watched))
        await asyncio.sleep(0.01)
        made.tell([watched])
        assert made._task is None
        assert made._watched == {}
        assert heard == []


async def test_words_that_are_no_ids_are_passed_over(database_url):
    async with feed(database_url) as (made, _, _asked):
        for payload in ("?", "", "x,y", "0198"):
            made.heard(payload)
        assert made._watched == {}


async def test_it_asks_who_watches(database_url):
    async with feed(database_url) as (made, _, asked):
        made.ask()
        await eventually(lambda: asked)
        assert asked == ["?"]
