import asyncio

from tests.engines.embedded.waiting import until

from riven.engines.embedded.timers import WallTimers


class SetClock:
    """A clock that a test sets, slower or faster than the event loop's."""

    def __init__(self, now: int = 1_000_000) -> None:
        self.time = now

    def now(self) -> int:
        return self.time


class LoopClock:
    def now(self) -> int:
        return int(asyncio.get_running_loop().time() * 1_000)


async def test_timers_fire_in_the_order_of_their_times():
    clock = LoopClock()
    timers = WallTimers(clock)
    fired: list[str] = []
    done = asyncio.get_running_loop().create_future()
    now = clock.now()
    timers.at(now + 6, lambda: (fired.append("last"), done.set_result(None))[0])
    timers.at(now + 2, lambda: fired.append("first"))
    timers.at(now + 4, lambda: fired.append("second"))
    timers.at(now + 4, lambda: fired.append("third"))

    await done

    assert fired == ["first", "second", "third", "last"]
    assert len(timers) == 0


async def test_a_timer_is_never_early():
    clock = SetClock()
    timers = WallTimers(clock)
    fired: list[str] = []
    timers.at(clock.now() + 1, lambda: fired.append("x"))
    for _ in range(3):
        await asyncio.sleep(0.002)
    assert fired == [], "the event loop's time has come, the clock's has not"

    clock.time += 1
    await until(lambda: bool(fired))
    timers.close()


async def test_a_canceled_timer_does_not_fire():
    clock = SetClock()
    timers = WallTimers(clock)
    fired: list[int] = []
    kept = [timers.at(clock.now(), lambda n=n: fired.append(n)) for n in range(5)]  # type: ignore[misc]
    kept[1].cancel()
    kept[1].cancel()
    kept[3].cancel()
    await until(lambda: len(fired) == 3)

    assert fired == [0, 2, 4]
    kept[0].cancel()
    assert len(timers) == 0


async def test_a_timer_may_cancel_one_that_is_due_with_it():
    clock = SetClock()
    timers = WallTimers(clock)
    fired: list[str] = []
    timers.at(clock.now(), lambda: late.cancel())  # noqa: PLW0108 - it does not exist yet
    late = timers.at(clock.now(), lambda: fired.append("late"))
    last = asyncio.get_running_loop().create_future()
    timers.at(clock.now(), lambda: last.set_result(None))
    await last

    assert fired == []
    assert len(timers) == 0


async def test_canceled_timers_do_not_pile_up():
    clock = SetClock()
    timers = WallTimers(clock)
    for n in range(10_000):
        timers.at(clock.now() + 300_000 + n, lambda: None).cancel()

    assert len(timers._heap) < 200
    assert len(timers) == 0
    timers.close()


async def test_nothing_fires_after_the_end():
    clock = SetClock()
    timers = WallTimers(clock)
    fired: list[str] = []
    timers.at(clock.now(), lambda: fired.append("x"))
    timers.close()
    timers.close()
    await asyncio.sleep(0.002)

    assert fired == []
