"""Following a run: snapshot, changes in order, resumption by number, silence, the end."""

import asyncio
from contextlib import aclosing, asynccontextmanager

import pytest
from tests.engines.embedded.workers import Worker, eventually, installation, worker
from tests.intake.steering import Stage, Steering, operator

from riven.db.identity import new_id
from riven.queue.recover import hand_back
from riven.tenancy.principals import Role
from riven.views import events as events_module
from riven.views.documents import Documents
from riven.views.errors import ExecutionNotFoundError
from riven.views.events import EventHub, Pace

HELD = """
name: held
nodes:
  a: {type: noop}
  held: {type: python, needs: [a], with: {function: test.hold, args: {name: held}}}
  z: {type: noop, needs: [held]}
"""
SIGNAL = "name: s\nnodes: {s: {type: signal, with: {name: go}}}"


@asynccontextmanager
async def hub(here):
    made = EventHub(here.database, Documents())
    try:
        yield made
    finally:
        await made.close()


class Reader:
    """Reads a stream in a task of its own."""

    def __init__(self, hub: EventHub, here, execution_id, last=None, role=Role.VIEWER) -> None:
        self.events = []
        self.silences = 0
        scope = operator(here.workspace_id, role)
        self._task = asyncio.create_task(self._read(hub.follow(scope, execution_id, last)))

    async def _read(self, stream) -> None:
        async with aclosing(stream):
            async for event in stream:
                if event is None:
                    self.silences += 1
                else:
                    self.events.append(event)

    async def end(self, within: float = 10.0):
        async with asyncio.timeout(within):
            await self._task
        return self.events

    async def stop(self):
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return self.events


def statuses(events):
    """What each event tells: the node's path or the execution, and the status."""
    return [(event.data.get("path", "execution"), event.data["status"]) for event in events]


def assert_growing(events):
    numbers = [event.id for event in events]
    assert numbers == sorted(set(numbers)), numbers


async def test_a_run_is_followed_from_its_snapshot_to_its_end(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here, hub(here) as events:
        execution_id = await here.start(HELD)
        reader = Reader(events, here, execution_id)
        await eventually(lambda: reader.events)
        first = reader.events[0]
        assert (first.name, first.data["status"], first.after) == ("snapshot", "PENDING", None)
        assert [node["path"] for node in first.data["nodes"]] == ["a", "held", "z"]
        assert first.data["waiting"]["kind"] == "worker_absent"
        async with worker(here):
            await eventually(lambda: ("held", "RUNNING") in statuses(reader.events))
            stage.gate.set()
            told = await reader.end()
        assert_growing(told)
        assert {event.name for event in told[1:]} == {"node", "execution"}
        assert statuses(told)[-1] == ("execution", "COMPLETED")
        assert ("execution", "RUNNING") in statuses(told)
        for path in ("a", "held", "z"):
            assert [each for each in statuses(told) if each[0] == path][-1] == (path, "COMPLETED")


async def test_changes_are_told_without_waiting_for_the_poll(database_url):
    stage = Stage()
    async with (
        installation(database_url, functions=stage.functions) as here,
        hub(here) as events,
        worker(here),
    ):
        execution_id = await here.start(HELD)
        await eventually(lambda: stage.calls)
        reader = Reader(events, here, execution_id)
        await eventually(lambda: reader.events)
        await asyncio.sleep(2.0)  # the next look without a word is seconds away
        stage.gate.set()
        await reader.end(within=1.0)


async def test_with_the_last_number_only_what_came_later_is_told(database_url):
    stage = Stage()
    async with (
        installation(database_url, functions=stage.functions) as here,
        hub(here) as events,
        worker(here),
    ):
        execution_id = await here.start(HELD)
        first = Reader(events, here, execution_id)
        await eventually(lambda: ("held", "RUNNING") in told_of(first))
        seen = await first.stop()
        stage.gate.set()
        await here.until(execution_id, "COMPLETED")
        async with hub(here) as another:  # another process
            later = await Reader(another, here, execution_id, last=seen[-1].id).end()
        assert_growing(seen + later)
        assert "snapshot" not in [event.name for event in later]
        assert statuses(later) == [("held", "COMPLETED"), ("z", "COMPLETED"), ("execution", "COMPLETED")]
        nothing = await Reader(events, here, execution_id, last=later[-1].id).end()
        assert nothing == []


def told_of(reader):
    nodes = [node for event in reader.events[:1] for node in event.data["nodes"]]
    return [(node["path"], node["status"]) for node in nodes] + statuses(reader.events)


@pytest.mark.parametrize("last", [10**9, -1])
async def test_a_number_that_is_none_of_ours_gets_a_snapshot(database_url, last):
    async with installation(database_url) as here, hub(here) as events, worker(here):
        execution_id = await here.start("name: n\nnodes: {a: {type: noop}}")
        await here.until(execution_id, "COMPLETED")
        (only,) = await Reader(events, here, execution_id, last=last).end()
        assert (only.name, only.data["status"]) == ("snapshot", "COMPLETED")


async def test_every_number_resumes_without_a_gap_or_a_repetition(database_url):
    text = """
    name: many
    nodes:
      each: {type: for_each, with: {items: [1, 2, 3, 4]}, body: {nodes: {x: {type: noop}, y: {type: noop, needs: [x]}}}}
    """
    async with installation(database_url) as here, hub(here) as events, worker(here):
        execution_id = await here.start(text)
        await here.until(execution_id, "COMPLETED")
        whole = await Reader(events, here, execution_id, last=0).end()
        assert_growing(whole)
        assert len(whole) == 10
        for index, event in enumerate(whole):
            later = await Reader(events, here, execution_id, last=event.id).end()
            assert [each.id for each in later] == [each.id for each in whole[index + 1 :]]


async def test_parking_waking_pausing_and_canceling_are_told(database_url):
    async with installation(database_url) as here, hub(here) as events, worker(here):
        steering = Steering(here)
        execution_id = await here.start(SIGNAL)
        reader = Reader(events, here, execution_id)
        await eventually(lambda: "WAITING" in of_execution(reader))
        await steering.pause(execution_id)
        await eventually(lambda: of_execution(reader)[-1] == "PAUSED")
        await steering.resume(execution_id)
        await eventually(lambda: of_execution(reader)[-1] == "WAITING")
        await steering.cancel(execution_id)
        told = await reader.end()
        assert statuses(told)[-2:] == [("s", "CANCELED"), ("execution", "CANCELED")]
        assert_growing(told)


def of_execution(reader):
    return [event.data["status"] for event in reader.events if event.name != "node"]


async def test_a_retried_run_goes_on_with_higher_numbers(database_url):
    stage = Stage()
    text = "name: f\nnodes: {a: {type: noop}, b: {type: python, needs: [a], retry: {maxAttempts: 1}, with: {function: test.do, args: {name: b}}}}"
    async with (
        installation(database_url, functions=stage.functions) as here,
        hub(here) as events,
        worker(here),
    ):
        stage.failing = {"b"}
        execution_id = await here.start(text)
        await here.until(execution_id, "FAILED")
        first = await Reader(events, here, execution_id, last=0).end()
        stage.failing = set()
        await Steering(here).retry(execution_id)
        await here.until(execution_id, "COMPLETED")
        later = await Reader(events, here, execution_id, last=first[-1].id).end()
        assert_growing(first + later)
        assert statuses(later) == [("b", "COMPLETED"), ("execution", "COMPLETED")]


async def test_a_run_taken_over_after_a_crash_is_followed_on(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here, hub(here) as events:
        one = Worker(here)
        execution_id = await here.start(HELD)
        reader = Reader(events, here, execution_id)
        await eventually(lambda: ("held", "RUNNING") in told_of(reader))
        await one.freeze()
        async with here.database.transaction() as connection:
            await hand_back(connection, one.process.id)
        stage.gate.set()
        async with worker(here):
            told = await reader.end()
        assert_growing(told)
        assert statuses(told)[-1] == ("execution", "COMPLETED")


async def test_the_end_is_told_also_by_one_who_did_not_know_how_far_a_dead_owner_came(database_url):
    stage = Stage()
    async with installation(database_url, functions=stage.functions) as here, hub(here) as events:
        owner = Worker(here)
        execution_id = await here.start(HELD)
        await here.until_node(execution_id, "held")
        await owner.freeze()
        reader = Reader(events, here, execution_id)
        await eventually(lambda: reader.events)
        async with here.database.transaction() as connection:
            await connection.execute(
                "UPDATE workflow_executions SET status = 'FAILED', finished_at = now(), revision = 1"
            )
        told = await reader.end()
        assert statuses(told)[-1] == ("execution", "FAILED")
        assert_growing(told)


async def test_silence_is_told_too(database_url, monkeypatch):
    monkeypatch.setattr(events_module, "KEEP_ALIVE", 0.2)
    async with installation(database_url) as here, hub(here) as events:
        execution_id = await here.start(SIGNAL)
        reader = Reader(events, here, execution_id)
        await eventually(lambda: reader.silences >= 2)
        assert len(await reader.stop()) == 1


async def test_streams_end_when_the_process_does(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(SIGNAL)
        events = EventHub(here.database, Documents())
        reader = Reader(events, here, execution_id)
        await eventually(lambda: reader.events)
        await events.close()
        await reader.end(within=2)
        assert events.following == 0


async def test_who_leaves_is_forgotten(database_url):
    async with installation(database_url) as here, hub(here) as events:
        execution_id = await here.start(SIGNAL)
        readers = [Reader(events, here, execution_id) for _ in range(3)]
        await eventually(lambda: all(reader.events for reader in readers))
        assert events.following == 3
        for reader in readers:
            await reader.stop()
        assert events.following == 0


async def test_changes_are_told_to_nobody_when_nobody_follows(database_url):
    async with installation(database_url) as here, worker(here) as at_work:
        told = []
        at_work.changes._send = lambda: told.append(1)
        await here.until(await here.start("name: n\nnodes: {a: {type: noop}}"), "COMPLETED")
        assert told == []


async def test_an_unknown_execution_has_no_events(database_url):
    async with installation(database_url) as here, hub(here) as events:
        with pytest.raises(ExecutionNotFoundError):
            await Reader(events, here, new_id()).end()


async def test_a_database_that_is_away_for_a_while_only_delays(database_url):
    async with installation(database_url) as here, hub(here) as events, worker(here):
        execution_id = await here.start(SIGNAL)
        reader = Reader(events, here, execution_id)
        await eventually(lambda: "WAITING" in of_execution(reader))
        await here.rows(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await Steering(here).cancel(execution_id)
        told = await reader.end()
        assert statuses(told)[-1] == ("execution", "CANCELED")


def test_a_follower_reads_at_once_what_is_little_and_much_of_it_for_a_tenth_of_the_time():
    now, read = 100.0, 0.0
    pace = Pace(now)
    pauses = []
    for _ in range(1_000):
        pauses.append(pace.pause(now))
        now += pauses[-1]
        pace.spend(now, now + 0.01)
        now += 0.01
        read += 0.01
    assert pauses[:5] == [0.0] * 5
    assert read / (now - 100.0) == pytest.approx(0.1, rel=0.02)
    assert pace.pause(now + 1_000) == 0.0


def test_no_pause_is_long():
    pace = Pace(0.0)
    pace.spend(0.0, 60.0)
    assert pace.pause(60.0) == 1.0
