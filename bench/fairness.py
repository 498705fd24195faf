"""W8: what a tenant with a long line costs those with a short one.

Small workspaces start a few executions each, all at the same moment: once alone, once while a big one has thousands in
line. What is compared is how long theirs waited, from accepted to started, by the server's own times.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bench.documents import noop1
from bench.exchange import Exchange
from bench.figures import Figure, Recorder, percentile
from bench.peers.riven import API, RUNNING, capacity, connected, publish, until_idle
from bench.product import riven_dev

BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Fairness:
    waiting: int = 10_000
    small: int = 20
    each: int = 10
    rounds: int = 3


async def measure_fairness(size: Fairness, recorder: Recorder) -> None:
    with riven_dev() as product:
        async with connected(product) as exchange:
            await _Crowd(exchange, size, recorder).run()


class _Crowd:
    def __init__(self, exchange: Exchange, size: Fairness, recorder: Recorder) -> None:
        self._exchange, self._size, self._recorder = exchange, size, recorder

    async def run(self) -> None:
        """With the big one at its tier's limit, and with one that may take all there is."""
        small = [await self._workspace(f"small-{number}") for number in range(self._size.small)]
        limited = await self._workspace("big")
        unlimited = await self._workspace("unlimited", RUNNING)
        await self._waits(small)  # warm
        alone = await self._rounds(small)
        beside = {
            "": await self._crowded(small, limited),
            ", big one unlimited": await self._crowded(small, unlimited),
        }
        self._add("alone_p99_ms", alone)
        for name, waits in beside.items():
            self._add(f"crowded_p99_ms{name}", waits)
            times = percentile(waits, 0.99) / percentile(alone, 0.99)
            self._recorder.add(Figure("riven", "W8", f"times_alone{name}", times))

    async def _crowded(self, small: Sequence[str], big: str) -> list[float]:
        for begun in range(0, self._size.waiting, BATCH):
            await self._start(big, min(BATCH, self._size.waiting - begun))
        waits = await self._rounds(small)
        left = (await capacity(self._exchange, big))["waiting"]
        print(f"{left} of {self._size.waiting} were still in line")
        await self._ended([big])
        if not left:
            raise RuntimeError("the big workspace's line was too short: nothing was measured")
        return waits

    async def _rounds(self, small: Sequence[str]) -> list[float]:
        return [wait for _ in range(self._size.rounds) for wait in await self._waits(small)]

    async def _waits(self, small: Sequence[str]) -> list[float]:
        """Milliseconds of each."""
        await asyncio.gather(*(self._start(workspace, self._size.each) for workspace in small))
        await self._ended(small)
        waits = []
        for workspace in small:
            path = f"{API}/workflow/executions?workspaceId={workspace}&limit={self._size.each}"
            for execution in (await self._exchange.ask("GET", path))["items"]:
                accepted, started = (
                    datetime.fromisoformat(execution[name]) for name in ("createdAt", "startedAt")
                )
                waits.append((started - accepted).total_seconds() * 1e3)
        return waits

    async def _ended(self, workspaces: Sequence[str]) -> None:
        for workspace in workspaces:
            await until_idle(self._exchange, workspace)

    async def _start(self, workspace: str, count: int) -> None:
        await start_batch(self._exchange, workspace, count)

    async def _workspace(self, name: str, running: int | None = None) -> str:
        return await new_workspace(self._exchange, name, "ENTERPRISE", running)

    def _add(self, metric: str, waits: Sequence[float]) -> None:
        self._recorder.add(
            Figure("riven", "W8", metric, percentile(waits, 0.99), settings={"executions": len(waits)})
        )


async def new_workspace(exchange: Exchange, name: str, tier: str, running: int | None = None) -> str:
    """With noop1 published in it; its id."""
    wish = {"name": name, "tier": tier} | ({} if running is None else {"limits": {"running": running}})
    made = await exchange.ask("POST", f"{API}/workspaces", wish, expect=(201,))
    workspace = str(made["workspaceId"])
    await publish(exchange, workspace, "noop1", noop1())
    return workspace


async def start_batch(exchange: Exchange, workspace: str, count: int) -> None:
    starts = [{"workspaceId": workspace, "workflowName": "noop1"}] * count
    await exchange.ask(
        "POST", f"{API}/workflow/executions/start-batch", {"executions": starts}, expect=(202,)
    )
