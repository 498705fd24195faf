"""Whole documents on the embedded engine, with node types and time that a test holds in its hand."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tests.effects.kit import Echo, Free, FreeConfig
from tests.effects.manual import ManualTime

from riven.core.graph import RetryPolicy
from riven.documents.load import LoadedDocument, load_document
from riven.engines.embedded.journal import ExecutionChange
from riven.engines.embedded.memory import MemoryEngine
from riven.nodes.contract import NodeContext, NodeResult, NodeType
from riven.nodes.functions import FunctionPool, Functions
from riven.nodes.registry import Registry
from riven.wire.document import Json

STEADY = RetryPolicy(jitter=0.0)


class Running:
    """An engine, its time, and what its listener heard."""

    def __init__(
        self,
        *types: type[NodeType[Any]],
        functions: Sequence[Callable[..., Any]] = (),
        **options: Any,  # noqa: ANN401 - those of the engine
    ) -> None:
        self.registry = Registry.discover().with_types(Echo, *types)
        self.time = ManualTime()
        self.pool = FunctionPool()
        options = {"clock": self.time, "timers": self.time, "seed": 1, "retry": STEADY, **options}
        services = {Functions: Functions(*functions), FunctionPool: self.pool}
        self.engine = MemoryEngine(registry=self.registry, services=services, **options)
        self.changes: list[ExecutionChange] = []
        self.on_change: Callable[[ExecutionChange], None] = lambda _: None

    def load(self, text: str, **called: str) -> LoadedDocument:
        loaded = load_document(text, registry=self.registry, calls=lambda name, _: called.get(name))
        assert loaded.valid, loaded.problems
        return loaded

    def _heard(self, change: ExecutionChange) -> None:
        self.changes.append(change)
        self.on_change(change)

    def start(
        self,
        document: str | LoadedDocument,
        input: Json = None,
        **options: Any,  # noqa: ANN401 - those of `MemoryEngine.run`
    ) -> "asyncio.Task[dict[str, Json]]":
        loaded = self.load(document) if isinstance(document, str) else document
        return asyncio.create_task(self.engine.run(loaded, input, listener=self._heard, **options))

    async def run(
        self,
        document: str | LoadedDocument,
        input: Json = None,
        **options: Any,  # noqa: ANN401 - those of `MemoryEngine.run`
    ) -> dict[str, Json]:
        """To the end, time passing whenever nothing else happens."""
        return await self.finish(self.start(document, input, **options))

    async def finish(self, task: "asyncio.Task[dict[str, Json]]") -> dict[str, Json]:
        while not task.done():
            await settle()
            if not task.done() and self.time.due:
                self.time.advance_to_next()
        return await task


async def settle() -> None:
    """Let everything that can happen without time happen."""
    for _ in range(50):
        await asyncio.sleep(0)


def by_path(result: Mapping[str, Json]) -> dict[str, dict[str, Json]]:
    return {node["path"]: node for node in result["nodes"]}


def statuses(result: Mapping[str, Json]) -> dict[str, str]:
    return {node["path"]: node["status"] for node in result["nodes"]}


class Stuck(Free):
    """Waits until it is ended."""

    type = "stuck"

    async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
        await asyncio.Event().wait()
        return NodeResult()
