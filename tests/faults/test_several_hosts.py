"""Everything on hosts of its own, with Temporal: each is cut off under load and healed. No run is lost, none is doubled."""

import asyncio
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest
from tests.dispatch.distant import until
from tests.engines.embedded.workers import Installation, installation
from tests.faults.hosts import Hosts, allowed
from tests.main.running import Running, host

from riven.devstack.temporal import find_binary
from riven.nodes.functions import Functions
from riven.views.invariants import check_invariants

REFUSED = allowed()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(REFUSED is not None, reason=REFUSED or ""),
]

CHAIN = """
name: chain
nodes:
  a: {type: python, with: {function: test.deed, args: {name: "{{ input.n }}-a", seconds: 0.1}}}
  b: {type: python, needs: [a], with: {function: test.deed, args: {name: "{{ input.n }}-b", seconds: 0.3}}}
  c: {type: python, needs: [b], with: {function: test.deed, args: {name: "{{ input.n }}-c", seconds: 0.1}}}
output: "{{ steps.c.output }}"
"""
RUNS = 20
"""Of each round."""
PROCESSES = {
    "front": ("maintenance",),
    "disp1": ("dispatcher",),
    "disp2": ("dispatcher",),
    "work1": ("worker",),
    "work2": ("worker",),
}
CUT_OFF = ("disp1", "work1", "temporal", "db")


@pytest.fixture(scope="module")
def hosts() -> Iterator[Hosts]:
    with Hosts("db", "temporal", *PROCESSES) as made:
        yield made


@asynccontextmanager
async def server(*command: str | Path):
    """A program that says a line when it is ready, and ends with its input."""
    process = await asyncio.create_subprocess_exec(
        *map(str, command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        assert process.stdout is not None
        yield (await process.stdout.readline()).decode().strip()
    finally:
        if process.stdin is not None:
            process.stdin.close()
        try:
            await asyncio.wait_for(process.wait(), 10)
        except TimeoutError:
            process.kill()
            await process.wait()


@asynccontextmanager
async def temporal(hosts: Hosts, directory: Path):
    options = ("--ip", "0.0.0.0", "--port", "7233", "--headless", "--db-filename", directory / "temporal.db")
    command = (*hosts.on("temporal"), find_binary(), "server", "start-dev", *options, "--log-level", "never")
    process = await asyncio.create_subprocess_exec(
        *map(str, command),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": "/usr/sbin:/sbin"},
    )
    try:
        yield f"{hosts.address('temporal')}:7233"
    finally:
        process.kill()
        await process.wait()


async def all_is_well(here: Installation, total: int) -> None:
    rows = await here.rows("SELECT status, run, count(*) AS n FROM workflow_executions GROUP BY 1, 2")
    assert [dict(row) for row in rows] == [{"status": "COMPLETED", "run": 1, "n": total}]
    nodes = await here.row(
        "SELECT count(*) AS n, count(DISTINCT (execution_id, path)) AS once, max(attempt) AS attempts "
        "FROM workflow_execution_nodes WHERE status = 'COMPLETED'"
    )
    assert (nodes["n"], nodes["once"], nodes["attempts"]) == (3 * total, 3 * total, 1)
    assert await here.rows("SELECT * FROM execution_queue") == []
    async with here.database.read() as connection:
        for each in await check_invariants(connection, 1.5):
            assert each.violations == 0, each.name


async def test_a_host_that_is_cut_off_and_healed_costs_no_run_and_doubles_none(hosts: Hosts, tmp_path: Path):
    database = (*hosts.on("db"), sys.executable, "-m", "tests.faults.database_host", tmp_path / "db", "5432")
    async with AsyncExitStack() as stack:
        url = (await stack.enter_async_context(server(*database))).replace(
            "HOST", f"{hosts.address('db')}:5432"
        )
        address = await stack.enter_async_context(temporal(hosts, tmp_path))
        settings = {
            "ENGINE": "temporal",
            "TEMPORAL_ADDRESS": address,
            "TEMPORAL_STICKY_TIMEOUT": "500ms",
            "LEASE_TTL": "3s",
        }
        functions, processes = Functions(), []
        for name, arguments in PROCESSES.items():
            on = await stack.enter_async_context(host(url, tmp_path, hosts.on(name)))
            if name == "front":
                functions.load(str(on.functions))
            own = ("--functions", str(on.functions)) if arguments == ("worker",) else ()
            processes.append(await on.start(*arguments, *own, ready=False, **settings))
        here = await stack.enter_async_context(installation(url, functions=functions))
        definition = await here.publish(CHAIN)
        total = 0
        for cut in CUT_OFF:
            await round_of(here, hosts, processes, definition, cut, total)
            total += RUNS
        await all_is_well(here, total)


async def round_of(
    here: Installation, hosts: Hosts, processes: Sequence[Running], definition, cut: str, before: int
) -> None:
    """Under load a host goes and comes back; everything that was started completes."""

    async def completed() -> int:
        row = await here.row("SELECT count(*) AS n FROM workflow_executions WHERE status = 'COMPLETED'")
        return int(row["n"])

    async def more_than(count: int) -> bool:
        return await completed() > count

    for number in range(before, before + RUNS):
        await here.start_version(definition, input={"n": str(number)})
    await until(lambda: more_than(before), 90)
    told = troubles(processes)
    hosts.cut_off(cut)
    try:
        # until the others have noticed: it is dead to them, or away
        await until(lambda: missed(processes, told) if cut == "db" else judged(here, cut), 60)
    finally:
        hosts.heal(cut)
    await until(lambda: more_than(before + RUNS - 1), 120)


def troubles(processes: Sequence[Running]) -> int:
    """How often any of them has said that it cannot reach the database."""
    away = ("database_away", "dispatch_turn_failed", "listener_lost")
    return sum(len(process.events(name)) for process in processes for name in away)


async def missed(processes: Sequence[Running], before: int) -> bool:
    """The database cannot be asked whether it is missed: what its clients log tells."""
    return troubles(processes) > before


async def judged(here: Installation, cut: str) -> bool:
    seen: Mapping[str, str] = {
        "disp1": "SELECT count(*) > 0 AS so FROM processes WHERE dead AND role = 'dispatcher'",
        "work1": "SELECT count(*) > 0 AS so FROM processes WHERE dead AND role = 'worker'",
        "temporal": "SELECT count(*) > 0 AS so FROM processes WHERE NOT dead AND engine_error IS NOT NULL",
    }
    row = await here.row(seen[cut])
    return bool(row["so"])
