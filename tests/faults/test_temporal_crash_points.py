"""Dispatchers and workers of the Temporal engine die at each step. Afterwards: one outcome a node, no slot held.

Temporal gives the work of a dead worker to another only after a while, so all of them die side by side, each on a
database and a task queue of its own.
"""

import asyncio
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest
from tests.dispatch.distant import server, until
from tests.engines.embedded.workers import Installation, installation
from tests.fixtures_postgres import new_database
from tests.main.running import Host, Running, host
from tests.maintenance.kit import refuse

from riven.db.identity import new_id
from riven.maintenance.reconcile import Reconciler
from riven.nodes.functions import Functions
from riven.queue.recover import recover_stale_items
from riven.queue.wake import Announcer
from riven.views.invariants import check_invariants

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

CHAIN = """
name: chain
nodes:
  a: {type: python, with: {function: test.deed, args: {name: "{{ input.n }}-a"}}}
  b: {type: python, needs: [a], with: {function: test.deed, args: {name: "{{ input.n }}-b"}}}
  c: {type: python, needs: [b], with: {function: test.deed, args: {name: "{{ input.n }}-c"}}}
output: "{{ steps.c.output }}"
"""
SIGNAL = """
name: listener
nodes:
  a: {type: python, with: {function: test.deed, args: {name: "{{ input.n }}-a"}}}
  hear: {type: signal, needs: [a], with: {name: go, timeout: 1500ms}}
  c: {type: python, needs: [hear], with: {function: test.deed, args: {name: "{{ input.n }}-c"}}}
output: "{{ steps.c.output }}"
"""
LASTS = """
name: lasts
nodes:
  a: {type: python, with: {function: test.deed, args: {name: "{{ input.n }}-a"}}}
  b: {type: python, needs: [a], with: {function: test.deed, args: {name: "{{ input.n }}-b", seconds: 2}}}
  c: {type: python, needs: [b], with: {function: test.deed, args: {name: "{{ input.n }}-c"}}}
output: "{{ steps.c.output }}"
"""
WORKERS = {
    "before_record:1": CHAIN,
    "after_record:1": CHAIN,
    "before_record:2": CHAIN,
    "after_record:2": CHAIN,
    "before_record:3": CHAIN,
    "after_record:3": CHAIN,
    "before_record:4": CHAIN,
    "after_record:4": CHAIN,
    "before_rest": SIGNAL,
    "after_rest": SIGNAL,
}
DISPATCHERS = {
    "during_claim": ("PENDING", "PENDING"),
    "after_claim": ("CLAIMED", "RUNNING"),
    "before_start": ("CLAIMED", "RUNNING"),
    "after_start": ("CLAIMED", "RUNNING"),
    "before_settle": ("CLAIMED", "RUNNING"),
    "after_settle": ("DISPATCHED", "RUNNING"),
}
"""What is left of the first item and its execution."""


@pytest.fixture
def databases(postgres_server, migrated_template) -> Iterator[Sequence[str]]:
    with ExitStack() as stack:
        count = max(len(WORKERS), len(DISPATCHERS))
        yield [
            stack.enter_context(new_database(postgres_server.url, template=migrated_template))
            for _ in range(count)
        ]


class Place:
    """Two executions of a workspace that runs one at a time, and processes of the Temporal engine."""

    def __init__(self, here: Installation, on: Host, address: str) -> None:
        self.here = here
        self.on = on
        self.settings = {
            "ENGINE": "temporal",
            "TEMPORAL_ADDRESS": address,
            "TEMPORAL_TASK_QUEUE": f"crash-{new_id()}",
            "TEMPORAL_STICKY_TIMEOUT": "500ms",
        }

    async def begin(self, text: str) -> list[UUID]:
        async with self.here.database.transaction() as connection:
            await connection.execute("UPDATE workspaces SET running_limit = 1")
        definition = await self.here.publish(text)
        return [await self.here.start_version(definition, input={"n": str(n)}) for n in range(2)]

    async def dispatcher(self, **settings: str) -> Running:
        return await self.on.start("dispatcher", ready=False, **{**self.settings, **settings})

    async def worker(self, **settings: str) -> Running:
        functions = ("--functions", str(self.on.functions))
        return await self.on.start("worker", *functions, ready=False, **{**self.settings, **settings})

    async def completed(self, execution_id: UUID) -> str:
        """Nodes that have an outcome, each a letter."""
        nodes = await self.here.nodes(execution_id)
        return "".join(path for path, _ in nodes if nodes[path, 1]["finished_at"] is not None)

    async def clear_hints(self) -> None:
        """What maintenance does in time: the dead one may have freed a slot and told nobody."""
        announcer = Announcer(self.here.database, new_id())
        await Reconciler(self.here.database, announcer).clear_hints()
        await announcer.close()

    async def ended_once(self, executions: Sequence[UUID], nodes: str, repeated: set[str]) -> None:
        """`repeated`: deeds that may have been done twice, for they were not recorded."""
        here = self.here
        over = "SELECT 1 WHERE NOT EXISTS (SELECT FROM workflow_executions WHERE finished_at IS NULL)"
        await until(lambda: here.row(over), 120)
        for number, execution_id in enumerate(executions):
            row = await here.execution(execution_id)
            assert (row["status"], row["run"], row["output"]) == ("COMPLETED", 1, f"{number}-c")
            found = await here.nodes(execution_id)
            assert {attempt for _, attempt in found} == {1}, "a death has cost an attempt"
            assert {node["status"] for node in found.values()} == {"COMPLETED"}
        done = Counter(deed for deed in self.on.deeds if deed.startswith("done"))
        assert set(done) == {f"done {number}-{node}" for number in range(2) for node in nodes}
        assert {deed for deed, count in done.items() if count > 1} <= repeated
        assert max(done.values()) <= 2
        assert await here.rows("SELECT * FROM execution_queue") == []
        assert await here.rows("SELECT * FROM workflow_executions WHERE status = 'RUNNING'") == []
        async with here.database.read() as connection:
            for each in await check_invariants(connection, 1.5):
                assert each.violations == 0, each.name


@asynccontextmanager
async def place(url: str, address: str, directory: Path):
    await asyncio.to_thread(directory.mkdir)
    functions = Functions()
    async with (
        server(address),
        host(url, directory) as on,
    ):  # where search attributes are known, as after `migrate`
        functions.load(str(on.functions))
        async with installation(url, functions=functions) as here:
            yield Place(here, on, address)


async def test_workers_that_die(databases, temporal_server, tmp_path):
    async def dies(point: str, text: str, url: str) -> None:
        async with place(url, temporal_server.address, tmp_path / point.replace(":", "-")) as at:
            executions = await at.begin(text)
            await at.dispatcher()
            armed = await at.worker(TEST_CRASH_AT=point)
            assert await armed.ended(60) == -signal.SIGKILL, point
            recorded = [await at.completed(each) for each in executions]
            unrecorded = {
                deed
                for deed in at.on.deeds
                if deed.startswith("done") and deed[-1] not in recorded[int(deed[5])]
            }
            await at.clear_hints()
            await at.worker()
            await at.ended_once(executions, "abc" if text == CHAIN else "ac", unrecorded)

    async with asyncio.TaskGroup() as side_by_side:
        for (point, text), url in zip(WORKERS.items(), databases, strict=False):
            side_by_side.create_task(dies(point, text, url))


async def test_dispatchers_that_die(databases, temporal_server, tmp_path):
    async def dies(point: str, left: tuple[str, str], url: str) -> None:
        async with place(url, temporal_server.address, tmp_path / point) as at:
            executions = await at.begin(CHAIN)
            armed = await at.dispatcher(TEST_CRASH_AT=point)
            assert await armed.ended(60) == -signal.SIGKILL, point
            item = await at.here.row(
                "SELECT status FROM execution_queue WHERE execution_id = $1", executions[0]
            )
            assert (item["status"], (await at.here.execution(executions[0]))["status"]) == left, point
            async with at.here.database.transaction() as connection:
                await connection.execute("UPDATE processes SET dead = true")
                await recover_stale_items(connection, stale_after=300)
            await at.dispatcher()
            await at.worker()
            await at.ended_once(executions, "abc", set())
            tokens = [(await at.here.execution(each))["recoveries"] for each in executions]
            assert tokens == [0, 0], "a dispatcher drives nothing: its death counts against no run"

    async with asyncio.TaskGroup() as side_by_side:
        for (point, left), url in zip(DISPATCHERS.items(), databases, strict=False):
            side_by_side.create_task(dies(point, left, url))


async def test_of_two_workers_one_dies_in_the_middle_of_a_node(databases, temporal_server, tmp_path):
    async with place(databases[0], temporal_server.address, tmp_path / "at") as at:
        executions = await at.begin(LASTS)
        await at.dispatcher()
        one = await at.worker()
        await at.on.until_deed("begun 0-b")
        await at.worker()
        one.send(signal.SIGKILL)
        await at.ended_once(executions, "abc", {"done 0-b"})
        assert at.on.deeds.count("begun 0-a") == 1
        assert at.on.deeds.count("begun 0-b") == 2


async def test_an_end_that_the_database_refuses_three_times_is_recorded_later(
    databases, temporal_server, tmp_path
):
    async with place(databases[0], temporal_server.address, tmp_path / "at") as at:
        await refuse(at.here.database, "workflow_executions", "NEW.finished_at IS NOT NULL")
        executions = await at.begin(CHAIN)
        await at.dispatcher()
        await at.worker()
        maintenance = await at.on.start("maintenance", **at.settings)

        async def drifted() -> bool:
            return bool(maintenance.events("engine_drift"))

        await until(drifted, 90)
        assert maintenance.events("engine_drift")[0]["executionId"] == str(executions[0])
        async with at.here.database.transaction() as connection:
            await connection.execute("DROP TRIGGER refuse ON workflow_executions")
        await at.ended_once(executions, "abc", set())
