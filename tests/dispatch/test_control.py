"""What is asked of runs reaches those that are driven here, also when words come early or get lost."""

import asyncio
from contextlib import asynccontextmanager
from uuid import UUID

from tests.engines.embedded.workers import eventually, installation

from riven.db.identity import new_id
from riven.dispatch import control
from riven.dispatch.control import ControlDelivery


class Driver:
    """An engine as far as control needs one."""

    def __init__(self) -> None:
        self.running: list[UUID] = []
        self.looked: list[UUID] = []
        self.room = 0
        self.drives_suspect = False

    async def start(self, request):
        raise NotImplementedError

    def control(self, execution_id: UUID) -> None:
        self.looked.append(execution_id)


@asynccontextmanager
async def delivery(here, driver, poll=60.0):
    made = ControlDelivery(here.database, driver, poll)
    made.start()
    try:
        yield made
    finally:
        await made.stop()


async def test_a_word_goes_to_the_run_that_it_is_for(database_url):
    async with installation(database_url) as here:
        driver, mine, other = Driver(), new_id(), new_id()
        driver.running = [mine]
        async with delivery(here, driver) as made:
            made.heard(f"{mine},{other},nonsense")
            assert driver.looked == [mine]


async def test_a_word_before_the_start_is_kept_for_it_once(database_url):
    async with installation(database_url) as here:
        driver, early = Driver(), new_id()
        async with delivery(here, driver) as made:
            made.heard(str(early))
            assert made.asked(early)
            made.started(new_id())
            made.started(early)
            made.started(early)
            assert driver.looked == [early]
            assert not made.asked(early)


async def test_a_word_for_nobody_is_forgotten_after_a_while(database_url, monkeypatch):
    monkeypatch.setattr(control, "KEPT", 0.0)
    async with installation(database_url) as here, delivery(here, Driver()) as made:
        early = new_id()
        made.heard(str(early))
        await asyncio.sleep(0.01)
        made.heard(str(new_id()))
        assert not made.asked(early)


async def test_what_was_never_said_is_found_by_looking(database_url):
    async with installation(database_url) as here:
        driver = Driver()
        asked = await here.start("name: n\nnodes: {}")
        quiet = await here.start("name: n\nnodes: {}")
        driver.running = [asked, quiet]
        async with here.database.transaction() as connection:
            await connection.execute(
                "INSERT INTO signals (execution_id, kind, run) VALUES ($1, 'CANCEL', 1)", asked
            )
        async with delivery(here, driver, poll=0.02):
            await eventually(lambda: driver.looked)
            assert set(driver.looked) == {asked}


async def test_when_listening_begins_it_looks_at_once(database_url):
    async with installation(database_url) as here:
        driver = Driver()
        asked = await here.start("name: n\nnodes: {}")
        driver.running = [asked]
        async with here.database.transaction() as connection:
            await connection.execute(
                "INSERT INTO signals (execution_id, kind, run) VALUES ($1, 'PAUSE', 1)", asked
            )
        async with delivery(here, driver) as made:
            made.connected()
            await eventually(lambda: driver.looked)


async def test_it_ends_also_when_something_happens_at_the_same_time(database_url):
    async with installation(database_url) as here:
        for _ in range(20):
            made = ControlDelivery(here.database, Driver(), 60.0)
            made.start()
            await asyncio.sleep(0)
            made.connected()
            async with asyncio.timeout(2):
                await made.stop()
