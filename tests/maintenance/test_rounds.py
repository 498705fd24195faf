import asyncio

from tests.maintenance.kit import place

from riven.db.errors import DatabaseUnavailableError
from riven.db.identity import new_id
from riven.maintenance.rounds import Duty, Rounds


async def test_of_two_replicas_one_does_a_duty_and_the_other_takes_over_at_once_when_it_stops(database_url):
    async with place(database_url) as here:
        done = asyncio.Queue()

        def replica(name: str) -> Rounds:
            async def perform() -> None:
                done.put_nowait(name)

            return Rounds(here.database, new_id(), [Duty("sweep", 0.02, perform)])

        one, two = replica("one"), replica("two")
        one.start()
        assert await asyncio.wait_for(done.get(), 5) == "one"
        two.start()
        assert {await asyncio.wait_for(done.get(), 5) for _ in range(5)} == {"one"}
        await one.stop()
        while await asyncio.wait_for(done.get(), 5) != "two":
            pass
        await two.stop()


async def test_each_does_for_itself_what_each_must(database_url):
    async with place(database_url) as here:
        done: set[str] = set()
        both = asyncio.Event()

        def replica(name: str) -> Rounds:
            async def perform() -> None:
                done.add(name)
                if len(done) == 2:
                    both.set()

            return Rounds(here.database, new_id(), [Duty("alive", 0.02, perform, alone=False)])

        replicas = [replica("one"), replica("two")]
        for each in replicas:
            each.start()
        await asyncio.wait_for(both.wait(), 5)
        for each in replicas:
            await each.stop()


async def test_a_duty_that_breaks_is_tried_again_and_holds_up_no_other(database_url, caplog):
    async with place(database_url) as here:
        tries, other = asyncio.Queue(), asyncio.Queue()
        faults = iter([ValueError("a defect"), DatabaseUnavailableError("away"), None])

        async def breaks() -> None:
            tries.put_nowait(None)
            fault = next(faults, None)
            if fault is not None:
                raise fault

        async def works() -> None:
            other.put_nowait(None)

        rounds = Rounds(here.database, new_id(), [Duty("breaks", 0.01, breaks), Duty("works", 0.01, works)])
        rounds.start()
        for _ in range(4):
            await asyncio.wait_for(tries.get(), 5)
            await asyncio.wait_for(other.get(), 5)
        await rounds.stop()
        told = [(record.message, record.duty) for record in caplog.records if hasattr(record, "duty")]
        assert told == [("maintenance_failed", "breaks"), ("database_away", "breaks")]


async def test_a_replica_that_is_gone_loses_its_duties_after_some_rounds(database_url):
    async with place(database_url) as here:
        done = asyncio.Queue()

        async def perform() -> None:
            done.put_nowait(None)

        duty = Duty("sweep", 0.02, perform)
        await Rounds(here.database, new_id(), ()).perform(duty)
        second = Rounds(here.database, new_id(), ())
        await second.perform(duty)
        assert done.qsize() == 1
        await here.execute("UPDATE locks SET until = now() - interval '1 second'")
        await second.perform(duty)
        assert done.qsize() == 2
