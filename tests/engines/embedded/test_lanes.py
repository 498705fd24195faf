import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.engines.embedded.waiting import until

from riven.engines.embedded.lanes import Lanes


class Work:
    """A job that does what a test says."""

    def __init__(self, do: Callable[[], Awaitable[None]] | None = None, caller: str = "one") -> None:
        self.do = do
        self.caller = caller
        self.abandoned = False
        self.began = False
        self.task: asyncio.Task[None] | None = None

    async def perform(self) -> None:
        self.began = True
        self.task = asyncio.current_task()
        if self.do is not None:
            await self.do()


async def test_jobs_that_do_not_wait_share_one_lane():
    lanes = Lanes(10)
    jobs = [Work() for _ in range(50)]
    for job in jobs:
        lanes.submit(job)
    await until(lambda: lanes.open == 0)

    assert all(job.began for job in jobs)
    assert len({id(job.task) for job in jobs}) == 1


async def test_jobs_that_wait_are_under_way_together_up_to_the_limit():
    lanes = Lanes(3)
    gate = asyncio.Event()
    jobs = [Work(gate.wait) for _ in range(5)]  # type: ignore[arg-type]
    for job in jobs:
        lanes.submit(job)
    for _ in range(10):
        await asyncio.sleep(0)

    assert [job.began for job in jobs] == [True, True, True, False, False]
    gate.set()
    await until(lambda: lanes.open == 0)
    assert all(job.began for job in jobs)


async def test_jobs_begin_in_the_order_in_which_they_came():
    lanes = Lanes(2)
    order: list[int] = []

    def job(number: int) -> Work:
        async def do() -> None:
            order.append(number)
            await asyncio.sleep(0)

        return Work(do)

    for number in range(20):
        lanes.submit(job(number))
    await until(lambda: lanes.open == 0)

    assert order == list(range(20))


async def test_workspaces_take_turns_as_soon_as_several_want_to_begin():
    lanes = Lanes(1)
    order: list[str] = []

    def job(caller: str) -> Work:
        async def do() -> None:
            order.append(caller)
            await asyncio.sleep(0)

        return Work(do, caller)

    for caller in ["crowd"] * 6 + ["small"] * 2 + ["tiny"]:
        lanes.submit(job(caller))
    await until(lambda: lanes.open == 0)

    assert order == ["crowd", "small", "tiny", "crowd", "small", *["crowd"] * 4]


async def test_a_lane_lets_others_have_the_loop():
    lanes = Lanes(1)
    jobs = [Work() for _ in range(1_000)]
    for job in jobs:
        lanes.submit(job)
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert 0 < sum(job.began for job in jobs) < 1_000
    await until(lambda: lanes.open == 0)


async def test_an_abandoned_job_gives_its_place_away():
    lanes = Lanes(1)
    never = asyncio.Event()
    stuck, other = Work(never.wait), Work()  # type: ignore[arg-type]
    lanes.submit(stuck)
    lanes.submit(other)
    await until(lambda: stuck.began)
    assert not other.began

    lanes.abandon(stuck)
    await until(lambda: other.began)
    never.set()
    await until(lambda: stuck.task is not None and stuck.task.done())
    assert lanes.open == 0

    again = Work()
    lanes.submit(again)
    await until(lambda: again.began and lanes.open == 0)


async def test_a_job_that_cancels_its_lane_takes_no_other_job_down():
    lanes = Lanes(1)

    async def cancel_me() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()

    other = Work()
    lanes.submit(Work(cancel_me))
    lanes.submit(other)
    await until(lambda: other.began and lanes.open == 0)


async def test_closing_ends_what_runs_and_drops_what_waits():
    lanes = Lanes(1)
    never = asyncio.Event()
    running, queued = Work(never.wait), Work()  # type: ignore[arg-type]
    lanes.submit(running)
    lanes.submit(queued)
    await until(lambda: running.began)

    await lanes.close()
    await lanes.close()

    assert running.task is not None
    assert running.task.done()
    assert not queued.began


async def test_no_lane_at_all_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        Lanes(0)


async def test_what_follows_from_a_job_finds_its_lane_still_open():
    lanes = Lanes(10)
    tasks: list[object] = []

    async def chain(left: int) -> None:
        tasks.append(asyncio.current_task())
        if left:
            asyncio.get_running_loop().call_soon(lanes.submit, Work(lambda: chain(left - 1)))

    lanes.submit(Work(lambda: chain(20)))
    await until(lambda: len(tasks) == 21 and lanes.open == 0)

    assert len({id(task) for task in tasks}) == 1


async def test_a_lane_that_finds_nothing_leaves_the_door_open():
    lanes = Lanes(10)
    for _ in range(3):
        jobs = [Work() for _ in range(5)]
        for job in jobs:
            lanes.submit(job)
        await until(lambda: lanes.open == 0)
        assert all(job.began for job in jobs)
