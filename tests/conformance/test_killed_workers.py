"""The same scenarios while their workers are killed at random moments: the same outcomes, and nothing done twice.

"Done twice" is a node whose outcome was durable when its worker died, and that another worker began all the same. What a
death interrupts is repeated, under its number.
"""

import asyncio
import random
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.expectations import check
from tests.conformance.postgres import ScenarioRuns
from tests.conformance.scenario import SCENARIOS, TIMES, Scenario
from tests.main.running import Host, Running, host

from riven.db.engine import Database
from riven.views.invariants import check_invariants

DEATHS = 4
"""One less than it takes to give a run up: none of these kills its worker, though some of them may look like it."""
LEASE = 1.0

SHORT = {"timeout-of-a-repeat", "timeout-of-the-execution", "retry-max-duration"}
"""Scenarios whose outcome is that something was done before a time that passes while nobody drives them."""

PACKAGE = """[riven.nodes]
scripted = tests.conformance.scripted:Scripted
[riven.functions]
hash = tests.conformance.functions:hash_of
"""
_FINISHED = "SELECT execution_id, path, attempt FROM workflow_execution_nodes WHERE finished_at IS NOT NULL"
_RUNNING = "SELECT count(*) FROM workflow_executions WHERE status = 'RUNNING'"
_LEFT = "SELECT status, count(*) AS n FROM execution_queue GROUP BY status"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the scenarios need, as a package that every process of riven finds."""
    root = Path(__file__).parents[2]
    metadata = tmp_path / "package" / "conformance-1.0.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: conformance\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(PACKAGE)
    monkeypatch.setenv("PYTHONPATH", f"{root}:{metadata.parent}")


class Killer:
    """One worker at a time, until it has had as many as there may be deaths; the last one lives."""

    def __init__(self, on: Host, database: Database, dice: random.Random) -> None:
        self._on = on
        self._database = database
        self._dice = dice
        self.interrupted = 0
        self.durable: list[tuple[int, set[tuple[str, str, str]]]] = []
        """For each death: how many deeds had been noted by then, and which attempts had their outcome."""

    async def worker(self) -> Running:
        return await self._on.start("worker", LEASE_TTL=f"{LEASE}s", WORKER_RUNS="500")

    async def kill(self, worker: Running) -> None:
        """At some moment after it has begun to work."""
        await worker.logs("dispatched")
        await asyncio.sleep(self._dice.random() * 0.4)
        worker.send(signal.SIGKILL)
        await worker.ended()
        async with self._database.read() as connection:
            rows = await connection.fetch(_FINISHED)
            self.interrupted += await connection.fetch_value(_RUNNING)
        done = {(str(row["execution_id"]), row["path"], str(row["attempt"])) for row in rows}
        self.durable.append((len(self._on.deeds), done))

    def repeated(self) -> Iterator[tuple[str, ...]]:
        """Attempts that began although they had ended before."""
        deeds = [tuple(line.split()) for line in self._on.deeds]
        for noted, done in self.durable:
            yield from (deed for deed in deeds[noted:] if deed in done)


def fault(run: Mapping[str, Any], scenario: Scenario) -> str | None:
    try:
        check(run, {name: wanted for name, wanted in scenario.expect.items() if name not in TIMES})
    except AssertionError as error:
        return str(error)
    return None


@pytest.mark.slow
@pytest.mark.timeout(240)
@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("seed", [1, 2])
async def test_outcomes_are_the_same_and_what_was_completed_is_not_repeated(
    database_url: str, tmp_path: Path, seed: int
) -> None:
    # Processes keep no secrets yet.
    scenarios = [each for each in SCENARIOS if not each.secrets and each.name not in SHORT]
    dice = random.Random(seed)
    dice.shuffle(scenarios)
    runs = ScenarioRuns(database_url, patience=120)
    ended: list[asyncio.Task[Mapping[str, Any]]] = []
    try:
        async with host(database_url, tmp_path) as on:
            await on.start("maintenance", LEASE_TTL=f"{LEASE}s")
            killer = Killer(on, runs.database, dice)
            for death in range(DEATHS):
                worker = await killer.worker()
                wave = scenarios[death::DEATHS]
                ended += [asyncio.create_task(runs.run(scenario), name=scenario.name) for scenario in wave]
                await killer.kill(worker)
            await killer.worker()
            outcomes = dict(
                zip([task.get_name() for task in ended], await asyncio.gather(*ended), strict=True)
            )
            wrong = {scenario.name: fault(outcomes[scenario.name], scenario) for scenario in scenarios}
            assert {name: found for name, found in wrong.items() if found} == {}
            assert list(killer.repeated()) == []
            assert killer.interrupted, "no death interrupted anything: this has shown nothing"
            await assert_all_is_well(runs.database)
    finally:
        for task in ended:
            task.cancel()
        await asyncio.gather(*ended, return_exceptions=True)
        await runs.close()


async def assert_all_is_well(database: Database) -> None:
    async with database.read() as connection:
        for each in await check_invariants(connection, LEASE):
            assert each.violations == 0, each.name
        left = {row["status"]: row["n"] for row in await connection.fetch(_LEFT)}
        running = await connection.fetch_value(_RUNNING)
    assert (set(left) - {"FAILED"}, running) == (set(), 0)
