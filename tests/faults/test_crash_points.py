"""A process dies at each step between accept and completion. Afterwards: one execution, one outcome a node, no slot held."""

import asyncio
import itertools
import signal
from collections import Counter
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from uuid import UUID

import httpx
import pytest
from tests.engines.embedded.workers import Installation, installation, worker
from tests.intake.steering import Steering
from tests.main.running import Host, host

from riven.db.identity import new_id
from riven.maintenance.reconcile import Reconciler
from riven.nodes.functions import Functions
from riven.queue.wake import Announcer
from riven.tenancy.keys import create_first_platform_key
from riven.views.invariants import check_invariants

pytestmark = pytest.mark.slow

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


@dataclass(frozen=True, slots=True)
class Left:
    """What the dead process has left behind."""

    item: str | None
    execution: str
    token: int
    completed: str
    """Nodes with an outcome, each a letter."""
    done: str
    """Nodes that have done their deed."""


POINTS = {
    "during_claim": Left("PENDING", "PENDING", 0, "", ""),
    "after_claim": Left("CLAIMED", "RUNNING", 1, "", ""),
    "before_start": Left("CLAIMED", "RUNNING", 1, "", ""),
    "after_start": Left("CLAIMED", "RUNNING", 1, "", ""),
    # The first flush settles, each one records, the fourth completes: the output is a step of its own.
    "before_record:1": Left("CLAIMED", "RUNNING", 1, "", "a"),
    "after_record:1": Left("DISPATCHED", "RUNNING", 1, "a", "a"),
    "before_record:2": Left("DISPATCHED", "RUNNING", 1, "a", "ab"),
    "after_record:2": Left("DISPATCHED", "RUNNING", 1, "ab", "ab"),
    "before_record:3": Left("DISPATCHED", "RUNNING", 1, "ab", "abc"),
    "after_record:3": Left("DISPATCHED", "RUNNING", 1, "abc", "abc"),
    "before_record:4": Left("DISPATCHED", "RUNNING", 1, "abc", "abc"),
    "after_record:4": Left(None, "COMPLETED", 1, "abc", "abc"),
}
RESTS = {
    "before_rest": Left("DISPATCHED", "RUNNING", 1, "a", "a"),
    "after_rest": Left("PENDING", "WAITING", 1, "a", "a"),
}


@pytest.mark.parametrize("point", POINTS)
async def test_a_worker_that_dies_at(database_url, tmp_path, monkeypatch, point):
    async with one_slot(database_url, tmp_path, monkeypatch) as (here, on):
        executions = await dies_at(point, CHAIN, POINTS[point], here, on)
        await goes_on(here)
        await ended_once(here, on, executions, "abc", POINTS[point])


@pytest.mark.parametrize("point", RESTS)
async def test_a_worker_that_dies_while_a_run_parks(database_url, tmp_path, monkeypatch, point):
    async with one_slot(database_url, tmp_path, monkeypatch) as (here, on):
        executions = await dies_at(point, SIGNAL, RESTS[point], here, on)
        await goes_on(here)
        await ended_once(here, on, executions, "ac", RESTS[point])


@asynccontextmanager
async def one_slot(url, directory, monkeypatch):
    """A workspace that runs one execution at a time, and a host for processes. Functions leave deeds wherever they run."""
    monkeypatch.setenv("DEEDS", str(directory / "deeds.txt"))
    functions = Functions()
    async with host(url, directory) as on:
        functions.load(str(on.functions))
        async with installation(url, functions=functions) as here:
            async with here.database.transaction() as connection:
                await connection.execute("UPDATE workspaces SET running_limit = 1")
            yield here, on


async def dies_at(point: str, text: str, left: Left, here: Installation, on: Host) -> list[UUID]:
    """Two executions, the first of which is under way when the worker dies. Answers both."""
    definition = await here.publish(text)
    executions = [await here.start_version(definition, input={"n": str(n)}) for n in range(2)]
    armed = await on.start("worker", "--functions", str(on.functions), ready=False, TEST_CRASH_AT=point)
    assert await armed.ended() == -signal.SIGKILL
    first, second = executions
    row = await here.execution(first)
    item = await here.row("SELECT status FROM execution_queue WHERE execution_id = $1", first)
    nodes = await here.nodes(first)
    completed = "".join(path for path, _ in nodes if nodes[path, 1]["finished_at"] is not None)
    done = "".join(deed.removeprefix("done 0-") for deed in on.deeds if deed.startswith("done 0-"))
    assert Left(item and item["status"], row["status"], row["token"], completed, done) == left
    assert (await here.execution(second))["status"] == "PENDING"
    return executions


async def goes_on(here: Installation) -> None:
    """What maintenance does in time; then a worker that lives, until all is over."""
    await here.recover()
    announcer = Announcer(here.database, new_id())
    await Reconciler(here.database, announcer).clear_hints()
    async with worker(here):
        await here.until_true("SELECT count(*) = 0 FROM workflow_executions WHERE finished_at IS NULL")
    await announcer.close()


async def ended_once(here: Installation, on: Host, executions: list[UUID], nodes: str, left: Left) -> None:
    for number, execution_id in enumerate(executions):
        row = await here.execution(execution_id)
        assert (row["status"], row["run"], row["output"]) == ("COMPLETED", 1, f"{number}-c")
        found = await here.nodes(execution_id)
        deeds = {path: node["status"] for (path, attempt), node in found.items() if attempt == 1}
        assert len(deeds) == len(found), "a death has cost an attempt"
        assert set(deeds.values()) == {"COMPLETED"}
    done = Counter(deed for deed in on.deeds if deed.startswith("done"))
    repeated = {deed for deed, count in done.items() if count > 1}
    assert repeated == {f"done 0-{node}" for node in left.done if node not in left.completed}
    assert set(done) == {f"done {number}-{node}" for number in range(2) for node in nodes}
    told = await here.rows("SELECT execution_id, count(*) AS n FROM outbox GROUP BY 1")
    assert {each["execution_id"]: each["n"] for each in told} == dict.fromkeys(executions, 1)
    await all_is_well(here)


async def all_is_well(here: Installation) -> None:
    """Nobody is in line, nobody has a slot, and every invariant holds."""
    assert await here.rows("SELECT * FROM execution_queue") == []
    assert await here.rows("SELECT * FROM workflow_executions WHERE status = 'RUNNING'") == []
    async with here.database.read() as connection:
        for each in await check_invariants(connection, 1.5):
            assert each.violations == 0, each.name


async def platform_key(here: Installation) -> str:
    async with here.database.transaction() as connection:
        return (await create_first_platform_key(connection, name="tests")).secret


# ---- accept --------------------------------------------------------------------------------------------------------------


ACCEPTS = [
    *itertools.product(("before_accept", "after_accept"), (1, 60), (True, False)),
    # only a start that goes alone has more than one statement: here one whose key somebody else was about to write
    ("during_accept", 1, True),
]
LOCK_KEY = "SELECT pg_advisory_xact_lock(hashtextextended('k', hashtext($1)))"
KEY_IS_WAITED_FOR = "SELECT count(*) > 0 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"


@asynccontextmanager
async def a_key_that_is_in_use(here: Installation):
    """Until somebody waits for it; then it has come to nothing."""
    held = asyncio.Event()

    async def hold() -> None:
        async with here.database.transaction() as connection:
            await connection.fetch(LOCK_KEY, str(here.workspace_id))
            held.set()
            await here.until_true(KEY_IS_WAITED_FOR)

    holding = asyncio.create_task(hold())
    await held.wait()
    yield
    await holding


@pytest.mark.parametrize(("point", "count", "keyed"), ACCEPTS)
async def test_an_api_that_dies_at(database_url, tmp_path, monkeypatch, point, count, keyed):
    """A batch of more than a few goes by itself, and so by another way."""
    async with one_slot(database_url, tmp_path, monkeypatch) as (here, on), httpx.AsyncClient() as client:
        key = await platform_key(here)
        async with here.database.transaction() as connection:
            await connection.execute("UPDATE workspaces SET running_limit = 100")
        workflow, _ = await here.publish(CHAIN)
        async with here.database.transaction() as connection:
            await connection.execute(
                "UPDATE workflow_definitions SET latest_version = 1, status = 'PUBLISHED'"
            )
        starts = [
            {
                "workspaceId": str(here.workspace_id),
                "workflowDefinitionId": str(workflow),
                "input": {"n": str(n)},
            }
            for n in range(count)
        ]
        path, body = ("start", starts[0]) if count == 1 else ("start-batch", {"executions": starts})
        headers = {"Authorization": f"Bearer {key}"} | ({"Idempotency-Key": "k"} if keyed else {})

        async def ask(api) -> httpx.Response:
            (line,) = await api.logs("api_listening")
            return await client.post(
                f"{line['url']}/api/v1/workflow/executions/{path}", json=body, headers=headers
            )

        armed = await on.start("api", "--port", "0", TEST_CRASH_AT=point)
        async with a_key_that_is_in_use(here) if point == "during_accept" else nullcontext():
            with pytest.raises(httpx.TransportError):
                await ask(armed)
        assert await armed.ended() == -signal.SIGKILL
        stored = count if point == "after_accept" else 0
        assert len(await here.rows("SELECT * FROM workflow_executions")) == stored
        assert len(await here.rows("SELECT * FROM execution_queue")) == stored
        assert len(await here.rows("SELECT * FROM activity WHERE action = 'execution.started'")) == stored
        again = await ask(await on.start("api", "--port", "0"))
        assert again.status_code == 202, again.text
        expected = count if keyed else stored + count
        executions = await here.rows("SELECT id FROM workflow_executions")
        assert len(executions) == expected
        answered = again.json()["executions"] if count > 1 else [again.json()]
        assert {each["executionId"] for each in answered} <= {str(row["id"]) for row in executions}
        await goes_on(here)
        done = Counter(deed for deed in on.deeds if deed.startswith("done"))
        assert done == {f"done {n}-{node}": expected // count for n in range(count) for node in "abc"}
        await all_is_well(here)


# ---- control, waking, promotion, recovery -----------------------------------------------------------------------------------

LISTENER = SIGNAL.replace("1500ms", "1h")
STEERED = {
    # call: the document, what is done before, what the rows say afterwards
    "signal/go": (LISTENER, "waits", ("WAITING", 1, "PENDING", True)),
    "cancel": (CHAIN, "waits", ("CANCELED", 1, None, None)),
    "pause": (CHAIN, "waits", ("PAUSED", 1, "PENDING", False)),
    "resume": (CHAIN, "pause", ("PENDING", 1, "PENDING", True)),
    "retry": (CHAIN, "cancel", ("PENDING", 2, "PENDING", True)),
}


TRACES = "SELECT FROM activity WHERE subject = $1"


async def as_it_is(here: Installation, execution_id: UUID):
    row = await here.execution(execution_id)
    item = await here.row("SELECT status, due FROM execution_queue WHERE execution_id = $1", execution_id)
    return row["status"], row["run"], item and item["status"], item and item["due"]


@pytest.mark.parametrize("point", ["during_control", "after_control"])
@pytest.mark.parametrize("call", STEERED)
async def test_an_api_that_dies_while_it_is_asked_to(database_url, tmp_path, monkeypatch, call, point):
    text, before, wanted = STEERED[call]
    async with one_slot(database_url, tmp_path, monkeypatch) as (here, on), httpx.AsyncClient() as client:
        execution_id = await here.start(text, input={"n": "0"})
        steering = Steering(here)
        if before == "waits" and text is LISTENER:
            async with worker(here):
                await here.until(execution_id, "WAITING")
        elif before != "waits":
            await getattr(steering, before)(execution_id)
        was, traces = (
            await as_it_is(here, execution_id),
            await here.rows(TRACES, f"execution:{execution_id}"),
        )
        async with here.database.transaction() as connection:
            await connection.execute("UPDATE workspaces SET idle = true")
        armed = await on.start("api", "--port", "0", TEST_CRASH_AT=point)
        (line,) = await armed.logs("api_listening")
        with pytest.raises(httpx.TransportError):
            await client.post(
                f"{line['url']}/api/v1/workflow/executions/{execution_id}/{call}",
                headers={"Authorization": f"Bearer {await platform_key(here)}"},
            )
        assert await armed.ended() == -signal.SIGKILL
        now = await as_it_is(here, execution_id)
        assert now == (wanted if point == "after_control" else was)
        written = await here.rows(TRACES, f"execution:{execution_id}")
        assert len(written) - len(traces) == (point == "after_control")
        if now[0] == "PAUSED":
            await steering.resume(execution_id)
        elif now[0] == "WAITING" and not now[3]:
            await steering.signal(execution_id, "go")
        elif was[0] == now[0] == "CANCELED":
            await steering.retry(execution_id)
        await goes_on(here)
        row = await here.execution(execution_id)
        assert row["status"] == (
            "CANCELED" if now == STEERED["cancel"][2] and call == "cancel" else "COMPLETED"
        )
        assert max(Counter(on.deeds).values(), default=1) == 1
        await all_is_well(here)


async def test_a_worker_that_dies_between_a_promotion_and_its_word(database_url, tmp_path, monkeypatch):
    async with one_slot(database_url, tmp_path, monkeypatch) as (here, on):
        definition = await here.publish(CHAIN)
        executions = [await here.start_version(definition, input={"n": str(n)}) for n in range(2)]
        async with here.database.transaction() as connection:
            await connection.execute("UPDATE execution_queue SET due = false")
            await connection.execute("UPDATE workspaces SET idle = true")
        armed = await on.start(
            "worker", "--functions", str(on.functions), ready=False, TEST_CRASH_AT="after_promotion"
        )
        assert await armed.ended() == -signal.SIGKILL
        for each in executions:
            assert await as_it_is(here, each) == ("PENDING", 1, "PENDING", True)
        await goes_on(here)
        await ended_once(here, on, executions, "abc", Left(None, "PENDING", 0, "", ""))


@pytest.mark.parametrize("point", ["during_recovery", "after_recovery"])
async def test_a_maintenance_that_dies_while_it_recovers(database_url, tmp_path, monkeypatch, point):
    left = POINTS["before_record:2"]
    async with one_slot(database_url, tmp_path, monkeypatch) as (here, on):
        executions = await dies_at("before_record:2", CHAIN, left, here, on)
        armed = await on.start("maintenance", ready=False, TEST_CRASH_AT=point)
        assert await armed.ended() == -signal.SIGKILL
        recovered = point == "after_recovery"
        assert (await as_it_is(here, executions[0]))[2] == ("PENDING" if recovered else "DISPATCHED")
        assert (await here.execution(executions[0]))["recoveries"] == recovered
        await goes_on(here)
        await ended_once(here, on, executions, "abc", left)
