"""Why an execution waits: each reason, in its order."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.engines.embedded.workers import Worker, eventually, installation, worker
from tests.intake.steering import Stage, Steering

from riven.db.identity import new_id
from riven.queue.claim import claim_executions
from riven.queue.lease import Process, register
from riven.queue.settle import Drive, release_to_pending, settle_dispatched
from riven.views.waiting import Engines, reason, why_all_waiting, why_waiting

NOOP = "name: n\nnodes: {a: {type: noop}}"
HELD = "name: h\nnodes: {a: {type: python, with: {function: test.hold, args: {name: a}}}}"
NOW = datetime(2026, 11, 19, 8, 0, tzinfo=UTC)
SECOND = timedelta(seconds=1)


async def why(here, execution_id):
    async with here.database.read() as connection:
        waiting = await why_waiting(connection, execution_id)
        listed = (await why_all_waiting(connection, [execution_id])).get(execution_id)
    if waiting is not None and listed is not None:
        assert waiting.kind == listed.kind
    return waiting


async def seen(here, **options) -> Process:
    """A worker that claims nothing, as the rows have it."""
    process = Process(new_id(), "worker", "w", **options)
    await register(here.database, process, 10)
    return process


async def change(here, statement: str, *values) -> None:
    async with here.database.transaction() as connection:
        await connection.execute(statement, *values)


async def test_without_a_worker_nobody_takes_it(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        waiting = await why(here, execution_id)
        assert (waiting.kind, waiting.position) == ("worker_absent", 1)
        process = await seen(here)
        assert (await why(here, execution_id)).kind == "worker_busy"
        await change(here, "UPDATE processes SET seen_at = now() - interval '31 s' WHERE id = $1", process.id)
        assert (await why(here, execution_id)).kind == "worker_absent"


async def test_a_switched_off_engine_and_one_that_is_away_are_told(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        process = await seen(here, enabled=False)
        assert (await why(here, execution_id)).kind == "engine_disabled"
        await change(
            here, "UPDATE processes SET enabled = true, engine_error = 'no' WHERE id = $1", process.id
        )
        assert (await why(here, execution_id)).kind == "engine_down"
        await seen(here)
        assert (await why(here, execution_id)).kind == "worker_busy"


async def test_a_full_workspace_tells_limit_use_holders_and_position(database_url):
    async with installation(database_url) as here:
        await change(here, "UPDATE workspaces SET running_limit = 2")
        holders = [await here.start(NOOP) for _ in range(2)]
        process = await seen(here)
        claim = await claim_executions(here.database, process.id, 5)
        assert {each.execution_id for each in claim.claimed} == set(holders)
        waiting = [await here.start(NOOP) for _ in range(3)]
        await change(here, "UPDATE execution_queue SET priority = 5 WHERE execution_id = $1", waiting[2])
        found = [await why(here, each) for each in waiting]
        assert [each.kind for each in found] == ["workspace_limit"] * 3
        assert [each.position for each in found] == [2, 3, 1]
        assert {(each.limit, each.in_use) for each in found} == {(2, 2)}
        assert set(found[0].holders) == set(holders)
        shown = found[0].shown()
        assert set(shown) == {"kind", "since", "limit", "inUse", "holders", "position"}
        assert await why(here, holders[0]) is None


async def test_at_most_twenty_holders_are_named(database_url):
    async with installation(database_url) as here:
        await change(here, "UPDATE workspaces SET running_limit = 30")
        for _ in range(31):
            last = await here.start(NOOP)
        process = await seen(here)
        await claim_executions(here.database, process.id, 64)
        waiting = await why(here, last)
        assert (len(waiting.holders), waiting.in_use, waiting.limit) == (20, 30, 30)


async def test_an_item_that_holds_its_slot_stands_before_all_and_behind_no_limit(database_url):
    async with installation(database_url) as here:
        await change(here, "UPDATE workspaces SET running_limit = 1")
        first = await here.start(NOOP)
        process = await seen(here)
        await claim_executions(here.database, process.id, 5)
        second = await here.start(NOOP)
        await change(
            here,
            "UPDATE execution_queue SET status = 'PENDING', owner_id = NULL, holds_slot = true WHERE execution_id = $1",
            first,
        )
        assert ((await why(here, first)).kind, (await why(here, first)).position) == ("worker_busy", 1)
        assert ((await why(here, second)).kind, (await why(here, second)).position) == ("workspace_limit", 2)


async def test_a_disabled_workspace_comes_before_everything_that_is_due(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        await change(here, "UPDATE workspaces SET disabled = true, running_limit = 0")
        await seen(here, enabled=False)
        assert (await why(here, execution_id)).kind == "workspace_disabled"
        await Steering(here).pause(execution_id)
        assert (await why(here, execution_id)).kind == "paused"


@pytest.mark.parametrize(("counted", "kind"), [(True, "dispatch_retry"), (False, "engine_down")])
async def test_a_start_that_was_refused_waits_for_its_next_try(database_url, counted, kind):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        process = await seen(here)
        (claimed,) = (await claim_executions(here.database, process.id, 5)).claimed
        drive = Drive(execution_id, claimed.run, claimed.token)
        await release_to_pending(here.database, drive, counted=counted, delay=60, error="no", kind=kind)
        waiting = await why(here, execution_id)
        assert (waiting.kind, waiting.position) == (kind, None)
        assert timedelta(seconds=59) < waiting.until - waiting.since <= timedelta(seconds=61)


@pytest.mark.parametrize(
    ("nodes", "kind", "until"),
    [
        ("a: {type: wait, with: {for: 2h}}", "timer", 7_200),
        ("a: {type: signal, with: {name: s}}", "signal", None),
        ("a: {type: signal, with: {name: s, timeout: 1h}}", "signal", 3_600),
        ("a: {type: approval}, b: {type: signal, with: {name: s}}", "approval", None),
        ("a: {type: fail}, b: {type: wait, with: {for: 1h}}", None, None),
    ],
)
async def test_a_parked_run_tells_for_what_and_until_when(database_url, nodes, kind, until):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(f"name: n\nnodes: {{{nodes}}}")
        await here.until(execution_id, "WAITING", "FAILED")
        waiting = await why(here, execution_id)
        if kind is None:
            assert waiting is None
            return
        assert waiting.kind == kind
        if until is None:
            assert waiting.until is None
        else:
            assert abs((waiting.until - waiting.since).total_seconds() - until) < 5


async def test_a_parked_retry_is_one(database_url):
    stage = Stage()
    stage.failing = {"a"}
    text = "name: r\nnodes: {a: {type: python, retry: {initialInterval: 1h, maxInterval: 1h}, with: {function: test.do, args: {name: a}}}}"
    async with installation(database_url, functions=stage.functions) as here, worker(here):
        execution_id = await here.start(text)
        await here.until(execution_id, "WAITING")
        assert (await why(here, execution_id)).kind == "retry"


async def test_waits_too_short_to_park_are_told_while_nothing_else_runs(database_url):
    stage = Stage()
    text = """
    name: short
    nodes:
      nap: {type: wait, with: {for: 30s}}
      held: {type: python, with: {function: test.hold, args: {name: held}}}
    """
    async with installation(database_url, functions=stage.functions) as here, worker(here):
        execution_id = await here.start(text)
        await here.until_node(execution_id, "held")
        assert await why(here, execution_id) is None
        stage.gate.set()
        await here.until_node(execution_id, "held", "COMPLETED")
        waiting = await why(here, execution_id)
        assert (waiting.kind, (await here.execution(execution_id))["status"]) == ("timer", "RUNNING")
        assert abs((waiting.until - waiting.since).total_seconds() - 30) < 1
        await Steering(here).cancel(execution_id)
        await here.until(execution_id, "CANCELED")


async def test_what_is_scheduled_waits_for_its_time(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        await change(here, "UPDATE execution_queue SET due = false, available_at = now() + interval '1 h'")
        waiting = await why(here, execution_id)
        assert (waiting.kind, waiting.position) == ("timer", None)
        assert 3_590 < (waiting.until - waiting.since).total_seconds() < 3_610


async def test_what_runs_and_what_is_over_does_not_wait(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here:
        owner = Worker(here)
        execution_id = await here.start(HELD)
        await eventually(lambda: stage.calls)
        assert await why(here, execution_id) is None
        stage.gate.set()
        await here.until(execution_id, "COMPLETED")
        assert await why(here, execution_id) is None
        assert await why(here, new_id()) is None
        await owner.stop()


def facts(**changes):
    return {
        "status": "PENDING", "created_at": NOW, "waiting_kind": None, "waiting_since": None, "waiting_until": None,
        "queue_status": "PENDING", "due": True, "comes_due": True, "available_at": NOW + SECOND, "item_kind": None,
        "disabled": False, "running_limit": 1,
    } | changes  # fmt: skip


AT_WORK = Engines(seen=True, enabled=True, error=None)


@pytest.mark.parametrize(
    ("changes", "engines", "in_use", "kind"),
    [
        ({"status": "PAUSED", "waiting_kind": "timer"}, AT_WORK, 0, "paused"),
        ({"status": "WAITING", "waiting_kind": "signal", "disabled": True}, AT_WORK, 0, "workspace_disabled"),
        ({}, Engines(seen=True, enabled=False, error="x"), 1, "engine_disabled"),
        ({}, Engines(seen=True, enabled=True, error="x"), 1, "workspace_limit"),
        ({}, Engines(seen=True, enabled=True, error="x"), 0, "engine_down"),
        ({}, Engines(seen=False, enabled=False, error=None), 0, "worker_absent"),
        ({}, AT_WORK, 0, "worker_busy"),
        ({"due": False}, AT_WORK, 1, "workspace_limit"),
        ({"due": False, "comes_due": False, "item_kind": "dispatch_retry", "waiting_kind": "timer"}, AT_WORK, 1, "dispatch_retry"),
        ({"due": False, "comes_due": None, "status": "WAITING", "waiting_kind": "approval"}, AT_WORK, 1, "approval"),
        ({"due": False, "comes_due": False}, AT_WORK, 1, "timer"),
        ({"queue_status": None, "due": None, "comes_due": None}, AT_WORK, 0, "worker_busy"),
        ({"status": "COMPLETED"}, AT_WORK, 0, None),
    ],
)  # fmt: skip
def test_the_first_reason_that_holds_is_told(changes, engines, in_use, kind):
    waiting = reason(facts(**changes), engines, in_use)
    assert (waiting and waiting.kind) == kind


async def test_a_run_that_an_engine_elsewhere_has_needs_that_engine_and_its_workers(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        dispatcher = Process(new_id(), "dispatcher", "d", engine="temporal")
        await register(here.database, dispatcher, 10)
        (claimed,) = (await claim_executions(here.database, dispatcher.id, 1)).claimed
        async with here.database.transaction() as connection:
            await settle_dispatched(connection, [Drive(execution_id, claimed.run, claimed.token)], None)
        assert (await why(here, execution_id)).kind == "worker_absent"
        there = await seen(here, engine="temporal")
        assert await why(here, execution_id) is None
        await change(here, "UPDATE processes SET engine_error = 'refused' WHERE id = $1", there.id)
        assert (await why(here, execution_id)).kind == "engine_down"


async def test_what_is_in_line_needs_a_dispatcher_and_no_worker_elsewhere_serves_it(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        await seen(here, engine="temporal")
        assert (await why(here, execution_id)).kind == "worker_absent"
        await register(here.database, Process(new_id(), "dispatcher", "d", engine="temporal"), 10)
        assert (await why(here, execution_id)).kind == "worker_busy"
