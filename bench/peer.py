"""What the loader needs of a system to put the workloads on it, and how it does."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

CLIENTS = 32
"""Concurrent starts."""


class Peer:
    """A system that runs workflows. `kind` is noop1, chain10, fan50, sleepfan or bigdag; the last has layers and width."""

    name = "?"
    version = "?"
    settings: Mapping[str, Any] = {}
    parts: Mapping[str, list[int]] = {}
    """Its processes, by what they do."""

    largest: int | None = None
    """Nodes of the largest DAG that it takes, if there is an end to it."""

    async def prepare(self, kind: str, **options: int) -> None:
        """Make it known, before the first start of its kind."""

    async def start(self, kind: str, **options: int) -> Any:  # noqa: ANN401 - what the system calls a run
        """Returns, once it is durable, what `wait` takes."""
        raise NotImplementedError

    async def wait(self, run: Any) -> Any:  # noqa: ANN401
        """Until it has ended well, and the client knows it; its result."""
        raise NotImplementedError

    follow: Callable[[Any], Awaitable[Any]] | None = None
    """A second way to wait, where there is one: told of the end by events."""

    events: Callable[[Any], Awaitable[int]] | None = None
    """How many events a finished run left in its history, where the system has one to be careful with."""

    counters: Callable[[], Awaitable[dict[str, float]]] | None = None
    """What its database has done so far, where that is to be seen: commits, fsyncs, bytes of log."""

    async def wait_all(self, runs: list[Any]) -> None:
        await asyncio.gather(*(self.wait(run) for run in runs))

    async def verify(self) -> None:
        """After the clock has stopped: all that ended, ended well."""

    @property
    def roots(self) -> list[int]:
        return [pid for pids in self.parts.values() for pid in pids]


@dataclass(frozen=True, slots=True)
class Burst:
    count: int
    seconds: float
    """From the first start to the last end."""
    starting: float
    """To the answer of the last start."""


async def burst(peer: Peer, kind: str, count: int, **options: int) -> Burst:
    """So many runs, started by concurrent clients, each as soon as its last start is answered."""
    left = iter(range(count))
    runs: list[Any] = []

    async def client() -> None:
        for _ in left:
            run = await peer.start(kind, **options)
            runs.append(run)

    begun = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(min(CLIENTS, count))))
    started = time.perf_counter()
    await peer.wait_all(runs)
    return Burst(count, time.perf_counter() - begun, started - begun)


async def timed(
    peer: Peer, kind: str, until: Callable[[Any], Awaitable[Any]] | None = None, **options: int
) -> float:
    """Seconds from the request to start it until it is seen finished."""
    begun = time.perf_counter()
    await (until or peer.wait)(await peer.start(kind, **options))
    return time.perf_counter() - begun
