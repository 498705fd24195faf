"""The Temporal engine on PostgreSQL and a real server: the same rows, the same control calls, other processes."""

from collections.abc import Collection, Mapping
from uuid import UUID

from tests.conformance.documents import REGISTRY
from tests.conformance.functions import hash_of
from tests.conformance.postgres import PostgresUnderTest, ScenarioRuns
from tests.engines.embedded.workers import Installation
from tests.engines.temporal.workers import Dispatching, Driving

from riven.db.identity import new_id
from riven.nodes.functions import Functions
from riven.wire.temporal import CONTINUE_AFTER


class TemporalUnderTest(PostgresUnderTest):
    def __init__(
        self, url: str, address: str, *, patience: float, continue_after: int = CONTINUE_AFTER
    ) -> None:
        super().__init__(url, patience=patience)
        self._address = address
        self._continue_after = continue_after

    async def _open(self) -> None:
        self._runs = ScenarioRuns(self._url, patience=self._patience)
        self._worker = TemporalWorkers(self._runs, self._address, self._continue_after)
        await self._worker.start()


class TemporalWorkers:
    """A dispatcher and a worker, disturbed by nobody."""

    def __init__(self, runs: ScenarioRuns, address: str, continue_after: int) -> None:
        async def secrets(workspace_id: UUID, names: Collection[str]) -> Mapping[str, str]:
            kept = runs.secrets.get(workspace_id, {})
            return {name: kept[name] for name in names if name in kept}

        installation = Installation(runs.database, UUID(int=0), REGISTRY, Functions(hash_of))
        task_queue = f"q-{new_id()}"
        self.dispatching = Dispatching(installation, address, task_queue, continue_after)
        self._driving = Driving(installation, address, task_queue, secrets)

    async def start(self) -> None:
        await self._driving.start()
        await self.dispatching.start()

    async def stop(self) -> None:
        await self.dispatching.stop()
        await self._driving.stop()
