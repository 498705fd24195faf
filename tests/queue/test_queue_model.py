"""The queue does what a simple model of it does, move by move, whatever the order of the moves.

The model is a list of runs and three sentences about who is claimed next; after every move both rows of every run are
compared with it. Control calls are made as `intake` makes them, the last refusal as the dispatcher comes to it; where an
execution is accepted, parks or ends, its row is written here as those stages write it, together with the queue's own
statement for the item. Races have tests of their own.
"""

import asyncio
import functools
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from riven.completion.undriven import hold_run
from riven.db.engine import Connection, Database
from riven.db.identity import new_id
from riven.db.statements import load
from riven.dispatch.starter import start_execution
from riven.engines.port import StartRefusedError
from riven.intake.cancel import cancel_run
from riven.intake.pause import pause_run, resume_run
from riven.intake.retry import retry_run
from riven.queue.claim import Claimed, claim_executions
from riven.queue.enqueue import NewItem, enqueue_executions
from riven.queue.lease import Process, bury_dead, register, renew
from riven.queue.recover import (
    SUSPECT_AFTER,
    hand_back,
    hand_back_forgotten,
    hand_back_run,
    park_items,
    postpone,
    promote_due,
    recover_stale_items,
    wake_waiting,
    wrong_hints,
)
from riven.queue.settle import (
    Drive,
    hold_back,
    mark_failed,
    release_to_pending,
    settle_dispatched,
)

LEASE = 60.0
LATER = timedelta(hours=1)
WISH = st.integers(0, 5), st.integers(1, 3), st.integers(-1, 1), st.sampled_from([False, False, True])
"""The number of a workspace, how many executions, their priority, and whether they are for later."""

EMPTY = "TRUNCATE workspaces, workflow_executions, execution_queue, processes CASCADE"
WORKSPACE = "INSERT INTO workspaces (id, name, tier, running_limit, weight) VALUES ($1, 'w', 'FREE', $2, $3)"
EXECUTIONS = """
INSERT INTO workflow_executions (id, workspace_id, workflow_definition_id, workflow_definition_version_id,
                                 workflow_name, version, principal)
SELECT unnest($1::uuid[]), $2, $3, $3, 'w', 1, 'test'
"""
CLEAR_HINTS = load("riven.queue", "clear_hints")
LOCK_WORKSPACE = "SELECT id FROM workspaces WHERE id = $1 FOR NO KEY UPDATE"
SERVED = "UPDATE workspaces SET last_served_at = clock_timestamp() WHERE id = $1"
ITEMS = "SELECT * FROM execution_queue"
STATUSES = "SELECT * FROM workflow_executions"
ENDED = "UPDATE workflow_executions SET status = $2, owner_id = NULL, finished_at = now() WHERE id = $1"
RESTS = "UPDATE workflow_executions SET status = $2, owner_id = NULL, waiting_kind = $3 WHERE id = $1"


@dataclass
class Place:
    """A workspace."""

    id: UUID
    limit: int
    weight: int
    disabled: bool = False


@dataclass
class Line:
    """The item of a run, as far as it matters who is next and what is kept for later."""

    id: UUID
    priority: int
    aged: datetime
    status: str = "PENDING"
    due: bool = True
    ready: bool = True
    """Its time has come, though perhaps nobody has promoted it yet."""
    never: bool = False
    """It has no time: somebody has to wake it."""
    holds: bool = False
    attempts: int = 0
    slot_taken: bool = False
    before: str = ""

    @property
    def rank(self) -> tuple[bool, int, datetime, UUID]:
        return not self.holds, -self.priority, self.aged, self.id


@dataclass
class Run:
    id: UUID
    place: Place
    item: Line | None
    status: str | None = "PENDING"
    """None: somebody has deleted the execution."""
    number: int = 1
    """Of its run: a retry is another."""
    token: int = 0
    owner: UUID | None = None
    recoveries: int = 0
    suspect: bool = False
    to_cancel: bool = False
    """Whoever drives it was asked to."""
    later: bool = False
    """Of a paused one: the time at which it was due is still to come."""

    @property
    def driven(self) -> bool:
        return self.item is not None and self.item.status in ("CLAIMED", "DISPATCHED")

    @property
    def drive(self) -> Drive:
        return Drive(self.id, self.number, self.token)

    @property
    def at_rest(self) -> bool:
        """Nobody drives it, and it is not over."""
        return not self.driven and self.status in ("PENDING", "RUNNING", "WAITING", "PAUSED")

    def in_line(self, *, due: bool, holds: bool) -> None:
        """PENDING, whoever had it."""
        assert self.item is not None
        self.item.status, self.item.due, self.item.ready = "PENDING", due, due
        self.item.never, self.item.holds = False, holds

    def end(self, status: str) -> None:
        """As whoever ends a run that nobody drives does."""
        self.status, self.owner, self.recoveries, self.suspect = status, None, 0, False
        if status == "FAILED":
            assert self.item is not None
            self.item.status, self.item.due, self.item.holds = "FAILED", True, False
        else:
            self.item = None


@dataclass
class Model:
    places: list[Place] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)

    def in_use(self, place: Place) -> int:
        return sum(run.place is place and run.status == "RUNNING" for run in self.runs)

    def next_up(self, order: list[UUID], room: int) -> list[Run]:
        """Whom a claim takes: by turns, least recently served first (`order`), in each the best of its line."""
        lines = {
            place.id: sorted(
                (
                    run
                    for run in self.runs
                    if run.place is place and run.item and run.item.status == "PENDING" and run.item.due
                ),
                key=lambda run: run.item.rank,  # type: ignore[union-attr]
            )
            for place in self.places
            if not place.disabled
        }
        free = {place.id: place.limit - self.in_use(place) for place in self.places}
        weight = {place.id: place.weight for place in self.places}
        taken: list[Run] = []
        while True:
            before = len(taken)
            for id in (id for id in order if id in lines):
                for _ in range(weight[id]):
                    if len(taken) == room or not lines[id]:
                        break
                    best = lines[id][0]
                    assert best.item is not None
                    if not best.item.holds:
                        if free[id] <= 0:
                            break
                        free[id] -= 1
                    taken.append(lines[id].pop(0))
            if len(taken) == before:
                return taken


def driven(run: Run) -> bool:
    return run.driven


def claimed(run: Run) -> bool:
    return run.item is not None and run.item.status == "CLAIMED"


def not_due(run: Run) -> bool:
    return run.item is not None and not run.item.due


def on(which: Callable[[Run], bool], **strategies):
    """A move of one run, made only while there is such a run."""

    def made(move):
        @precondition(lambda self: any(map(which, self.model.runs)))
        @rule(number=st.integers(0, 10_000), **strategies)
        @functools.wraps(move)
        def moved(self, number, **drawn):
            found = [run for run in self.model.runs if which(run)]
            move(self, found[number % len(found)], **drawn)

        del moved.__wrapped__  # Hypothesis would ask the inner one for its arguments
        return moved

    return made


class Unwilling:
    """An engine that takes nothing."""

    async def start(self, request):
        raise StartRefusedError(f"not even {request}")


class Queue(RuleBasedStateMachine):
    """Sync outside, as Hypothesis wants it; every move is a coroutine in one event loop."""

    def __init__(self, runner: asyncio.Runner, database: Database) -> None:
        super().__init__()
        self.runner = runner
        self.database = database
        self.model = Model()
        self.owners: list[Process] = []
        self.do(lambda connection: connection.execute(EMPTY))

    # ---- how moves are made ----------------------------------------------------------------------------------------------

    def do(self, work: Callable[[Connection], Awaitable[object]]) -> object:
        async def alone() -> object:
            async with self.database.transaction() as connection:
                return await work(connection)

        return self.runner.run(alone())

    def announce(self, *places: Place) -> None:
        """What `wake.Announcer` does after a commit, as far as the database sees it."""
        self.do(lambda connection: connection.execute(CLEAR_HINTS, [place.id for place in places]))

    def owner_of(self, run: Run) -> Process:
        return next(owner for owner in self.owners if owner.id == run.owner)

    def new_owner(self) -> Process:
        owner = Process(new_id(), "worker", "model")
        self.runner.run(register(self.database, owner, 10))
        self.owners.append(owner)
        return owner

    # ---- tenants ---------------------------------------------------------------------------------------------------------

    @initialize(
        shapes=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2)), min_size=2, max_size=3),
        accepted=st.lists(st.tuples(*WISH), min_size=3, max_size=6),
    )
    def found(self, shapes, accepted):
        for limit, weight in shapes:
            place = Place(new_id(), limit, weight)
            self.do(lambda c, place=place: c.execute(WORKSPACE, place.id, place.limit, place.weight))
            self.model.places.append(place)
        self.new_owner()
        self.new_owner()
        for wish in accepted:
            self.put_in_line(*wish)

    @rule(wish=st.tuples(*WISH))
    def accept(self, wish):
        self.put_in_line(*wish)

    def put_in_line(self, number, count, priority, later):
        place = self.model.places[number % len(self.model.places)]
        executions = [new_id() for _ in range(count)]
        items = [new_id() for _ in range(count)]

        async def insert(connection):
            now = await connection.fetch_value("SELECT now()")
            await connection.execute(EXECUTIONS, executions, place.id, new_id())
            new = [
                NewItem(
                    queue_id=item,
                    execution_id=execution,
                    workspace_id=place.id,
                    workflow_definition_id=new_id(),
                    priority=priority,
                    scheduled_for=now + LATER if later else None,
                )
                for item, execution in zip(items, executions, strict=True)
            ]
            await enqueue_executions(connection, new)
            return now

        now = self.do(insert)
        for item, execution in zip(items, executions, strict=True):
            line = Line(item, priority, now + LATER if later else now, due=not later, ready=not later)
            self.model.runs.append(Run(execution, place, line))
        self.announce(place)

    @rule(number=st.integers(0, 5), limit=st.integers(0, 4))
    def change_the_limit(self, number, limit):
        place = self.model.places[number % len(self.model.places)]

        async def change(connection):
            await connection.fetch(LOCK_WORKSPACE, place.id)
            await connection.execute(
                "UPDATE workspaces SET running_limit = $2 WHERE id = $1", place.id, limit
            )

        self.do(change)
        place.limit = limit
        self.announce(place)

    @rule(number=st.integers(0, 5))
    def disable_or_enable(self, number):
        place = self.model.places[number % len(self.model.places)]
        place.disabled = not place.disabled
        self.do(
            lambda c: c.execute("UPDATE workspaces SET disabled = $2 WHERE id = $1", place.id, place.disabled)
        )
        self.announce(place)

    @on(lambda run: run.status == "PENDING" and run.item is not None)
    def delete_an_execution_by_hand(self, run):
        self.do(lambda c: c.execute("DELETE FROM workflow_executions WHERE id = $1", run.id))
        run.status = None

    # ---- claim and start -------------------------------------------------------------------------------------------------

    @rule(number=st.integers(0, 1), room=st.integers(1, 6))
    def claim(self, number, room):
        self.claim_for(self.owners[number], room)

    @precondition(lambda self: any(run.item and run.item.status == "PENDING" for run in self.model.runs))
    @rule(number=st.integers(0, 1))
    def claim_all(self, number):
        self.claim_for(self.owners[number], 20)

    @precondition(lambda self: any(run.item and run.item.holds for run in self.model.runs))
    @rule(number=st.integers(0, 1))
    def claim_what_holds_its_slot(self, number):
        self.claim_for(self.owners[number], 2)

    def claim_for(self, owner, room):
        order = [
            row["id"]
            for row in self.do(lambda c: c.fetch("SELECT id FROM workspaces ORDER BY last_served_at, id"))
        ]
        expected = self.model.next_up(order, room)
        claim = self.runner.run(claim_executions(self.database, owner.id, room))
        assert {each.execution_id for each in claim.strays} == {
            run.id for run in expected if run.status is None
        }
        assert {each.execution_id for each in claim.claimed} == {
            run.id for run in expected if run.status is not None
        }
        assert len({each.execution_id for each in claim.claimed}) == len(claim.claimed)
        for run in expected:
            assert run.item is not None
            if run.status is None:
                self.do(lambda c, run=run: mark_failed(c, run.item.id, "gone"))
                run.item.status, run.item.due, run.item.holds = "FAILED", True, False
                continue
            run.item.status, run.item.before = "CLAIMED", run.status
            run.item.slot_taken, run.item.holds = run.status != "RUNNING", False
            run.status, run.token, run.owner = "RUNNING", run.token + 1, owner.id
        for place in {id(run.place): run.place for run in expected if run.status is not None}.values():
            admitted = [run for run in expected if run.place is place and run.item and run.item.slot_taken]
            assert not admitted or self.model.in_use(place) <= place.limit
        after = self.do(lambda c: c.fetch("SELECT id FROM workspaces ORDER BY last_served_at, id"))
        served = {run.place.id for run in expected}
        assert served == {row["id"] for row in after[len(after) - len(served) :]}, "who was served goes last"
        # Of those served by one claim any may be first at the next one. Here it is always the same, so that a failing
        # example fails again.
        for place in self.model.places:
            if place.id in served:
                self.do(lambda c, id=place.id: c.execute(SERVED, id))

    @on(driven)
    def settle(self, run):
        self.settle_one(run)

    def settle_one(self, run):
        moved = self.do(lambda c: settle_dispatched(c, [run.drive], run.owner))
        assert moved == ([run.id] if run.item.status == "CLAIMED" else [])
        if moved:
            run.item.status, run.item.attempts = "DISPATCHED", 0

    @on(lambda run: run.token > 1 and claimed(run))
    def settle_with_an_old_token(self, run):
        stale = Drive(run.id, run.number, run.token - 1)
        assert self.do(lambda c: settle_dispatched(c, [stale], run.owner)) == []
        assert self.runner.run(
            release_to_pending(self.database, stale, counted=True, delay=0, error="x", kind="x")
        ) is None  # fmt: skip

    @on(claimed, counted=st.booleans())
    def refuse_the_start(self, run, counted):
        released = self.runner.run(
            release_to_pending(
                self.database, run.drive, counted=counted, delay=3600, error="no", kind="dispatch_retry"
            )
        )
        run.item.attempts += counted
        assert (released.queue_id, released.attempts) == (run.item.id, run.item.attempts)
        if run.item.slot_taken:
            run.status = run.item.before
        run.owner = None
        run.in_line(due=False, holds=not run.item.slot_taken)
        self.announce(run.place)

    @on(claimed)
    def refuse_the_start_for_the_last_time(self, run):
        claimed = Claimed(
            queue_id=run.item.id,
            execution_id=run.id,
            workspace_id=run.place.id,
            run=run.number,
            token=run.token,
            attempts=run.item.attempts,
            row={"workflow_definition_id": None},
        )
        attempts = run.item.attempts + 1
        starting = start_execution(self.database, Unwilling(), claimed, None, attempts)
        assert self.runner.run(starting) is None
        run.item.attempts = attempts
        run.end("CANCELED" if run.to_cancel else "FAILED")
        self.announce(run.place)

    @on(claimed)
    def put_off_a_suspect(self, run):
        self.runner.run(postpone(self.database, run.id, run.owner, 3600))
        run.in_line(due=False, holds=True)

    # ---- rest, wake, promote ---------------------------------------------------------------------------------------------

    @on(driven, timer=st.booleans())
    def park(self, run, timer):
        async def rest(connection):
            now = await connection.fetch_value("SELECT now()")
            await connection.execute(RESTS, run.id, "WAITING", "timer" if timer else "signal")
            await park_items(connection, [(run.id, now + LATER if timer else None)])

        self.do(rest)
        run.status, run.owner = "WAITING", None
        run.in_line(due=False, holds=False)
        run.item.never = not timer
        self.announce(run.place)

    @on(
        lambda run: (
            run.status is not None and run.item is not None and (run.status == "WAITING" or run.driven)
        )
    )
    def wake(self, run):
        woken = self.do(lambda c: wake_waiting(c, [run.id]))
        waits = run.status == "WAITING" and run.item.status == "PENDING" and not run.item.due
        assert woken == ([run.place.id] if waits else [])
        if waits:
            run.in_line(due=True, holds=run.item.holds)
            self.announce(run.place)

    def steer(self, run, move):
        async def steered(connection):
            held = await hold_run(connection, run.id)
            assert held is not None
            return await move(connection, held)

        return self.do(steered)

    @on(lambda run: run.at_rest and run.item is not None and run.status != "PAUSED")
    def pause(self, run):
        moved = self.steer(run, lambda connection, held: pause_run(connection, held, "model"))
        assert (moved.status, moved.startable) == ("PAUSED", True)
        run.later = not (run.item.due or run.item.never or run.item.ready)
        run.status, run.owner = "PAUSED", None
        run.in_line(due=False, holds=False)
        run.item.never = True
        self.announce(run.place)

    @on(lambda run: run.status == "PAUSED")
    def resume(self, run):
        moved = self.steer(run, lambda connection, held: resume_run(connection, held, "model"))
        assert (moved.status, moved.startable) == ("PENDING", True)
        run.status = "PENDING"
        run.in_line(due=not run.later, holds=False)
        self.announce(run.place)

    @on(lambda run: run.status is not None and run.driven, ask=st.sampled_from([pause_run, cancel_run]))
    def ask_whoever_drives_it(self, run, ask):
        """It is his to do: no row of these two moves."""
        moved = self.steer(run, lambda connection, held: ask(connection, held, "model"))
        assert (moved.status, moved.startable, moved.deliver) == ("RUNNING", False, True)
        run.to_cancel = run.to_cancel or ask is cancel_run

    @on(lambda run: run.at_rest)
    def cancel(self, run):
        moved = self.steer(run, lambda connection, held: cancel_run(connection, held, "model"))
        assert (moved.status, moved.startable) == ("CANCELED", True)
        run.end("CANCELED")
        self.announce(run.place)

    @on(lambda run: run.status in ("FAILED", "CANCELED"))
    def retry(self, run):
        moved = self.steer(run, retry_run)
        assert (moved.status, moved.startable) == ("PENDING", True)
        item = self.do(lambda c: c.fetch_row(f"{ITEMS} WHERE execution_id = $1", run.id))
        if run.item is None:
            run.item = Line(item["id"], item["priority"], item["aged_at"])
        assert (run.item.id, run.item.aged) == (item["id"], item["aged_at"])
        run.status, run.owner, run.number, run.to_cancel = "PENDING", None, run.number + 1, False
        run.recoveries, run.suspect, run.item.attempts = 0, False, 0
        run.in_line(due=True, holds=False)
        self.announce(run.place)

    @on(lambda run: not_due(run) and not run.item.never)
    def time_passes_for_one(self, run):
        self.do(
            lambda c: c.execute(
                "UPDATE execution_queue SET available_at = now() - interval '1 s' WHERE id = $1",
                run.item.id,
            )
        )
        run.item.ready = True

    @rule()
    def promote(self):
        places = self.runner.run(promote_due(self.database))
        ready = [run for run in self.model.runs if run.item and not run.item.due and run.item.ready]
        assert sorted(places) == sorted(run.place.id for run in ready)
        for run in ready:
            run.item.due = True
        self.announce(*(run.place for run in ready))

    @on(driven)
    def hold_back_touches_only_what_is_in_line(self, run):
        self.do(lambda c: hold_back(c, run.item.id))

    # ---- ends ------------------------------------------------------------------------------------------------------------

    @on(driven, status=st.sampled_from(["COMPLETED", "FAILED", "CANCELED"]))
    def complete(self, run, status):

        async def end(connection):
            await connection.execute(ENDED, run.id, status)
            if status == "FAILED":
                assert await mark_failed(connection, run.item.id, "it failed")
                assert not await mark_failed(connection, run.item.id, "it failed again")
            else:
                await connection.execute("DELETE FROM execution_queue WHERE id = $1", run.item.id)

        self.do(end)
        run.status, run.owner = status, None
        if status == "FAILED":
            run.item.status, run.item.due, run.item.holds = "FAILED", True, False
        else:
            run.item = None
        self.announce(run.place)

    # ---- owners that die, stop or forget ----------------------------------------------------------------------------------

    @on(driven, how=st.sampled_from(["silent", "unknown", "stale"]))
    def lose_the_owner(self, run, how):
        self.lose_the_owner_of(run, how)

    def lose_the_owner_of(self, run, how):
        owner = self.owner_of(run)
        lost = [run for run in self.model.runs if run.driven and run.owner == owner.id]
        if how == "silent":
            self.do(
                lambda c: c.execute(
                    "UPDATE processes SET seen_at = now() - interval '1 h' WHERE id = $1", owner.id
                )
            )
            assert [each.id for each in self.runner.run(bury_dead(self.database, LEASE))] == [owner.id]
            assert self.runner.run(bury_dead(self.database, LEASE)) == []
            assert not self.runner.run(renew(self.database, owner, 1)), (
                "it was judged, and has to register anew"
            )
        elif how == "unknown":
            self.do(lambda c: c.execute("DELETE FROM processes WHERE id = $1", owner.id))
        else:
            self.do(
                lambda c: c.execute(
                    "UPDATE execution_queue SET claimed_at = now() - interval '1 h' WHERE owner_id = $1",
                    owner.id,
                )
            )
            lost = [run for run in lost if run.item and run.item.status == "CLAIMED"]
        recovered = self.do(lambda c: recover_stale_items(c, stale_after=300))
        assert {each.execution_id for each in recovered} == {run.id for run in lost}
        assert {each.stale for each in recovered} <= {how == "stale"}
        told = {each.execution_id: each.recoveries for each in recovered}
        for each in lost:
            counts = how != "stale" and (not each.suspect or each.item.status == "DISPATCHED")
            each.recoveries += counts
            each.suspect = each.suspect or each.recoveries >= SUSPECT_AFTER
            assert told[each.id] == (each.recoveries if counts else 0)
            each.in_line(due=True, holds=True)
        self.announce(*(run.place for run in lost))
        assert self.do(lambda c: recover_stale_items(c, stale_after=300)) == [], "once is enough"
        self.runner.run(register(self.database, owner, 10))

    @on(driven)
    def settle_all_and_lose_the_owner(self, run):
        for each in [each for each in self.model.runs if claimed(each)]:
            self.settle_one(each)
        self.lose_the_owner_of(run, "silent")

    @on(driven, some=st.booleans())
    def stop_an_owner(self, run, some):
        owner = self.owner_of(run)
        held = [run for run in self.model.runs if run.driven and run.owner == owner.id]
        given = held[::2] if some else held
        which = [run.id for run in given] if some else None
        places = self.do(lambda c: hand_back(c, owner.id, which))
        assert sorted(places) == sorted(run.place.id for run in given)
        for each in given:
            each.in_line(due=True, holds=True)
        self.announce(*(run.place for run in given))

    @on(driven)
    def forget_some(self, run):
        owner = self.owner_of(run)
        held = [run for run in self.model.runs if run.driven and run.owner == owner.id]
        driven, forgotten = held[::2], held[1::2]
        found = self.runner.run(hand_back_forgotten(self.database, owner.id, [run.id for run in driven]))
        assert sorted(found) == sorted((run.id, run.place.id) for run in forgotten)
        for each in forgotten:
            each.in_line(due=True, holds=True)
        self.announce(*(run.place for run in forgotten))

    @on(driven, old=st.booleans())
    def give_up_one_run(self, run, old):
        token = run.token - 1 if old else run.token
        place = self.do(lambda c: hand_back_run(c, run.id, run.number, token))
        assert place == (None if old else run.place.id)
        if not old:
            run.in_line(due=True, holds=True)
            self.announce(run.place)

    # ---- what always holds -------------------------------------------------------------------------------------------------

    @invariant()
    def rows_are_as_the_model_says(self):
        if not self.model.places:
            return
        items = {row["execution_id"]: row for row in self.do(lambda c: c.fetch(ITEMS))}
        executions = {row["id"]: row for row in self.do(lambda c: c.fetch(STATUSES))}
        for run in self.model.runs:
            row, item = executions.get(run.id), items.pop(run.id, None)
            told = row and (row["status"], row["run"], row["token"], row["recoveries"], row["suspect"])
            assert told == (run.status and (run.status, run.number, run.token, run.recoveries, run.suspect))
            if run.item is None:
                assert item is None
                continue
            assert (item["status"], item["due"], item["holds_slot"], item["attempts"], item["priority"]) == (
                run.item.status, run.item.due, run.item.holds, run.item.attempts, run.item.priority,
            )  # fmt: skip
            assert item["aged_at"] == run.item.aged
            if run.driven:
                assert item["owner_id"] == row["owner_id"] == run.owner
            elif run.item.status == "PENDING":
                assert item["owner_id"] is None
                assert (item["available_at"] is None) == run.item.never
                # The slot is the status, and nothing else says who has one.
                assert item["holds_slot"] == (run.status == "RUNNING")
        assert items == {}, "an item of nobody"
        # Every hint that was set in vain was taken back: nobody waits for the next sweep.
        wrong = set(self.do(wrong_hints))
        for place in self.model.places:
            startable = self.model.next_up([place.id], 1)
            assert not (startable and place.id in wrong), "something could start, and no claim would look"

    def teardown(self):
        """Nothing is lost: whatever is left in line is claimed, once there is room for it."""
        if sys.exc_info()[0] is not None:
            return  # it has failed already
        for place in self.model.places:
            place.limit, place.disabled = 100, False
        self.do(lambda c: c.execute("UPDATE workspaces SET running_limit = 100, disabled = false"))
        self.do(
            lambda c: c.execute(
                "UPDATE execution_queue SET available_at = now() WHERE status = 'PENDING' AND NOT due"
            )
        )
        for run in self.model.runs:
            if run.item and run.item.status == "PENDING" and not run.item.due:
                run.item.ready, run.item.never = True, False
        if self.model.places:
            self.promote()
            self.announce(*self.model.places)
            owner = self.owners[0]
            left = {run.id for run in self.model.runs if run.item and run.item.status == "PENDING"}
            while left:
                claim = self.runner.run(claim_executions(self.database, owner.id, 10))
                found = {each.execution_id for each in (*claim.claimed, *claim.strays)}
                assert found
                assert found <= left
                left -= found
                for stray in claim.strays:
                    self.do(lambda c, stray=stray: mark_failed(c, stray.queue_id, "gone"))


@pytest.mark.slow
@pytest.mark.timeout(600)  # a failing example takes its time to become a small one
def test_the_queue_does_what_its_model_does(database_url):
    with asyncio.Runner() as runner:
        database = Database(database_url, pool_size=2)
        try:
            run_state_machine_as_test(
                lambda: Queue(runner, database),
                settings=settings(
                    max_examples=100,
                    stateful_step_count=40,
                    deadline=None,
                    suppress_health_check=list(HealthCheck),
                ),
            )
        finally:
            runner.run(database.close())
