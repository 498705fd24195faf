"""W9: admission under kills. Executions of workspaces of every tier are carried out while workers are killed at random.

An observer of its own counts in the database what runs, as fast as it can; at the end nothing may run, every execution
has to be COMPLETED, and the product's own invariants have to hold.
"""

import asyncio
import os
import random
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import asyncpg
from bench.exchange import Exchange
from bench.fairness import new_workspace, start_batch
from bench.figures import Figure, Recorder
from bench.peers.riven import API, connected
from bench.product import Product, riven_dev

LIMITS = {"FREE": 1, "PRO": 5, "ENTERPRISE": 20}
BATCH = 500
RUNNING = (
    "SELECT workspace_id, count(*) FROM workflow_executions WHERE status = 'RUNNING' GROUP BY workspace_id"
)
STATUSES = "SELECT status, count(*) FROM workflow_executions GROUP BY status"
IN_LINE = "SELECT count(*) FROM execution_queue WHERE status <> 'FAILED'"
WITH_A_SLOT = "SELECT count(*) FROM workflow_executions WHERE status = 'RUNNING'"
STUCK = 90.0
"""Seconds without any end, after which what is left counts as leaked."""


@dataclass(frozen=True, slots=True)
class Admission:
    executions: int = 10_000
    workspaces: int = 30
    workers: int = 2
    kills_after: tuple[float, float] = (0.5, 3.0)
    """Seconds between kills, at random."""
    most_kills: int | None = None
    seed: int = 9

    def of(self, executions: int | None) -> "Admission":
        return self if executions is None else replace(self, executions=executions)


async def measure_admission(size: Admission, recorder: Recorder) -> None:
    with riven_dev("--workers", str(size.workers)) as product:
        async with connected(product) as exchange:
            await _Trial(product, exchange, size, recorder).run()


class _Trial:
    def __init__(self, product: Product, exchange: Exchange, size: Admission, recorder: Recorder) -> None:
        self._product, self._exchange, self._size, self._recorder = product, exchange, size, recorder
        self._dice = random.Random(size.seed)  # noqa: S311 - when to kill
        self._kills = self._observations = self._at_limit = self._most_over = 0

    async def run(self) -> None:
        tiers = list(LIMITS)
        limits = {}
        for number in range(self._size.workspaces):
            tier = tiers[number % len(tiers)]
            limits[await new_workspace(self._exchange, f"w{number}", tier)] = LIMITS[tier]
        begun = time.perf_counter()
        disturbing = [asyncio.create_task(self._observe(limits)), asyncio.create_task(self._kill())]
        try:
            await self._feed(list(limits))
            leaked = await self._until_ended()
        finally:
            for task in disturbing:
                task.cancel()
            told = await asyncio.gather(*disturbing, return_exceptions=True)
        for each in told:
            if isinstance(each, Exception):
                raise each
        await self._judge(leaked, time.perf_counter() - begun)

    async def _feed(self, workspaces: list[str]) -> None:
        share, more = divmod(self._size.executions, len(workspaces))
        left = {workspace: share + (place < more) for place, workspace in enumerate(workspaces)}
        while any(left.values()):
            for workspace, count in left.items():
                if count:
                    await start_batch(self._exchange, workspace, min(BATCH, count))
                    left[workspace] = count - min(BATCH, count)

    async def _until_ended(self) -> int:
        """What has a slot and does not end."""
        before, since = -1, time.monotonic()
        while left := await self._value(IN_LINE) + await self._value(WITH_A_SLOT):
            if left != before:
                before, since = left, time.monotonic()
            elif time.monotonic() - since > STUCK:
                return await self._value(WITH_A_SLOT)
            await asyncio.sleep(0.5)
        return 0

    async def _observe(self, limits: Mapping[str, int]) -> None:
        connection = await self._connect()
        try:
            while True:
                over = [
                    running - limits[str(workspace)] for workspace, running in await connection.fetch(RUNNING)
                ]
                self._most_over = max(self._most_over, *over, 0)
                self._at_limit += 0 in over
                self._observations += 1
                await asyncio.sleep(0.005)
        finally:
            connection.terminate()

    async def _kill(self) -> None:
        """Between two deaths something moves, however slow the machine: workers need time to start."""
        before = -1
        while self._size.most_kills is None or self._kills < self._size.most_kills:
            await asyncio.sleep(self._dice.uniform(*self._size.kills_after))
            while (left := await self._value(IN_LINE)) == before:  # noqa: ASYNC110 - rows have no event of ours
                await asyncio.sleep(0.1)
            before = left
            workers = [pid for name, pid in self._product.state["pids"].items() if name.startswith("worker")]
            victim = self._dice.choice(workers)
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:  # it is being started again
                continue
            self._kills += 1

    async def _judge(self, leaked: int, seconds: float) -> None:
        connection = await self._connect()
        try:
            statuses = dict(await connection.fetch(STATUSES))
        finally:
            await connection.close()
        answer = await self._exchange.ask("GET", f"{API}/admin/invariants")
        violated = {each["name"]: each["violations"] for each in answer["invariants"] if each["violations"]}
        figures = {
            "over_limit": self._most_over,
            "slots_leaked": leaked,
            "not_completed": self._size.executions - statuses.get("COMPLETED", 0),
            "invariants_violated": sum(violated.values()),
            "kills": self._kills,
            "observations": self._observations,
            "observations_at_a_limit": self._at_limit,
            "executions/s": self._size.executions / seconds,
        }
        for metric, value in figures.items():
            self._recorder.add(
                Figure(
                    "riven",
                    "W9",
                    metric,
                    value,
                    settings={"executions": self._size.executions, "workers": self._size.workers},
                )
            )
        if violated or set(statuses) != {"COMPLETED"}:
            print(f"W9: {statuses}, violated: {violated}")

    async def _value(self, query: str) -> int:
        connection = await self._connect()
        try:
            return int(await connection.fetchval(query))
        finally:
            await connection.close()

    async def _connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        return await asyncpg.connect(self._product.state["databaseUrl"])
