"""A worker put together on a real database, as `main` puts it together, with documents written in place."""

import asyncio
import time
from collections.abc import Callable
from contextlib import asynccontextmanager
from uuid import UUID

from riven.completion.changes import ChangeFeed
from riven.completion.recorder import Recorder
from riven.completion.store import PostgresRunStore
from riven.core.graph import RetryPolicy
from riven.db.channels import CONTROL, WATCH
from riven.db.engine import Database
from riven.db.identity import new_id
from riven.db.listen import Listener
from riven.dispatch.control import ControlDelivery
from riven.dispatch.loop import DispatchLoop, DispatchSettings
from riven.dispatch.starter import Starter
from riven.documents.load import load_document
from riven.engines.embedded.durable import DurableEngine, no_secrets
from riven.engines.embedded.ports import ReadSecrets
from riven.engines.embedded.timers import WallTimers
from riven.nodes.functions import FunctionPool, Functions
from riven.nodes.registry import Registry
from riven.queue.enqueue import NewItem, enqueue_executions
from riven.queue.lease import Process
from riven.queue.recover import Recovered, recover_stale_items
from riven.queue.wake import Announcer
from riven.wire.document import to_json

_VERSION = """
INSERT INTO workflow_definition_versions (workflow_definition_id, workspace_id, version, source, document, created_by)
SELECT $1, $2, coalesce(max(version), 0) + 1, '', $3, 'test' FROM workflow_definition_versions
RETURNING id
"""
_EXECUTION = """
INSERT INTO workflow_executions (id, workspace_id, workflow_definition_id, workflow_definition_version_id,
                                 workflow_name, version, principal, input)
VALUES ($1, $2, $3, $4, 'w', 1, 'test', $5)
"""
_DEFINITION = (
    "INSERT INTO workflow_definitions (workspace_id, name, source, etag) VALUES ($1, $2, '', '') RETURNING id"
)


async def eventually(true: Callable[[], object], within: float = 10.0) -> None:
    """Wait until something that nobody announces has become true."""
    async with asyncio.timeout(within):
        while not true():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.01)


class WallClock:
    def now(self):
        return time.time_ns() // 1_000_000


class Installation:
    """A database with one workspace, and what is done to it from outside."""

    def __init__(
        self, database: Database, workspace_id: UUID, registry: Registry, functions: Functions
    ) -> None:
        self.database = database
        self.workspace_id = workspace_id
        self.registry = registry
        self.functions = functions
        self.called: dict[str, str] = {}
        """Texts of workflows that others call, by name."""

    async def publish(self, text: str) -> tuple[UUID, UUID]:
        loaded = load_document(text, registry=self.registry, calls=lambda name, _: self.called.get(name))
        assert loaded.valid, loaded.problems
        async with self.database.transaction() as connection:
            definition = await connection.fetch_value(_DEFINITION, self.workspace_id, f"w{new_id()}")
            version = await connection.fetch_value(
                _VERSION, definition, self.workspace_id, to_json(loaded.document)
            )
        return definition, version

    async def start(self, text: str, *, input=None) -> UUID:
        return await self.start_version(await self.publish(text), input=input)

    async def start_version(self, published: tuple[UUID, UUID], *, input=None) -> UUID:
        definition, version = published
        execution_id = new_id()
        async with self.database.transaction() as connection:
            await connection.execute(
                _EXECUTION, execution_id, self.workspace_id, definition, version, input or {}
            )
            await enqueue_executions(
                connection,
                [
                    NewItem(
                        queue_id=new_id(),
                        execution_id=execution_id,
                        workspace_id=self.workspace_id,
                        workflow_definition_id=definition,
                    )
                ],
            )
            await connection.execute("UPDATE workspaces SET idle = false")
        return execution_id

    async def recover(self) -> list[Recovered]:
        """Put back in line what every process holds, as if all of them were dead."""
        async with self.database.transaction() as connection:
            await connection.execute("DELETE FROM processes")
            return await recover_stale_items(connection, stale_after=300)

    async def row(self, statement: str, *values):
        async with self.database.read() as connection:
            return await connection.fetch_row(statement, *values)

    async def rows(self, statement: str, *values):
        async with self.database.read() as connection:
            return await connection.fetch(statement, *values)

    async def execution(self, execution_id: UUID):
        return await self.row("SELECT * FROM workflow_executions WHERE id = $1", execution_id)

    async def nodes(self, execution_id: UUID):
        rows = await self.rows(
            "SELECT * FROM workflow_execution_nodes WHERE execution_id = $1 ORDER BY path, attempt",
            execution_id,
        )
        return {(row["path"], row["attempt"]): row for row in rows}

    async def until(self, execution_id: UUID, *wanted: str, within: float = 20.0):
        """The execution once it has one of these statuses."""
        async with asyncio.timeout(within):
            while True:
                row = await self.execution(execution_id)
                if row["status"] in wanted:
                    return row
                await asyncio.sleep(0.01)

    async def until_node(self, execution_id: UUID, path: str, status: str = "RUNNING") -> None:
        async with asyncio.timeout(10):
            while True:
                found = await self.nodes(execution_id)
                if any(key[0] == path and row["status"] == status for key, row in found.items()):
                    return
                await asyncio.sleep(0.01)

    async def until_true(self, statement: str, *values: object) -> None:
        """Until the first column of the statement is true."""
        async with asyncio.timeout(10):
            while True:
                row = await self.row(statement, *values)
                if row is not None and row[0]:
                    return
                await asyncio.sleep(0.01)


class Worker:
    def __init__(
        self,
        installation: Installation,
        *,
        enabled: bool = True,
        control_poll: float = 5.0,
        secrets: ReadSecrets = no_secrets,
        max_in_flight: int = 100,
        threads: FunctionPool | None = None,
        lease_ttl: float = 15.0,
        retry: RetryPolicy | None = None,
    ) -> None:
        database = installation.database
        self.process = Process(new_id(), "worker", "test")
        self.announcer = Announcer(database, self.process.id)
        self.changes = ChangeFeed(database)
        self.recorder = Recorder(database, self.announcer.announce, self.changes.tell)
        clock = WallClock()
        self.timers = WallTimers(clock)
        self.engine = DurableEngine(
            registry=installation.registry,
            services={Functions: installation.functions, FunctionPool: threads or FunctionPool()},
            store=PostgresRunStore(database, self.recorder, self.announcer.announce, self.changes.tell),
            clock=clock,
            timers=self.timers,
            max_runs=50,
            max_in_flight=max_in_flight,
            retry=retry or RetryPolicy(),
            ended=lambda _: self.loop.wake(),
            secrets=secrets,
        )
        settings = DispatchSettings(enabled=enabled, poll_interval=0.1, lease_ttl=lease_ttl)
        self.control = ControlDelivery(database, self.engine, control_poll)
        starter = Starter(database, self.engine, asked=self.control.asked, started=self._started)
        self.loop = DispatchLoop(database, starter, self.process, self.announcer, settings)
        self.announcer.listen(self.loop.wake)
        self.listener = Listener(
            database, {CONTROL: self.control.heard, WATCH: self.changes.heard}, connected=self._connected
        )
        self.listener.start()
        self.control.start()
        self.task = asyncio.create_task(self.loop.run())

    @property
    def preparing(self):
        return self.engine.preparing

    def _started(self, execution_id: UUID) -> None:
        self.control.started(execution_id)
        self.changes.tell((execution_id,))

    def _connected(self) -> None:
        self.control.connected()
        self.changes.ask()

    async def _deafen(self) -> None:
        await self.listener.stop()
        await self.control.stop()
        await self.changes.close()

    async def freeze(self) -> None:
        """Drop everything at once, writing nothing: what a crash leaves, without the process going."""
        await self._deafen()
        self.loop.stop()
        await self.task
        await self.engine.drain(0)
        await self.recorder.close()
        await self.announcer.close()
        self.timers.close()

    async def stop(self) -> None:
        self.loop.stop()
        await self.task
        await self.engine.drain(10)
        await self._deafen()
        await self.recorder.close()
        await self.announcer.close()
        self.timers.close()


@asynccontextmanager
async def installation(url: str, *, functions: Functions | None = None):
    database = Database(url)
    try:
        async with database.transaction() as connection:
            workspace_id = await connection.fetch_value(
                "INSERT INTO workspaces (name, tier) VALUES ('w', 'ENTERPRISE') RETURNING id"
            )
        yield Installation(database, workspace_id, Registry.discover(), functions or Functions())
    finally:
        await database.close()


@asynccontextmanager
async def worker(of: Installation, **options):
    made = Worker(of, **options)
    try:
        yield made
    finally:
        await made.stop()
