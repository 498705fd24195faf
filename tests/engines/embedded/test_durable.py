"""Runs on the durable journal: ends, takes up again, rests and wakes, on a real database."""

import asyncio

from tests.engines.embedded.workers import Worker, eventually, installation, worker
from tests.intake.steering import Steering

from riven.completion.history import load_history
from riven.core.graph import RetryPolicy
from riven.db.identity import new_id
from riven.nodes.fair_line import CALLER
from riven.nodes.function import function
from riven.nodes.functions import Functions
from riven.queue.recover import wake_waiting

CHAIN = """
name: chain
nodes:
  a: {type: python, with: {function: riven.echo, args: {n: "{{ input.n }}"}}}
  b: {type: set, needs: [a], with: {value: "{{ steps.a.output.n + 1 }}"}}
  c: {type: python, needs: [b], with: {function: riven.echo, args: {n: "{{ steps.b.output * 2 }}"}}}
output: "{{ steps.c.output.n }}"
"""


async def test_a_run_leaves_its_outcome_and_one_row_for_each_attempt(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(CHAIN, input={"n": 4})
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["phase"], row["output"]) == ("COMPLETED", "COMPLETED", 10)
        assert row["duration_ms"] is not None
        assert row["retry_defaults"]["rulesVersion"] == 1
        nodes = await here.nodes(execution_id)
        assert {key: node["status"] for key, node in nodes.items()} == dict.fromkeys(
            [("a", 1), ("b", 1), ("c", 1)], "COMPLETED"
        )
        assert [nodes[key, 1]["seq"] for key in "abc"] == sorted(nodes[key, 1]["seq"] for key in "abc")
        assert await here.row("SELECT * FROM execution_queue") is None


async def test_a_failed_run_says_where_and_why_and_stays_in_line_as_a_dead_letter(database_url):
    text = "{name: f, nodes: {a: {type: fail, with: {message: no, type: VALIDATION_ERROR}}, b: {type: noop, needs: [a]}}}"
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(text)
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["error_node"], row["error_type"], row["error_message"]) == (
            "FAILED", "a", "VALIDATION_ERROR", "no",
        )  # fmt: skip
        nodes = await here.nodes(execution_id)
        assert (nodes["a", 1]["status"], nodes["b", 0]["status"]) == ("FAILED", "CANCELED")
        item = await here.row("SELECT * FROM execution_queue")
        assert (item["status"], item["last_error"]) == ("FAILED", "VALIDATION_ERROR: no")


async def test_what_was_completed_is_not_done_again_by_the_next_owner(database_url):
    calls, gate = [], asyncio.Event()

    @function(name="test.note")
    async def note(name: str) -> str:
        calls.append(name)
        if name == "slow" and not gate.is_set():
            await asyncio.Event().wait()
        return name

    text = """
    name: long
    nodes:
      first: {type: python, with: {function: test.note, args: {name: first}}}
      each: {type: for_each, needs: [first], with: {items: [1, 2], concurrency: 1}, body: {nodes: {
        x: {type: python, with: {function: test.note, args: {name: "{{ string(item) }}"}}}}, output: "{{ item }}"}}
      slow: {type: python, needs: [each], with: {function: test.note, args: {name: slow}}}
      last: {type: set, needs: [slow], with: {value: "{{ steps.each.output }}"}}
    output: "{{ steps.last.output }}"
    """
    async with installation(database_url, functions=Functions(note)) as here:
        one = Worker(here)
        execution_id = await here.start(text)
        await eventually(lambda: "slow" in calls)
        await one.freeze()
        assert (await here.execution(execution_id))["status"] == "RUNNING"
        gate.set()
        recovered = await here.recover()
        assert [each.execution_id for each in recovered] == [execution_id]
        async with worker(here):
            row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["output"], row["token"]) == ("COMPLETED", [1, 2], 2)
        assert calls == ["first", "1", "2", "slow", "slow"]
        assert (await here.nodes(execution_id))["slow", 1]["attempt"] == 1


async def test_an_older_owner_writes_nothing_any_more(database_url):
    gates = [asyncio.Event(), asyncio.Event()]
    turns = iter(gates)

    @function(name="test.held")
    async def held() -> int:
        await next(turns).wait()
        return len([gate for gate in gates if gate.is_set()])

    text = (
        "{name: h, nodes: {a: {type: python, with: {function: test.held}}}, output: '{{ steps.a.output }}'}"
    )
    async with installation(database_url, functions=Functions(held)) as here:
        old = Worker(here)
        execution_id = await here.start(text)
        await here.until(execution_id, "RUNNING")
        old.loop.stop()
        await old.task
        await here.recover()
        new = Worker(here)
        await eventually(lambda: new.engine.running)
        gates[0].set()
        await eventually(lambda: not old.engine.running)
        row = await here.execution(execution_id)
        assert (row["status"], row["token"]) == ("RUNNING", 2)
        assert (await here.nodes(execution_id)).get(("a", 1), {"status": "RUNNING"})["status"] == "RUNNING"
        gates[1].set()
        row = await here.until(execution_id, "COMPLETED")
        assert row["output"] == 2
        await old.stop()
        await new.stop()


async def test_a_run_that_waits_for_a_signal_gives_back_its_slot_and_goes_on_with_it(database_url):
    text = """
    name: s
    nodes:
      before: {type: noop}
      paid: {type: signal, needs: [before], with: {name: paid}}
    output: "{{ steps.paid.output }}"
    """
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(text)
        row = await here.until(execution_id, "WAITING")
        assert (row["waiting_kind"], row["owner_id"]) == ("signal", None)
        item = await here.row("SELECT * FROM execution_queue")
        assert (item["status"], item["due"], item["available_at"]) == ("PENDING", False, None)
        async with here.database.transaction() as connection:
            await connection.execute(
                "INSERT INTO signals (id, execution_id, kind, name, payload, run) VALUES ($1, $2, 'SIGNAL', 'paid', $3, 1)",
                new_id(), execution_id, {"amount": 7},
            )  # fmt: skip
            await wake_waiting(connection, [execution_id])
            await connection.execute("UPDATE workspaces SET idle = false")
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["output"]) == ("COMPLETED", {"amount": 7})


async def test_the_retry_defaults_of_a_run_are_those_of_its_first_admission(database_url):
    tries = []

    @function(name="test.fail")
    async def fail() -> None:
        tries.append(True)
        raise RuntimeError("no")

    text = """
    name: r
    nodes:
      hear: {type: signal, with: {name: go}}
      a: {type: python, needs: [hear], with: {function: test.fail}}
    """
    async with installation(database_url, functions=Functions(fail)) as here:
        async with worker(here, retry=RetryPolicy(max_attempts=2, initial_interval=1)):
            execution_id = await here.start(text)
            await here.until(execution_id, "WAITING")
        async with worker(here, retry=RetryPolicy(max_attempts=5, initial_interval=1)):
            await Steering(here).signal(execution_id, "go")
            await here.until(execution_id, "FAILED", "COMPLETED")
        assert len(tries) == 2


async def test_a_signal_that_came_long_before_ends_nothing_before_it_began(database_url):
    text = """
    name: s
    nodes:
      poll:
        type: repeat
        with: {until: "true", maxIterations: 1}
        body: {nodes: {hear: {type: signal, with: {name: go}}}}
      then: {type: signal, needs: [poll], with: {name: on}}
    """
    async with installation(database_url) as here:
        execution_id = await here.start(text)
        async with here.database.transaction() as connection:
            await connection.execute(
                "INSERT INTO signals (id, execution_id, kind, name, run, created_at) "
                "VALUES ($1, $2, 'SIGNAL', 'go', 1, now() - interval '1 h')",
                new_id(), execution_id,
            )  # fmt: skip
        for _ in range(2):  # as it is delivered, and as it is read from the journal
            async with worker(here):
                await here.until(execution_id, "WAITING")
                rows = await here.nodes(execution_id)
                assert rows["poll[0].hear", 1]["started_at"] <= rows["poll[0].hear", 1]["finished_at"]
            async with here.database.transaction() as connection:
                await wake_waiting(connection, [execution_id])
                await connection.execute("UPDATE workspaces SET idle = false")
                history = await load_history(connection, execution_id, 1, 0)
        times = [taken.event.at for taken in history.taken]
        assert times == sorted(times)


async def test_a_long_wait_parks_until_its_time(database_url):
    text = "{name: w, nodes: {nap: {type: wait, with: {for: 3h}}}}"
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(text)
        row = await here.until(execution_id, "WAITING")
        assert row["waiting_kind"] == "timer"
        item = await here.row("SELECT available_at - now() AS left, due FROM execution_queue")
        assert not item["due"]
        assert 10_700 < item["left"].total_seconds() <= 10_800


async def test_a_version_that_is_gone_fails_the_run_with_a_reason(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(CHAIN, input={"n": 1})
        async with here.database.transaction() as connection:
            await connection.execute("DELETE FROM workflow_definition_versions")
        async with worker(here):
            row = await here.until(execution_id, "FAILED")
        assert row["error_type"] == "DISPATCH_FAILED"


async def test_a_switched_off_engine_claims_nothing(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(CHAIN, input={"n": 1})
        async with worker(here, enabled=False) as off:
            off.loop.wake()
            await asyncio.sleep(0.3)
            assert (await here.execution(execution_id))["status"] == "PENDING"
        async with worker(here):
            await here.until(execution_id, "COMPLETED")


async def test_whoever_shares_the_worker_is_known_by_workspace_where_turns_are_taken(database_url):
    @function(name="test.caller")
    def caller() -> str:
        return str(CALLER.get())

    text = (
        "{name: c, nodes: {a: {type: python, with: {function: test.caller}}}, output: '{{ steps.a.output }}'}"
    )
    async with installation(database_url, functions=Functions(caller)) as here, worker(here):
        row = await here.until(await here.start(text), "COMPLETED", "FAILED")
        assert row["output"] == str(here.workspace_id)


async def test_a_run_tells_its_story_in_events_with_its_id(database_url, caplog):
    caplog.set_level("INFO", "riven.engine")
    text = """
    name: story
    nodes:
      a: {type: python, with: {function: riven.echo, args: {x: 1}}}
      b: {type: fail, needs: [a], with: {message: no}}
    """
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(text)
        await here.until(execution_id, "FAILED")
    told = [record for record in caplog.records if record.name == "riven.engine"]
    assert {record.executionId for record in told} == {str(execution_id)}
    assert [record.message for record in told] == [
        "execution_started", "nodes_ready", "nodes_ready", "node_failed", "execution_finished",
    ]  # fmt: skip
    assert [record.count for record in told if record.message == "nodes_ready"] == [1, 1]
    failed, finished = told[3:]
    assert (failed.nodePath, failed.error) == ("b", {"type": "EXECUTION_ERROR", "message": "no"})
    assert finished.status == "FAILED"
