"""One workspace with a long line delays no other: not at the door, and not inside a worker. Told by turns, not by time."""

import asyncio
import threading
from collections import Counter
from contextlib import asynccontextmanager
from uuid import UUID

import pytest
from tests.engines.embedded.workers import Installation, Worker, eventually, installation, worker
from tests.queue.lines import connected, line_up, workspace

from riven.db.identity import new_id
from riven.db.schema import migrate
from riven.nodes.function import function
from riven.nodes.functions import FunctionPool, Functions
from riven.queue.claim import claim_executions

pytestmark = pytest.mark.slow

ONE = "{name: one, nodes: {a: {type: python, with: {function: test.turn, args: {who: '{{ workspace.name }}'}}}}}"
FAN = """
name: fan
nodes:
  each:
    type: for_each
    with: {items: "{{ input.items }}", concurrency: 100}
    body: {nodes: {a: {type: python, with: {function: test.turn, args: {who: big}}}}}
"""
LINE_UP = """
WITH e AS (
    INSERT INTO workflow_executions (id, workspace_id, workflow_definition_id, workflow_definition_version_id,
                                     workflow_name, version, principal)
    SELECT gen_random_uuid(), $1, $2, $3, 'one', 1, 'test' FROM generate_series(1, $4)
    RETURNING id, workspace_id, workflow_definition_id
)
INSERT INTO execution_queue (id, execution_id, workspace_id, workflow_definition_id)
SELECT gen_random_uuid(), id, workspace_id, workflow_definition_id FROM e
"""
SMALL, EACH = 20, 10


class Turns:
    """Who was given a turn, in order. With a gate, a turn lasts until it is let go."""

    def __init__(self, gate: asyncio.Semaphore | None = None) -> None:
        self.given: list[str] = []

        @function(name="test.turn")
        async def turn(who: str) -> None:
            self.given.append(who)
            if gate is not None:
                await gate.acquire()

        self.functions = Functions(turn)

    def of(self, prefix: str) -> int:
        return sum(who.startswith(prefix) for who in self.given)


@asynccontextmanager
async def crowd(url: str, turns: Turns, *, limit: int):
    """A workspace `big`, which may run so many at a time, and twenty small ones."""
    async with installation(url, functions=turns.functions) as here:
        async with here.database.transaction() as connection:
            await connection.execute("UPDATE workspaces SET name = 'big', running_limit = $1", limit)
        small = [await workspace(here.database, limit=20, name=f"small {n}") for n in range(SMALL)]
        yield here, small


async def put_in_line(here: Installation, workspaces: list[UUID], count: int) -> None:
    published = await here.publish(ONE)
    async with here.database.transaction() as connection:
        for at in workspaces:
            await connection.execute(LINE_UP, at, *published, count)
        await connection.execute("UPDATE workspaces SET idle = false, at_capacity = false")


async def waits(url: str, waiting: int) -> list[int]:
    """For each of the small ones' executions: how many were started before it, while so many of `big` wait."""
    turns = Turns()
    async with crowd(url, turns, limit=1_000) as (here, small):  # no limit of its own stands in its way
        await put_in_line(here, [here.workspace_id], waiting)
        await put_in_line(here, small, EACH)
        async with worker(here):
            await eventually(lambda: turns.of("small") == SMALL * EACH, within=60)
    return [before for before, who in enumerate(turns.given) if who.startswith("small")]


async def test_whoever_has_ten_executions_waits_no_longer_for_another_with_ten_thousand(
    database_url, empty_database_url
):
    await migrate(empty_database_url)
    alone = await waits(empty_database_url, 0)
    beside = await waits(database_url, 10_000)
    p99 = int(0.99 * len(alone))
    assert sorted(alone)[p99] >= 190
    assert sorted(beside)[p99] <= 2 * sorted(alone)[p99]
    # Not only the last of them: each waits for hardly more than its own turn.
    assert all(there <= 2 * here + 50 for here, there in zip(sorted(alone), sorted(beside), strict=True))


async def test_idle_room_is_used_and_the_next_that_is_free_goes_to_who_was_not_served_yet(database_url):
    gate = asyncio.Semaphore(0)
    turns = Turns(gate)
    async with crowd(database_url, turns, limit=1_000) as (here, small):
        await put_in_line(here, [here.workspace_id], 200)
        async with worker(here) as working:
            await eventually(lambda: turns.of("big") == working.engine.max_runs)
            await put_in_line(here, small, EACH)
            for served in range(10, SMALL + 1, 10):
                for _ in range(10):
                    gate.release()
                await eventually(lambda served=served: turns.of("small") == served)
                assert turns.of("big") == working.engine.max_runs
            assert set(Counter(turns.given[working.engine.max_runs :]).values()) == {1}
            for _ in range(1_000):
                gate.release()


async def test_whoever_weighs_more_gets_more_of_each_turn(database_url):
    async with connected(database_url) as database:
        light = await workspace(database, limit=100)
        heavy = await workspace(database, limit=100, weight=3)
        for at in (light, heavy):
            await line_up(database, at, 20)
        claim = await claim_executions(database, new_id(), 12)
        served = Counter(each.workspace_id for each in claim.claimed)
        assert served == {light: 3, heavy: 9}


@pytest.mark.parametrize("plain", [False, True], ids=["lanes", "threads"])
async def test_inside_a_worker_one_node_does_not_stand_behind_another_workspaces_hundred(database_url, plain):
    order: list[str] = []
    gate, thread_gate = asyncio.Event(), threading.Event()

    if plain:

        @function(name="test.turn")
        def turn(who: str) -> None:
            order.append(who)
            thread_gate.wait(20)
    else:

        @function(name="test.turn")
        async def turn(who: str) -> None:
            order.append(who)
            await gate.wait()

    async with installation(database_url, functions=Functions(turn)) as here:
        small = await workspace(here.database, limit=1, name="small")
        threads = FunctionPool(1)
        made = Worker(here, max_in_flight=200 if plain else 1, threads=threads)
        big = await here.start(FAN, input={"items": list(range(100))})
        await eventually(lambda: order == ["big"])
        await put_in_line(here, [small], 1)
        await eventually(lambda: made.engine.lanes.waiting + len(threads._waiting) == 100)
        gate.set()
        thread_gate.set()
        await here.until(big, "COMPLETED", "FAILED")
        assert order.index("small") <= 2, "one turn of the other's at most"
        assert order.count("big") == 100
        await made.stop()
