import asyncio

import pytest
from tests.intake.proxy import proxied

from riven.db import listen
from riven.db.engine import Database
from riven.db.listen import ChannelListener


class Ear:
    """What was heard, and how often listening began."""

    def __init__(self) -> None:
        self.heard: asyncio.Queue[str] = asyncio.Queue()
        self.began: asyncio.Queue[None] = asyncio.Queue()

    def listener(self, database: Database, channel: str = "riven_test") -> ChannelListener:
        return ChannelListener(
            database, channel, heard=self.heard.put_nowait, connected=lambda: self.began.put_nowait(None)
        )


async def tell(database: Database, channel: str, text: str) -> None:
    async with database.transaction() as connection:
        await connection.fetch("SELECT pg_notify($1, $2)", channel, text)


async def test_what_is_said_on_the_channel_is_heard_in_order(database_url: str) -> None:
    database, ear = Database(database_url), Ear()
    listener = ear.listener(database)
    listener.start()
    listener.start()  # twice is once
    await listener.listening.wait()
    await tell(database, "riven_other", "not for us")
    for text in ("one", "two", ""):
        await tell(database, "riven_test", text)
    assert [await ear.heard.get() for _ in range(3)] == ["one", "two", ""]
    await listener.stop()
    await listener.stop()
    await tell(database, "riven_test", "too late")
    await database.close()
    assert ear.heard.empty()
    assert ear.began.qsize() == 1


async def test_a_lost_connection_is_noticed_and_made_anew(database_url: str) -> None:
    database, ear = Database(database_url), Ear()
    listener = ear.listener(database)
    listener.start()
    await ear.began.get()
    async with database.read() as connection:
        await connection.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    await ear.began.get()  # whoever listens is told that something may have been missed
    await tell(database, "riven_test", "back")
    assert await ear.heard.get() == "back"
    await listener.stop()
    await database.close()


async def test_a_connection_that_dies_without_a_word_is_noticed_too(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listen, "_PING_EVERY", 0.2)
    async with proxied(database_url) as (proxy, url):
        database, ear = Database(url), Ear()
        listener = ear.listener(database)
        listener.start()
        await ear.began.get()
        proxy.fall_silent()
        await tell(database, "riven_test", "nobody hears this")
        await ear.began.get()
        await tell(database, "riven_test", "back")
        assert await ear.heard.get() == "back"
        await listener.stop()
        await database.close()


async def test_listening_begins_when_the_database_is_there(database_url: str) -> None:
    database, ear = Database("postgresql://nobody@127.0.0.1:1/none"), Ear()
    listener = ear.listener(database)
    listener.start()
    await asyncio.sleep(0)
    assert not listener.listening.is_set()
    database.url = database_url
    await ear.began.get()
    await listener.stop()
    await database.close()
