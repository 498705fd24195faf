"""The engines that run the scenarios. A further engine joins by one class here and one line in `ENGINES`."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from riven.documents.load import LoadedDocument, load_document
from tests.conformance.functions import hash_of
from tests.conformance.scenario import START, Scenario
from tests.conformance.scripted import Scripted

from riven.cli.clock import SystemClock
from riven.core.errors import InvalidDocumentError
from riven.engines.embedded.journal import ExecutionChange
from riven.engines.embedded.memory import MemoryEngine
from riven.nodes.functions import FunctionPool, Functions
from riven.nodes.registry import Registry

REGISTRY = Registry.discover().with_types(Scripted)
PATIENCE = 20.0
"""Seconds after which a run counts as one that hangs."""


class EngineUnderTest(Protocol):
    async def run(self, scenario: Scenario) -> Mapping[str, Any]:
        """The finished run, as `riven run --json` tells it."""


def loaded(text: str, calls: Mapping[str, str]) -> LoadedDocument:
    def find(name: str, version: int | None) -> str | None:
        del version
        return calls.get(name)

    return load_document(text, registry=REGISTRY, calls=find)


class MemoryUnderTest:
    async def run(self, scenario: Scenario) -> Mapping[str, Any]:
        document = loaded(scenario.text, scenario.calls)
        if not document.valid:
            raise InvalidDocumentError(document.problems)
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


ENGINES: Mapping[str, Callable[[], EngineUnderTest]] = {"memory": MemoryUnderTest}
