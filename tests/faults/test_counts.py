"""What operators see of faults: each counts where it happens, once, by what became of it."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.dispatch.engines import Obedient, dispatcher
from tests.engines.embedded.workers import installation, worker
from tests.maintenance.kit import place
from tests.maintenance.test_reconcile import lined_up
from tests.queue.lines import line_up, workspace

from riven.dispatch.starter import Starter, put_aside, put_off
from riven.engines.port import EngineAwayError, StartRefusedError
from riven.maintenance.reconcile import Reconciler
from riven.maintenance.stale import recover_items
from riven.nodes.function import function
from riven.nodes.functions import Functions
from riven.queue.claim import Fault, Stray, claim_executions
from riven.telemetry.instruments import Histogram
from riven.telemetry.metrics import (
    CAPACITY_REACHED,
    DISPATCH_ATTEMPTS,
    DISPATCH_FAILURES,
    ITEMS_PROCESSED,
    NODE_ATTEMPTS,
    RECOVERIES,
    REPAIRS,
)

COUNTED = {
    "processed": ITEMS_PROCESSED,
    "full": CAPACITY_REACHED,
    "failures": DISPATCH_FAILURES,
    "attempts": DISPATCH_ATTEMPTS,
    "nodes": NODE_ATTEMPTS,
    "recovered": RECOVERIES,
    "repaired": REPAIRS,
}


def so_far() -> dict[str, float]:
    """Counters by their labels; of the histogram how many were observed, and their sum."""
    found: dict[str, float] = {}
    for name, instrument in COUNTED.items():
        for labels, value in instrument.values.items():
            if isinstance(instrument, Histogram):
                found[name], found[f"{name} in all"] = sum(value[:-1]), value[-1]
            else:
                found[" ".join((name, *labels))] = value
    return found


@contextmanager
def counting() -> Iterator[dict[str, float]]:
    """What is counted inside, known at the end; whatever is not named was not counted."""
    before, found = so_far(), {}
    yield found
    after = so_far()
    found.update(
        {name: after[name] - before.get(name, 0) for name in after if after[name] != before.get(name, 0)}
    )


async def starts(here, engine: Obedient, *, attempts: int = 3, times: int = 1) -> None:
    """Claim and start whatever is in line, so often."""
    starter, owner = Starter(here.database, engine, attempts), await here.worker()
    for _ in range(times):
        await here.execute("UPDATE execution_queue SET due = true, available_at = now()")
        await here.execute("UPDATE workspaces SET idle = false, at_capacity = false")
        for claimed in (await claim_executions(here.database, owner.id, 10)).claimed:
            await starter.start(claimed)


async def test_a_start_that_the_engine_takes(database_url):
    async with place(database_url) as here:
        await line_up(here.database, await workspace(here.database, limit=5), 2)
        with counting() as counted:
            await starts(here, Obedient())
    assert counted == {"processed dispatched": 2, "attempts": 2, "attempts in all": 2}


async def test_a_start_that_is_refused_and_then_taken(database_url):
    async with place(database_url) as here:
        await line_up(here.database, await workspace(here.database), 1)
        engine = Obedient()
        engine.errors[None] = [StartRefusedError("no")]
        with counting() as counted:
            await starts(here, engine, times=2)
    assert counted == {
        "processed retried": 1,
        "failures refused": 1,
        "processed dispatched": 1,
        "attempts": 1,
        "attempts in all": 2,
    }


async def test_the_last_refusal(database_url):
    async with place(database_url) as here:
        await line_up(here.database, await workspace(here.database), 1)
        engine = Obedient()
        engine.errors[None] = [StartRefusedError("no")] * 3
        with counting() as counted:
            await starts(here, engine, times=4)
    assert counted == {
        "processed retried": 2,
        "processed failed": 1,
        "failures refused": 3,
        "attempts": 1,
        "attempts in all": 3,
    }


async def test_an_engine_that_is_away(database_url):
    async with place(database_url) as here:
        await line_up(here.database, await workspace(here.database), 1)
        engine = Obedient()
        engine.errors[None] = [EngineAwayError("away")] * 4
        with counting() as counted:
            await starts(here, engine, times=4)
    assert counted == {"processed postponed": 4, "failures engine_away": 4}


async def test_an_item_that_cannot_be_claimed(database_url):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        fault = Fault((await here.item(execution_id))["id"], "poisoned")
        with counting() as counted:
            for _ in range(2):
                await put_off(here.database, fault, 2)
    assert counted == {
        "processed retried": 1,
        "processed failed": 1,
        "failures unclaimable": 2,
        "attempts": 1,
        "attempts in all": 2,
    }


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (None, {"processed failed": 1, "failures execution_not_found": 1}),
        ("COMPLETED", {"processed dropped": 1}),
        ("PAUSED", {}),
    ],
)
async def test_an_item_that_needs_no_start(database_url, status, expected):
    async with place(database_url) as here:
        (execution_id,) = await line_up(here.database, await workspace(here.database), 1)
        if status == "COMPLETED":
            await here.execute("UPDATE workflow_executions SET status = 'COMPLETED', finished_at = now()")
        queue_id = (await here.item(execution_id))["id"]
        with counting() as counted:
            async with here.database.transaction() as connection:
                await put_aside(connection, Stray(queue_id, execution_id, status))
    assert counted == expected


async def test_a_workspace_that_is_full_and_a_start_that_breaks(database_url):
    async with place(database_url) as here:
        at = await workspace(here.database, limit=2)
        first, *_ = await line_up(here.database, at, 3)
        engine = Obedient()
        engine.errors[first] = [ValueError("a defect")]
        with counting() as counted:
            async with dispatcher(here.database, engine):
                for _ in range(2):
                    await asyncio.wait_for(engine.tries.get(), 10)
    assert counted == {
        "full": 1,
        "failures error": 1,
        "processed dispatched": 1,
        "attempts": 1,
        "attempts in all": 1,
    }


async def test_what_comes_back_of_the_dead_and_of_the_slow(database_url):
    async with place(database_url) as here:
        await line_up(here.database, await workspace(here.database, limit=5), 3)
        dead = await here.worker()
        await here.claim(dead, 2)
        await here.claim(await here.worker(), settled=False)
        await here.execute("UPDATE processes SET dead = true WHERE id = $1", dead.id)
        await here.execute("UPDATE execution_queue SET claimed_at = now() - interval '1 h'")
        with counting() as counted:
            await recover_items(here.database, here.announcer, stale_after=300)
    assert counted == {"recovered owner_dead": 2, "recovered stale": 1}


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        ("DELETE FROM execution_queue", {"repaired item_missing": 1}),
        (
            "DELETE FROM workflow_executions",
            {
                "repaired execution_not_found": 1,
                "failures execution_not_found": 1,
                "processed failed": 1,
            },
        ),
        (
            "TRUNCATE workspaces CASCADE",
            {
                "repaired workspace_not_found": 1,
                "failures workspace_not_found": 1,
                "processed failed": 1,
            },
        ),
        (
            "UPDATE workflow_executions SET status = 'COMPLETED', finished_at = now()",
            {"repaired item_without_work": 1},
        ),
    ],
)
async def test_what_somebody_has_changed_by_hand(database_url, damage, expected):
    async with place(database_url) as here:
        await lined_up(here)
        await here.execute(damage)
        with counting() as counted:
            await Reconciler(here.database, here.announcer).perform()
    assert counted == expected


async def test_attempts_of_nodes_are_counted_apart_from_those_of_items(database_url):
    tries = iter([RuntimeError("once"), None])

    @function(name="test.twice")
    async def twice() -> None:
        if fault := next(tries):
            raise fault

    text = """
    name: twice
    nodes:
      a: {type: python, retry: {maxAttempts: 2, initialInterval: 1ms}, with: {function: test.twice}}
      b: {type: noop, needs: [a]}
    """
    async with installation(database_url, functions=Functions(twice)) as here, worker(here):
        with counting() as counted:
            await here.until(await here.start(text), "COMPLETED", "FAILED")
    assert counted == {
        "processed dispatched": 1,
        "attempts": 1,
        "attempts in all": 1,
        "nodes python FAILED": 1,
        "nodes python COMPLETED": 1,
        "nodes noop COMPLETED": 1,
    }
