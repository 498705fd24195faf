"""Shared commits: one at fault falls alone, a database that is away is waited for, an end that is refused is handed back."""

import asyncio
from contextlib import asynccontextmanager

import pytest
from tests.engines.embedded.workers import Worker, eventually, installation, worker
from tests.maintenance.kit import place
from tests.queue.lines import line_up, workspace

from riven.completion import recorder as recording
from riven.completion.recorder import Recorder, RunWrite
from riven.db.engine import Database
from riven.db.errors import ConflictError, DatabaseUnavailableError, StatementError
from riven.effects.recorder import LostRunError, UnrecordedEndError
from riven.nodes.function import function
from riven.nodes.functions import Functions

REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused by a test'; END $$;
CREATE TRIGGER refuse BEFORE UPDATE ON workflow_executions FOR EACH ROW
WHEN (NEW.status IN ('COMPLETED', 'FAILED')) EXECUTE FUNCTION refuse();
"""


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Everything as it is, only sooner."""
    monkeypatch.setattr(recording, "_AWAY_DELAY", 0.01)
    monkeypatch.setattr(recording, "_END_DELAY", 0.05)


class Unruly(Database):
    """A database that fails as it is told to, before or after it has done what was asked."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.before: list[Exception] = []
        self.after: list[Exception] = []

    @asynccontextmanager
    async def read(self):
        if self.before:
            raise self.before.pop(0)
        async with super().read() as connection:
            yield connection
            if self.after:
                raise self.after.pop(0)


@asynccontextmanager
async def recorder(url: str, count: int):
    """A recorder on an unruly database, and `count` runs that are driven."""
    async with place(url) as here:
        at = await workspace(here.database, limit=count)
        await line_up(here.database, at, count)
        claimed = await here.claim(await here.worker(), count)
        unruly, freed = Unruly(url), []
        made = Recorder(unruly, freed.extend)
        try:
            yield here, made, unruly, claimed, freed
        finally:
            await made.close()
            await unruly.close()


def node(claimed, status="COMPLETED", **more) -> RunWrite:
    row = {
        "execution_id": claimed.execution_id, "path": "a", "attempt": 1, "type": "noop", "place": "", "revision": 1,
        "status": status, "seq": 2, "answer": {}, "finished_ms": 1,
    }  # fmt: skip
    key = {"execution_id": claimed.execution_id, "run": claimed.run, "token": claimed.token}
    return RunWrite(**{**key, **more}, nodes=[row])


def end(claimed) -> RunWrite:
    move = {"status": "COMPLETED", "phase": "COMPLETED", "revision": 2}
    return RunWrite(execution_id=claimed.execution_id, run=claimed.run, token=claimed.token, move=move)


async def test_what_is_handed_in_at_once_shares_commits(database_url):
    async with recorder(database_url, 10) as (here, made, _, claimed, _):
        await asyncio.gather(*[made.record(node(each)) for each in claimed])
        assert made.flushed_writes == 10
        assert made.flushes <= 2
        assert await here.value("SELECT count(*) FROM workflow_execution_nodes") == 10


async def test_one_poisoned_write_among_ten_fails_and_nine_go_on(database_url):
    async with recorder(database_url, 10) as (here, made, _, claimed, _):
        writes = [
            node(each, "NO SUCH STATUS" if number == 4 else "COMPLETED")
            for number, each in enumerate(claimed)
        ]
        answers = await asyncio.gather(*[made.record(write) for write in writes], return_exceptions=True)
        assert [isinstance(answer, StatementError) for answer in answers] == [
            number == 4 for number in range(10)
        ]
        assert [answer for number, answer in enumerate(answers) if number != 4] == [None] * 9
        assert await here.value("SELECT count(*) FROM workflow_execution_nodes") == 9


async def test_a_run_of_somebody_else_is_left_out_alone(database_url):
    async with recorder(database_url, 2) as (here, made, _, claimed, _):
        writes = [node(claimed[0], token=claimed[0].token + 1), node(claimed[1])]
        lost, written = await asyncio.gather(
            *[made.record(write) for write in writes], return_exceptions=True
        )
        assert isinstance(lost, LostRunError)
        assert written is None
        assert (
            await here.value("SELECT execution_id FROM workflow_execution_nodes") == claimed[1].execution_id
        )


async def test_what_an_older_owner_left_behind_is_not_written_with_what_the_new_one_hands_in(database_url):
    """A process that was cut off from its database, and has claimed its own run anew: it holds writes of both."""
    async with recorder(database_url, 1) as (here, made, _, claimed, _):
        old = node(claimed[0])
        await here.execute("UPDATE workflow_executions SET token = token + 1")
        new = node(claimed[0], token=claimed[0].token + 1)
        new.nodes[0].update(path="b", seq=3)
        lost, written = await asyncio.gather(
            *[made.record(write) for write in (old, new)], return_exceptions=True
        )
        assert isinstance(lost, LostRunError)
        assert written is None
        assert await here.value("SELECT string_agg(path, ',') FROM workflow_execution_nodes") == "b"


async def test_an_execution_that_was_deleted_is_told_of_and_what_was_to_be_recorded_is_dropped(
    database_url, caplog
):
    async with recorder(database_url, 2) as (here, made, _, claimed, _):
        await here.execute("DELETE FROM workflow_executions WHERE id = $1", claimed[0].execution_id)
        gone, written = await asyncio.gather(
            *[made.record(end(each)) for each in claimed], return_exceptions=True
        )
        assert isinstance(gone, LostRunError)
        assert written is None
        told = [r for r in caplog.records if r.message == "execution_missing_at_completion"]
        assert [r.executionId for r in told] == [str(claimed[0].execution_id)]


async def test_an_item_that_was_deleted_is_told_of_and_the_run_has_ended_all_the_same(database_url, caplog):
    async with recorder(database_url, 1) as (here, made, _, claimed, freed):
        await here.execute("DELETE FROM execution_queue")
        await made.record(end(claimed[0]))
        assert (await here.execution(claimed[0].execution_id))["status"] == "COMPLETED"
        assert freed == [claimed[0].workspace_id]
        told = [r for r in caplog.records if r.message == "queue_item_missing_at_completion"]
        assert [r.executionId for r in told] == [str(claimed[0].execution_id)]


async def test_a_database_that_is_away_is_waited_for(database_url):
    async with recorder(database_url, 1) as (here, made, unruly, claimed, _):
        unruly.before = [DatabaseUnavailableError("away") for _ in range(7)]
        await made.record(end(claimed[0]))
        assert unruly.before == []
        assert (await here.execution(claimed[0].execution_id))["status"] == "COMPLETED"


async def test_a_row_that_somebody_holds_holds_up_its_own_run_and_nine_go_on(database_url):
    async with recorder(database_url, 10) as (here, _, _, claimed, freed):
        impatient = Database(database_url, statement_timeout=0.3)
        made = Recorder(impatient, freed.extend)
        held = claimed[4]
        async with here.database.transaction() as holder:
            await holder.fetch("SELECT FROM execution_queue WHERE id = $1 FOR UPDATE", held.queue_id)
            recording = {each.execution_id: asyncio.create_task(made.record(end(each))) for each in claimed}
            async with asyncio.timeout(20):
                await asyncio.gather(
                    *[task for execution_id, task in recording.items() if execution_id != held.execution_id]
                )
            assert await here.value("SELECT count(*) FROM execution_queue") == 1
            assert not recording[held.execution_id].done()
        async with asyncio.timeout(20):
            await recording[held.execution_id]
        assert await here.value("SELECT count(*) FROM execution_queue") == 0
        await made.close()
        await impatient.close()


async def test_an_end_whose_answer_was_lost_is_known_by_its_row(database_url):
    async with recorder(database_url, 2) as (here, made, unruly, claimed, freed):
        unruly.after = [DatabaseUnavailableError("broken off")]
        await asyncio.gather(*[made.record(end(each)) for each in claimed])
        assert await here.value("SELECT count(*) FROM workflow_executions WHERE status = 'COMPLETED'") == 2
        assert await here.value("SELECT count(*) FROM outbox") == 2
        assert freed == [claimed[0].workspace_id]


async def test_a_deadlock_is_tried_again_and_at_last_told_apart(database_url):
    async with recorder(database_url, 2) as (here, made, unruly, claimed, _):
        unruly.before = [ConflictError("deadlock") for _ in range(3)]
        await asyncio.gather(*[made.record(node(each)) for each in claimed])
        assert await here.value("SELECT count(*) FROM workflow_execution_nodes") == 2


async def test_an_end_that_is_refused_is_tried_three_times_and_holds_up_nobody(database_url, caplog):
    async with recorder(database_url, 2) as (here, made, _, claimed, _):
        await here.execute(
            f"ALTER TABLE outbox ADD CONSTRAINT refuse CHECK (execution_id <> '{claimed[0].execution_id}')"
        )
        answers = await asyncio.gather(*[made.record(end(each)) for each in claimed], return_exceptions=True)
        assert isinstance(answers[0], UnrecordedEndError)
        assert answers[1] is None
        tries = [r.triesLeft for r in caplog.records if r.message == "completion_failed"]
        assert tries == [2, 1, 0]
        assert (await here.execution(claimed[0].execution_id))["status"] == "RUNNING"


async def test_what_is_refused_for_a_while_is_recorded_then(database_url):
    async with recorder(database_url, 1) as (here, made, _, claimed, _):
        await here.execute("ALTER TABLE outbox ADD CONSTRAINT refuse CHECK (kind IS NULL)")
        recording_it = asyncio.create_task(made.record(end(claimed[0])))
        await eventually(lambda: made._flushes)
        await here.execute("ALTER TABLE outbox DROP CONSTRAINT refuse")
        await recording_it
        assert (await here.execution(claimed[0].execution_id))["status"] == "COMPLETED"


async def test_whoever_leaves_while_it_is_written_breaks_nothing_for_the_others(database_url):
    async with recorder(database_url, 3) as (here, made, _, claimed, _):
        writes = [node(claimed[0]), node(claimed[1], token=99), node(claimed[2])]
        tasks = [asyncio.create_task(made.record(write)) for write in writes]
        await asyncio.sleep(0)
        tasks[0].cancel()
        tasks[1].cancel()
        await tasks[2]
        await asyncio.gather(*tasks, return_exceptions=True)
        assert await here.value("SELECT count(*) FROM workflow_execution_nodes") == 2


async def test_a_run_whose_end_is_refused_goes_back_in_line_until_the_database_takes_it(database_url, caplog):
    calls = []

    @function(name="test.once")
    async def once() -> int:
        calls.append(1)
        return len(calls)

    text = (
        "{name: o, nodes: {a: {type: python, with: {function: test.once}}}, output: '{{ steps.a.output }}'}"
    )
    async with installation(database_url, functions=Functions(once)) as here:
        async with here.database.transaction() as connection:
            await connection.execute(REFUSE)
        async with worker(here):
            execution_id = await here.start(text)
            await eventually(lambda: [r for r in caplog.records if r.message == "run_handed_back"])
            async with here.database.transaction() as connection:
                await connection.execute("DROP TRIGGER refuse ON workflow_executions")
            row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["output"]) == ("COMPLETED", 1)
        assert row["token"] > 1
        assert calls == [1]


async def test_a_run_that_is_parked_while_the_answer_gets_lost_has_given_back_its_slot(database_url):
    text = "{name: s, nodes: {paid: {type: signal, with: {name: paid}}}}"
    async with installation(database_url) as here:
        one = Worker(here)
        store = one.engine.store
        lost = []

        class Losing(Database):
            @asynccontextmanager
            async def transaction(self):
                async with super().transaction() as connection:
                    yield connection
                if not lost:
                    lost.append(True)
                    raise DatabaseUnavailableError("broken off")

        losing = store._database = Losing(database_url)
        try:
            execution_id = await here.start(text)
            row = await here.until(execution_id, "WAITING", "FAILED")
            assert (row["status"], lost) == ("WAITING", [True])
            await eventually(lambda: not one.engine.running)
            assert (await here.execution(execution_id))["status"] == "WAITING"
        finally:
            await one.stop()
            await losing.close()
