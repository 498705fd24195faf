"""W1 to W7: what is asked of every peer alike."""

import asyncio
import statistics
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from bench.figures import Figure, Recorder, percentile
from bench.peer import Burst, Peer, burst, timed
from bench.processes import PeakMemory, Usage, others, pss_mebibytes

A_NODE = "a node of chain10"
THROUGHPUT = {"W1": ("noop1", 1), "W2": ("chain10", 10), "W3": ("fan50", 52)}
"""The document of each, and its nodes."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How long to look. A burst has as many runs as the peer does in `seconds`, by what came out before."""

    repeats: int = 3
    seconds: float = 3.0
    least: int = 8
    most: int = 20_000
    latencies: int = 100
    together: int = 20
    dags: tuple[tuple[int, int], ...] = ((20, 50), (200, 50))
    patience: float = 60.0
    """A larger DAG is left out where a smaller one took so many seconds for as many nodes."""
    settle: float = 2.0
    """Seconds of quiet before memory is read, and between bursts a quarter of it."""

    def quick(self) -> "Plan":
        return replace(self, repeats=1, seconds=1.0, latencies=40, dags=self.dags[:1], settle=1.0)

    def tiny(self) -> "Plan":
        """To see that everything runs."""
        return Plan(
            repeats=1, seconds=0.05, least=2, most=4, latencies=3, together=2, dags=((2, 4),), settle=0.0
        )


class Bench:
    """The workloads on one peer."""

    def __init__(self, peer: Peer, plan: Plan, recorder: Recorder) -> None:
        self._peer, self._plan, self._recorder = peer, plan, recorder

    async def check(self) -> None:
        """That it does what it is measured for; and what its history grows by, if it has one."""
        events: dict[str, int] = {}
        for kind, total in {"noop1": 1, "chain10": 10, "fan50": sum(range(50))}.items():
            await self._peer.prepare(kind)
            run = await self._peer.start(kind)
            result = await self._peer.wait(run)
            if result != {"x": total}:
                raise ValueError(f"{self._peer.name}: {kind} came to {result}")
            if self._peer.events is not None:
                events[kind] = await self._peer.events(run)
        await self._peer.prepare("sleepfan")
        for kind, count in events.items():
            self._add("events", kind, [count])
        if events:
            self._add("events", A_NODE, [(events["chain10"] - events["noop1"]) / 9])
            self._add("events", "a node of fan50", [(events["fan50"] - events["noop1"]) / 51])

    async def run(self, wanted: Callable[[str], bool]) -> None:
        if wanted("W7"):
            await self._rest(1.0)
            self._add("W7", "idle_pss_mib", [pss_mebibytes(self._peer.roots)])
            for name, pids in self._peer.parts.items():
                self._add("W7", f"idle_pss_mib {name}", [pss_mebibytes(pids, others(self._peer.parts, name))])
        for workload in THROUGHPUT:
            if wanted(workload):
                await self.throughput(workload)
        if wanted("W4"):
            await self.latency()
        if wanted("W5"):
            await self.sleepers()
        if wanted("W6"):
            await self.dags()
        await self._peer.verify()

    async def throughput(self, workload: str) -> None:
        kind, nodes = THROUGHPUT[workload]
        rates, starts, used = [], [], []
        count = await self._size(kind)
        before = await self._counters()
        with PeakMemory(self._peer.roots) as peak:
            for _ in range(self._plan.repeats):
                usage = Usage(self._peer.parts)
                done = await burst(self._peer, kind, count)
                used.append({name: spent / count for name, spent in usage.milliseconds().items()})
                rates.append(done.count / done.seconds)
                starts.append(done.count / done.starting)
                await self._peer.verify()
                await self._rest(0.25)
        self._add(workload, "executions/s", rates, executions=count)
        self._add(workload, "starts/s", starts)
        self._add(workload, "nodes/s", [rate * nodes for rate in rates])
        self._add(workload, "cpu_ms/execution", [sum(each.values()) for each in used])
        for name in self._peer.parts:
            self._add(workload, f"cpu_ms/execution {name}", [each[name] for each in used])
        await self._add_counters(workload, before, count * self._plan.repeats)
        if workload == "W2":
            self._add("W7", "busy_pss_mib", [peak.mebibytes])

    async def latency(self) -> None:
        ways: dict[str, Callable[[Any], Awaitable[Any]]] = {"": self._peer.wait}
        if self._peer.follow is not None:
            ways[" by events"] = self._peer.follow
        for way, until in ways.items():
            low, high, used = [], [], []
            before = await self._counters()
            for _ in range(self._plan.repeats):
                usage = Usage(self._peer.parts)
                took = []
                for _ in range(self._plan.latencies):
                    took.append(await timed(self._peer, "noop1", until) * 1e3)
                    await asyncio.sleep(0.02)
                used.append(sum(usage.milliseconds().values()) / len(took))
                low.append(percentile(took, 0.5))
                high.append(percentile(took, 0.99))
            self._add("W4", f"p50_ms{way}", low, executions=self._plan.latencies)
            self._add("W4", f"p99_ms{way}", high)
            self._add("W4", f"cpu_ms/execution{way}", used)
            await self._add_counters("W4", before, self._plan.latencies * self._plan.repeats, way)

    async def sleepers(self) -> None:
        await timed(self._peer, "sleepfan")
        self._add("W5", "one_s", [await timed(self._peer, "sleepfan") for _ in range(self._plan.repeats)])
        together = self._plan.together
        bursts = [await burst(self._peer, "sleepfan", together) for _ in range(self._plan.repeats)]
        self._add("W5", "together_s", [each.seconds for each in bursts], executions=together)

    async def dags(self) -> None:
        a_node = 0.0
        for layers, width in self._plan.dags:
            size = layers * width
            too_large = self._peer.largest is not None and size > self._peer.largest
            if too_large or a_node * size > self._plan.patience:
                why = "is more than it takes" if too_large else f"would take {a_node * size:.0f} s"
                print(f"{self._peer.name}: W6 of {size} nodes {why}")
                continue
            await self._peer.prepare("bigdag", layers=layers, width=width)
            rounds: list[float] = []
            used: list[float] = []
            for _ in range(self._plan.repeats + 1):
                usage = Usage(self._peer.parts)
                rounds.append(await timed(self._peer, "bigdag", layers=layers, width=width))
                used.append(sum(usage.milliseconds().values()))
                if sum(rounds) > self._plan.patience / 4:
                    break
            self._add("W6", f"{size}_nodes_first_s", rounds[:1])
            if len(rounds) > 1:  # the first one also prepares what the others find
                rounds, used = rounds[1:], used[1:]
            a_node = statistics.median(rounds) / size
            self._add("W6", f"{size}_nodes_s", rounds, layers=layers, width=width)
            self._add("W6", f"{size}_nodes_cpu_ms", used)

    async def _size(self, kind: str) -> int:
        """Warms the peer up, too."""
        done: Burst | None = None
        count = self._plan.least
        while done is None or (done.seconds < self._plan.seconds / 4 and count < self._plan.most):
            if done is not None:
                count = min(count * 4, self._plan.most)
            done = await burst(self._peer, kind, count)
        return max(self._plan.least, min(self._plan.most, round(count / done.seconds * self._plan.seconds)))

    async def _counters(self) -> dict[str, float]:
        return {} if self._peer.counters is None else await self._peer.counters()

    async def _add_counters(self, workload: str, before: dict[str, float], count: int, way: str = "") -> None:
        for name, value in (await self._counters()).items():
            self._add(workload, f"{name}/execution{way}", [(value - before[name]) / count])

    async def _rest(self, share: float) -> None:
        await asyncio.sleep(self._plan.settle * share)

    def _add(self, workload: str, metric: str, rounds: Sequence[float], **settings: Any) -> None:  # noqa: ANN401
        peer = self._peer
        self._recorder.add(
            Figure.of(
                peer.name, workload, metric, rounds, {"version": peer.version, **peer.settings, **settings}
            )
        )
