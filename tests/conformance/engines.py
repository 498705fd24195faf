"""The engines that run the scenarios. A further engine joins by one class with `run` and one line in `ENGINES`.

An engine is opened once and runs everything that asks for it; `PostgresUnderTest` has a module of its own.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from tests.conformance.documents import REGISTRY, loaded
from tests.conformance.functions import hash_of
from tests.conformance.postgres import PostgresUnderTest
from tests.conformance.scenario import START, Scenario
from tests.conformance.temporal import TemporalUnderTest

from riven.cli.clock import SystemClock
from riven.engines.embedded.journal import ExecutionChange
from riven.engines.embedded.memory import MemoryEngine
from riven.nodes.functions import FunctionPool, Functions

PATIENCE = 20.0
"""Seconds after which a run counts as one that hangs."""
TEMPORAL_PATIENCE = 100.0
"""The same where all scenarios are under way on one development server, which does some fifty tasks a second."""

NewDatabase: TypeAlias = Callable[[], AbstractContextManager[str]]


@dataclass(frozen=True, slots=True)
class Servers:
    """What engines may need around them, made when it is asked for."""

    new_database: NewDatabase
    """An empty database with the schema: its address."""
    temporal_address: Callable[[], str]


class EngineUnderTest(Protocol):
    def expect(self, scenarios: Sequence[Scenario]) -> None:
        """These will be asked for. Who runs many at once may begin."""

    async def run(self, scenario: Scenario) -> Mapping[str, Any]:
        """The finished run, as `riven run --json` tells it."""


class MemoryUnderTest:
    def expect(self, scenarios: Sequence[Scenario]) -> None:
        pass

    async def run(self, scenario: Scenario) -> Mapping[str, Any]:
        document = loaded(scenario)
        pool = FunctionPool()
        services = {Functions: Functions(hash_of), FunctionPool: pool}
        engine = MemoryEngine(registry=REGISTRY, services=services, clock=SystemClock(), seed=1)
        for signal in scenario.signals:
            if signal.when == START:
                engine.signal(signal.name, signal.payload)
        listener = _Listener(scenario, engine)
        try:
            async with asyncio.timeout(PATIENCE):
                result = await engine.run(
                    document, scenario.input, secrets=scenario.secrets, listener=listener
                )
        finally:
            pool.stop()
        assert not listener.waiting, f"these never came about: {list(listener.waiting)}"
        return result


class _Listener:
    """Does what the scenario wants from outside, the moment the node it names is where it wants it."""

    def __init__(self, scenario: Scenario, engine: MemoryEngine) -> None:
        self.waiting: dict[tuple[str, str], Callable[[], None]] = {}
        for signal in scenario.signals:
            if signal.when != START:
                self.waiting[signal.when, "WAITING"] = _call(engine.signal, signal.name, signal.payload)
        for approval in scenario.approvals:
            self.waiting[approval.path, "WAITING"] = _call(
                engine.approve,
                approval.path,
                approval.decision,
                comment=approval.comment,
                data=approval.data,
                by="tester",
            )
        if scenario.cancel is not None:
            self.waiting[scenario.cancel.when, scenario.cancel.status] = engine.cancel

    def __call__(self, change: ExecutionChange) -> None:
        act = self.waiting.pop((change.path, change.status), None)
        if act is not None:
            act()


def _call(function: Callable[..., None], *args: object, **named: object) -> Callable[[], None]:
    return lambda: function(*args, **named)


@contextmanager
def _memory(servers: Servers) -> Iterator[EngineUnderTest]:
    del servers
    yield MemoryUnderTest()


@contextmanager
def _postgres(servers: Servers) -> Iterator[EngineUnderTest]:
    with servers.new_database() as url, PostgresUnderTest(url, patience=PATIENCE) as engine:
        yield engine


@contextmanager
def _temporal(servers: Servers) -> Iterator[EngineUnderTest]:
    address = servers.temporal_address()
    with servers.new_database() as url, TemporalUnderTest(url, address, patience=TEMPORAL_PATIENCE) as engine:
        yield engine


ENGINES: Mapping[str, Callable[[Servers], AbstractContextManager[EngineUnderTest]]] = {
    "memory": _memory,
    "postgres": _postgres,
    "temporal": _temporal,
}
