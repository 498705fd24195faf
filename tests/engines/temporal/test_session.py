"""What a worker knows of a run, where the workflow's word and the journal's are not the same."""

import asyncio
from contextlib import asynccontextmanager
from random import Random

from tests.engines.embedded.workers import WallClock, installation

from riven.completion.recorder import Recorder
from riven.completion.shared import SharedRunStore
from riven.core.graph import RetryPolicy
from riven.core.ids import NodePath
from riven.core.messages import NodeCompleted, StartNode, Step
from riven.effects.recorder import StepEnded
from riven.engines.embedded.timers import WallTimers
from riven.engines.temporal.session import Tools
from riven.engines.temporal.sessions import Sessions, no_secrets
from riven.wire.admission import freeze
from riven.wire.temporal import Taken

TEXT = """
name: w
nodes:
  a: {type: noop}
  b: {type: noop}
  c: {type: set, needs: [a, b], with: {value: "{{ steps.a.output }}{{ steps.b.output }}"}}
output: "{{ steps.c.output }}"
"""
FROZEN = freeze(1, RetryPolicy())


@asynccontextmanager
async def workers(database_url: str, count: int):
    """A run, and what as many workers know of it."""
    async with installation(database_url) as here:
        recorder = Recorder(here.database, lambda _: None)
        clock = WallClock()
        timers = WallTimers(clock)
        store = SharedRunStore(here.database, recorder, lambda _: None)
        tools = Tools(
            store=store, services={}, clock=clock, timers=timers, node_timeout=1_000, dice=Random(1)
        )
        execution_id = await here.start(TEXT)
        async with here.database.transaction() as connection:
            await connection.execute(
                "UPDATE workflow_executions SET status = 'RUNNING', token = 1, started_at = now(), run_started_at = now()"
            )
        made = [Sessions(tools, here.registry, no_secrets) for _ in range(count)]
        yield here, execution_id, made
        for each in made:
            await each.close()
        await recorder.close()
        timers.close()


def answer(path: str, output: str) -> StepEnded:
    return StepEnded(NodeCompleted(NodePath(path), 5), Step.RUN, 1, output)


def places(rows) -> dict[str, int]:
    return {path: row["seq"] for (path, _), row in rows.items()}


async def test_what_a_lost_task_of_the_workflow_took_in_gives_way_to_what_the_next_one_does(database_url):
    async with workers(database_url, 1) as (here, execution_id, (sessions,)):
        session = await sessions.get(execution_id, 1, "h", 2, FROZEN)
        session.performed(answer("a", "A"))
        session.performed(answer("b", "B"))
        await session.take(Taken(str(execution_id), 1, 1, 2, [["a", "a"], ["a", "b"]]))
        await session.write()
        assert places(await here.nodes(execution_id)) == {"a": 2, "b": 3}
        await session.take(Taken(str(execution_id), 1, 1, 2, [["a", "b"], ["a", "a"]]))
        await session.write()
        assert places(await here.nodes(execution_id)) == {"b": 2, "a": 3}
        assert list(session.following.starts) == ["c"]
        assert session.context.values.step(NodePath("a"))["output"] == "A"


async def test_a_step_that_is_asked_for_again_has_the_answer_that_it_had(database_url):
    async with workers(database_url, 1) as (_, execution_id, (sessions,)):
        session = await sessions.get(execution_id, 1, "h", 2, FROZEN)
        session.performed(answer("a", "A"))
        await session.take(Taken(str(execution_id), 1, 1, 2, [["a", "a"]]))
        again = session.answer(StartNode(NodePath("a")))
        assert again is not None
        assert again.output == "A"


async def test_another_worker_takes_nothing_for_certain_that_the_workflow_does_not_say(database_url):
    """What stands in the journal at this place or later was written by a task that may have been lost."""
    async with workers(database_url, 2) as (_, execution_id, (first, second)):
        session = await first.get(execution_id, 1, "h", 2, FROZEN)
        session.performed(answer("a", "A"))
        session.performed(answer("b", "B"))
        await session.take(Taken(str(execution_id), 1, 1, 2, [["a", "a"], ["a", "b"]]))
        await session.write()
        other = await second.get(execution_id, 1, "h", 3)
        assert list(other.following.starts) == ["b"]
        known = other.answer(StartNode(NodePath("b")))
        assert known is not None
        assert known.output == "B"
        await other.take(Taken(str(execution_id), 1, 1, 3, [["a", "b"]]))
        assert list(other.following.starts) == ["c"]


async def test_those_who_hand_in_together_write_together(database_url):
    async with workers(database_url, 1) as (here, execution_id, (sessions,)):
        session = await sessions.get(execution_id, 1, "h", 2, FROZEN)
        session.performed(answer("a", "A"))
        session.performed(answer("b", "B"))
        await asyncio.gather(session.write(), session.write())
        rows = await here.nodes(execution_id)
        assert {path: row["output"] for (path, _), row in rows.items()} == {"a": "A", "b": "B"}
        assert places(rows) == {"a": None, "b": None}
