import asyncio
import contextvars
import subprocess
import sys
import threading

import pytest

from riven.nodes.fair_line import CALLER
from riven.nodes.function_pool import FunctionPool


class Gate:
    """Holds threads until it is opened, and tells how many are in it."""

    def __init__(self) -> None:
        self.inside = threading.Semaphore(0)
        self.opened = threading.Event()
        self.left = threading.Semaphore(0)

    def __call__(self) -> str:
        self.inside.release()
        assert self.opened.wait(10)
        self.left.release()
        return "through"

    async def entered(self, times: int = 1) -> None:
        for _ in range(times):
            assert await asyncio.to_thread(self.inside.acquire, timeout=10)


async def until_settled(pool: FunctionPool) -> None:
    """The threads have ended their calls; a probe that needs every place proves it."""
    meeting = threading.Barrier(pool.size)
    await asyncio.gather(*(pool.run(meeting.wait) for _ in range(pool.size)))


async def test_gives_what_the_call_returns_and_raises_what_it_raises() -> None:
    pool = FunctionPool(2)
    assert await pool.run(lambda: 5) == 5
    with pytest.raises(ZeroDivisionError):
        await pool.run(lambda: 1 // 0)
    with pytest.raises(RuntimeError, match="StopIteration"):  # as of any coroutine
        await pool.run(lambda: next(iter([])))
    with pytest.raises(SystemExit):
        await pool.run(sys.exit)
    pool.stop()


async def test_runs_in_another_thread_with_the_callers_context() -> None:
    variable = contextvars.ContextVar("variable", default="unset")
    variable.set("set")
    pool = FunctionPool(1)
    assert await pool.run(variable.get) == "set"
    assert await pool.run(threading.get_ident) != threading.get_ident()
    pool.stop()


async def test_threads_are_used_again() -> None:
    pool = FunctionPool(4)
    seen = {await pool.run(threading.get_ident) for _ in range(20)}
    assert len(seen) <= 2  # the next call may come before the thread has lain down
    pool.stop()


async def test_never_more_than_its_size_at_a_time_and_the_rest_wait() -> None:
    pool = FunctionPool(2)
    gate, order = Gate(), []
    first = [asyncio.ensure_future(pool.run(gate)) for _ in range(2)]
    await gate.entered(2)
    rest = [
        asyncio.ensure_future(pool.run(lambda number=number: order.append(number))) for number in range(5)
    ]
    await asyncio.sleep(0)
    assert (pool.busy, order) == (2, [])
    gate.opened.set()
    await asyncio.gather(*first, *rest)
    assert sorted(order) == [0, 1, 2, 3, 4]
    pool.stop()


async def test_an_abandoned_call_holds_its_place_until_it_ends_and_its_result_is_dropped() -> None:
    pool = FunctionPool(1)
    gate = Gate()
    running = asyncio.ensure_future(pool.run(gate))
    await gate.entered()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (pool.busy, pool.abandoned) == (1, 1)
    waiting = asyncio.ensure_future(pool.run(lambda: "next"))
    await asyncio.sleep(0)
    assert not waiting.done()
    gate.opened.set()
    assert await waiting == "next"
    assert pool.abandoned == 0
    pool.stop()


async def test_a_call_that_is_canceled_while_it_waits_never_runs() -> None:
    pool = FunctionPool(1)
    gate, ran = Gate(), []
    running = asyncio.ensure_future(pool.run(gate))
    await gate.entered()
    waiting = asyncio.ensure_future(pool.run(lambda: ran.append(1)))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert pool.abandoned == 0
    gate.opened.set()
    await running
    await until_settled(pool)
    assert ran == []
    pool.stop()


async def test_stopping_ends_what_waits_and_refuses_what_comes() -> None:
    pool = FunctionPool(1)
    gate = Gate()
    running = asyncio.ensure_future(pool.run(gate))
    await gate.entered()
    waiting = asyncio.ensure_future(pool.run(lambda: 1))
    await asyncio.sleep(0)
    pool.stop()
    pool.stop()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    with pytest.raises(RuntimeError, match="stopped"):
        await pool.run(lambda: 1)
    gate.opened.set()
    assert await running == "through"


def test_serves_one_loop_after_the_other() -> None:
    pool = FunctionPool(1)
    assert [asyncio.run(pool.run(lambda: 1)) for _ in range(3)] == [1, 1, 1]
    pool.stop()


def test_a_call_whose_loop_is_gone_frees_its_place() -> None:
    pool = FunctionPool(1)
    gate = Gate()

    async def leave() -> None:
        running = asyncio.ensure_future(pool.run(gate))
        await gate.entered()
        running.cancel()

    asyncio.run(leave())
    gate.opened.set()
    assert asyncio.run(pool.run(lambda: "next")) == "next"
    pool.stop()


@pytest.mark.slow
def test_a_stuck_thread_does_not_hold_up_the_end_of_the_process() -> None:
    program = (
        "import asyncio, threading\n"
        "from riven.nodes.function_pool import FunctionPool\n"
        "async def main():\n"
        "    begun = asyncio.Event(); loop = asyncio.get_running_loop()\n"
        "    def stuck():\n"
        "        loop.call_soon_threadsafe(begun.set); threading.Event().wait()\n"
        "    task = asyncio.ensure_future(FunctionPool(1).run(stuck))\n"
        "    await begun.wait(); task.cancel()\n"
        "asyncio.run(main())\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=30)


def test_needs_a_thread() -> None:
    with pytest.raises(ValueError, match="at least one"):
        FunctionPool(0)


async def test_callers_take_turns_when_threads_are_rare():
    pool, gate, order = FunctionPool(1), threading.Event(), []

    async def call(caller: str) -> None:
        CALLER.set(caller)
        await pool.run(lambda: order.append(caller))

    blocked = asyncio.create_task(pool.run(gate.wait))
    calls = [asyncio.create_task(call(caller)) for caller in ["crowd"] * 4 + ["small"]]
    await asyncio.sleep(0)
    gate.set()
    await asyncio.gather(blocked, *calls)
    assert order == ["crowd", "small", "crowd", "crowd", "crowd"]
    pool.stop()
