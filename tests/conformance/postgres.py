"""The embedded engine on PostgreSQL: published, accepted, queued, claimed, driven, journalled and read as in the product.

One database and its workers run everything, in a thread of their own, because every test has its own event loop. All
scenarios that will be asked for are under way at once; each has a workspace of its own.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self
from uuid import UUID

from tests.conformance.documents import REGISTRY, loaded
from tests.conformance.functions import hash_of
from tests.conformance.scenario import START, Scenario
from tests.engines.embedded.workers import Installation, Worker

from riven.catalog.check import DocumentChecker
from riven.catalog.errors import WorkflowInvalidError
from riven.catalog.versions import publish_workflow
from riven.catalog.workflows import save_draft
from riven.db.engine import Database
from riven.db.identity import new_id
from riven.intake.accept import accept_execution
from riven.intake.control import Controls
from riven.intake.wish import NewExecution
from riven.nodes.functions import Functions
from riven.queue.wake import Announcer
from riven.tenancy.policies import Scope, scope_for
from riven.tenancy.principals import Principal, Role
from riven.views.documents import Documents
from riven.views.executions import get_execution
from riven.views.nodes import NodePage, list_nodes
from riven.wire.document import Json

LOOK_EVERY = 0.005
"""Seconds between two looks at runs that something is to happen to, or that are to end."""

_TESTER = Principal(kind="key", id="tester", name="tester", role=Role.PLATFORM)
_WORKSPACE = "INSERT INTO workspaces (name, tier) VALUES ('w', 'ENTERPRISE') RETURNING id"
_FINISHED = "SELECT id FROM workflow_executions WHERE id = ANY ($1::uuid[]) AND finished_at IS NOT NULL"
_PAGE = 1_000


class OneWorker:
    """Drives everything, in this process, disturbed by nobody."""

    def __init__(self, runs: "ScenarioRuns") -> None:
        async def secrets(workspace_id: UUID, names: Collection[str]) -> Mapping[str, str]:
            kept = runs.secrets.get(workspace_id, {})
            return {name: kept[name] for name in names if name in kept}

        installation = Installation(runs.database, UUID(int=0), REGISTRY, Functions(hash_of))
        self._worker = Worker(installation, secrets=secrets)

    async def stop(self) -> None:
        await self._worker.stop()


class PostgresUnderTest:
    """Open it with `with`; `run` may be called from any event loop."""

    def __init__(self, url: str, *, patience: float) -> None:
        self._url = url
        self._patience = patience
        self._begun: dict[int, Future[Mapping[str, Any]]] = {}
        """Scenarios that are under way before somebody asks, by id()."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="conformance")

    def __enter__(self) -> Self:
        self._thread.start()
        try:
            self._do(self._open())
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._do(self._close())
        finally:
            self._end()

    def expect(self, scenarios: Sequence[Scenario]) -> None:
        for scenario in scenarios:
            self._begun[id(scenario)] = self._begin(scenario)

    async def run(self, scenario: Scenario) -> Mapping[str, Any]:
        begun = self._begun.pop(id(scenario), None)
        return await asyncio.wrap_future(self._begin(scenario) if begun is None else begun)

    def _begin(self, scenario: Scenario) -> "Future[Mapping[str, Any]]":
        return asyncio.run_coroutine_threadsafe(self._runs.run(scenario), self._loop)

    def _do(self, work: Coroutine[Any, Any, None]) -> None:
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _open(self) -> None:
        self._runs = ScenarioRuns(self._url, patience=self._patience)
        self._worker = OneWorker(self._runs)

    async def _close(self) -> None:
        for begun in self._begun.values():
            begun.cancel()
        await self._worker.stop()
        await self._runs.close()


class ScenarioRuns:
    """Scenarios, put in line on one database and followed to their ends. Who drives them is no matter of this."""

    def __init__(self, url: str, *, patience: float) -> None:
        self.database = Database(url, pool_size=20)
        self.secrets: dict[UUID, Mapping[str, str]] = {}
        """By workspace."""
        self._patience = patience
        self._announcer = Announcer(self.database, new_id())
        self._controls = Controls(self.database, self._announcer.announce)
        self._checker = DocumentChecker(self.database, REGISTRY)
        self._documents = Documents()
        self._ends = _Ends(self.database)

    async def close(self) -> None:
        await self._announcer.close()
        await self._ends.close()
        self._checker.close()
        await self.database.close()

    async def run(self, scenario: Scenario) -> Mapping[str, Any]:
        document = loaded(scenario).document
        assert document is not None
        async with self.database.transaction() as connection:
            workspace_id = await connection.fetch_value(_WORKSPACE)
        self.secrets[workspace_id] = scenario.secrets
        scope = scope_for(_TESTER, workspace_id, Role.EDITOR)
        await self._publish(scope, {**scenario.calls, document.name: scenario.text})
        async with self.database.transaction() as connection:
            new = NewExecution(workflow_name=document.name, input=scenario.input)
            execution_id = (await accept_execution(connection, scope, new)).execution_id
        for signal in scenario.signals:
            if signal.when == START:
                await self._controls.signal(scope, execution_id, signal.name, signal.payload)
        self._announcer.announce([workspace_id])
        async with asyncio.timeout(self._patience):
            await self._do_when_it_is_time(scenario, scope, execution_id)
            await self._ends.wait(execution_id)
        return await self._show(scope, execution_id)

    async def _publish(self, scope: Scope, documents: Mapping[str, str]) -> None:
        """What is called has to be there before what calls it."""
        left = dict(documents)
        while left:
            refused: dict[str, Exception] = {}
            for name, text in reversed(left.items()):
                try:
                    await save_draft(self.database, scope, self._checker, name, text.encode())
                    await publish_workflow(self.database, scope, self._checker, name)
                except WorkflowInvalidError as error:
                    refused[name] = error
            if len(refused) == len(left):
                raise next(iter(refused.values()))
            left = {name: text for name, text in left.items() if name in refused}

    async def _do_when_it_is_time(self, scenario: Scenario, scope: Scope, execution_id: UUID) -> None:
        """What the scenario wants from outside, as soon as the node it names is where it wants it."""
        todo: dict[tuple[str, str], Callable[[], Awaitable[object]]] = {}
        controls = self._controls
        for signal in scenario.signals:
            if signal.when != START:
                send = (scope, execution_id, signal.name, signal.payload)
                todo[signal.when, "WAITING"] = _call(controls.signal, *send)
        for approval in scenario.approvals:
            decide = (scope, execution_id, approval.path, approval.decision)
            more = {"comment": approval.comment, "data": approval.data}
            todo[approval.path, "WAITING"] = _call(controls.decide, *decide, **more)
        if scenario.cancel is not None:
            cancel = _call(controls.cancel, scope, execution_id)
            todo[scenario.cancel.when, scenario.cancel.status] = cancel
        while todo:
            shown = await self._show(scope, execution_id)
            statuses = {node["path"]: node["status"] for node in shown["nodes"]}
            for place in [place for place in todo if statuses.get(place[0]) == place[1]]:
                await todo.pop(place)()
            assert not (todo and shown["finishedAt"]), f"these never came about: {list(todo)}"
            await asyncio.sleep(LOOK_EVERY)

    async def _show(self, scope: Scope, execution_id: UUID) -> dict[str, Json]:
        async with self.database.read() as connection:
            view = await get_execution(connection, scope, execution_id)
            document = await self._documents.get(connection, view.version_id)
            nodes: list[Json] = []
            page: NodePage | None = None
            while page is None or page.after is not None:
                after = page and page.after
                page = await list_nodes(
                    connection, execution_id, view.status, document, after=after, limit=_PAGE
                )
                nodes += page.items
        return {**view.shown, "nodes": nodes}


class _Ends:
    """Tells of the ends of many executions by looking at all of them at once."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._awaited: dict[UUID, asyncio.Future[None]] = {}
        self._task = asyncio.get_running_loop().create_task(self._look())

    async def wait(self, execution_id: UUID) -> None:
        self._awaited[execution_id] = asyncio.get_running_loop().create_future()
        try:
            await self._awaited[execution_id]
        finally:
            del self._awaited[execution_id]

    async def _look(self) -> None:
        while True:
            if self._awaited:
                async with self._database.read() as connection:
                    for row in await connection.fetch(_FINISHED, list(self._awaited)):
                        ended = self._awaited.get(row["id"])
                        if ended is not None and not ended.done():
                            ended.set_result(None)
            await asyncio.sleep(LOOK_EVERY)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)


def _call(
    function: Callable[..., Awaitable[object]], *args: object, **named: object
) -> Callable[[], Awaitable[object]]:
    return lambda: function(*args, **named)
