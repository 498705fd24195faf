import asyncio
from collections import Counter
from typing import ClassVar

import pytest
from tests.effects.kit import Free, FreeConfig
from tests.engines.embedded.kit import Running, settle, statuses

from riven.nodes.contract import NodeContext, NodeResult


class Meeting(Free):
    """Ends when two of them are there."""

    type = "meeting"
    met: ClassVar[asyncio.Barrier]

    async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
        await self.met.wait()
        return NodeResult()


async def test_two_branches_run_at_the_same_time():
    Meeting.met = asyncio.Barrier(2)
    result = await Running(Meeting).run("name: x\nnodes: {a: {type: meeting}, b: {type: meeting}}")

    assert result["status"] == "COMPLETED"


async def test_what_follows_a_fast_node_does_not_wait_for_its_slow_sibling():
    """The slow one ends only when the fast one's successor has run."""
    successor_ran = asyncio.Event()

    class Slow(Free):
        type = "slow"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            await successor_ran.wait()
            return NodeResult()

    class Successor(Free):
        type = "successor"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            successor_ran.set()
            return NodeResult()

    result = await Running(Slow, Successor).run(
        "name: x\nnodes: {slow: {type: slow}, fast: {type: noop}, after: {type: successor, needs: [fast]}}"
    )

    assert result["status"] == "COMPLETED"


class Crowd(Free):
    """Counts how many are under way; ends when `wanted` have been so at once, or nothing more comes."""

    type = "crowd"
    now: ClassVar[int] = 0
    most: ClassVar[int] = 0
    wanted: ClassVar[int] = 0
    enough: ClassVar[asyncio.Event]

    async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
        Crowd.now += 1
        Crowd.most = max(Crowd.most, Crowd.now)
        if Crowd.now >= Crowd.wanted:
            Crowd.enough.set()
        await self.enough.wait()
        Crowd.now -= 1
        return NodeResult()


@pytest.mark.parametrize(("limit", "most"), [(100, 100), (10_000, 5_000)])
async def test_thousands_of_nodes_in_flight_are_bounded_by_the_limit(limit: int, most: int):
    Crowd.now, Crowd.most, Crowd.wanted, Crowd.enough = 0, 0, most, asyncio.Event()
    running = Running(Crowd, max_in_flight=limit)
    document = running.load(
        "name: x\nnodes: {each: {type: for_each, with: {items: '{{ input.list }}', concurrency: 5000},"
        " body: {nodes: {a: {type: crowd}}}}}"
    )
    result = await running.engine.run(document, {"list": list(range(5_000))})

    assert result["status"] == "COMPLETED"
    assert Counter(statuses(result).values()) == {"COMPLETED": 5_001}
    assert Crowd.most == most


async def test_nodes_that_wait_for_time_take_no_place():
    result = await Running(max_in_flight=1).run(
        "name: x\nnodes: {w: {type: wait, with: {for: 1h}}, a: {type: echo}, b: {type: echo, needs: [a, w]}}"
    )

    assert result["status"] == "COMPLETED"
    assert result["durationMs"] == 3_600_000


async def test_a_loop_that_never_waits_can_be_canceled():
    running = Running()
    task = running.start(
        """
        name: x
        nodes:
          outer:
            type: repeat
            with: {while: "true", maxIterations: 1000000}
            body: {nodes: {inner: {type: repeat, with: {while: "false"}, body: {nodes: {a: {type: noop}}}}}}
        """
    )
    await settle()
    running.engine.cancel()
    result = await task

    assert result["status"] == "CANCELED"
    assert 10 < len(result["nodes"]) < 100_000


async def test_a_paused_run_starts_nothing_and_fires_no_timer():
    gate = asyncio.Event()

    class Gate(Free):
        type = "gate"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            await gate.wait()
            return NodeResult()

    running = Running(Gate)
    task = running.start(
        "name: x\nnodes: {a: {type: gate}, b: {type: echo, needs: [a]}, w: {type: wait, with: {for: 1m}}, c: {type: echo, needs: [w]}}"
    )
    await settle()
    running.engine.pause()
    gate.set()
    await settle()
    running.time.advance(120_000)
    await settle()
    latest = {change.path: change.status for change in running.changes if change.path}
    assert latest == {"a": "COMPLETED", "w": "WAITING"}

    running.engine.resume()
    result = await task
    assert result["status"] == "COMPLETED"
    assert result["durationMs"] == 120_000
