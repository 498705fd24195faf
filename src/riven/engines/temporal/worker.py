"""The worker of the Temporal engine: polls for workflows and activities, and does them, until it is drained.

Any number of them share a task queue. One that is gone costs its attempts a retry: Temporal gives them to another, which
first looks whether they were recorded.
"""

import asyncio
import contextlib
import logging
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from temporalio.client import Client
from temporalio.worker import Worker
from temporalio.worker.workflow_sandbox import SandboxedWorkflowRunner, SandboxRestrictions

from riven.effects.context import DEFAULT_NODE_TIMEOUT, Timers
from riven.engines.port import EngineAwayError
from riven.engines.temporal.activities import BEAT, Activities
from riven.engines.temporal.client import TemporalAddress, connect, register_search_attributes
from riven.engines.temporal.ports import ReadSecrets, SharedStore
from riven.engines.temporal.session import Tools
from riven.engines.temporal.sessions import Sessions, no_secrets
from riven.engines.temporal.workflow import ExecutionWorkflow
from riven.nodes.contract import Clock
from riven.nodes.registry import Registry

PASSED_THROUGH = ("riven.core", "riven.driver", "riven.wire")
"""Pure by contract, so workflows share them; everything else of ours is loaded anew for each."""
_AWAY_DELAY = 1.0
_LONGEST_AWAY_DELAY = 5.0
_DRAINED = timedelta(days=1)
"""Longer than any drain: when attempts are left to others is decided here, not by the library."""
_LAST = 5.0
"""Seconds for what is left to be told to the server."""

_log = logging.getLogger("riven.engine")


def sandbox() -> SandboxedWorkflowRunner:
    """What workflows run in, here and where their histories are replayed."""
    return SandboxedWorkflowRunner(
        restrictions=SandboxRestrictions.default.with_passthrough_modules(*PASSED_THROUGH)
    )


class TemporalWorker:
    """Fits `riven.lifecycle`: start, wait, drain; draining twice is safe."""

    def __init__(
        self,
        where: TemporalAddress,
        *,
        task_queue: str,
        registry: Registry,
        services: Mapping[type[Any], Any],
        store: SharedStore,
        clock: Clock,
        timers: Timers,
        node_timeout: int = DEFAULT_NODE_TIMEOUT,
        secrets: ReadSecrets = no_secrets,
        max_nodes: int = 200,
        max_workflow_tasks: int = 20,
        max_cached: int = 1_000,
        sticky_timeout: float = 5.0,
    ) -> None:
        """`max_nodes`: attempts at a time. `max_cached`: workflows that stay in memory between two tasks.

        `sticky_timeout`: seconds that a workflow waits for the worker that has it in memory before another may take it.
        """
        self._where = where
        self._task_queue = task_queue
        tools = Tools(store=store, services=services, clock=clock, timers=timers, node_timeout=node_timeout)
        self._sessions = Sessions(tools, registry, secrets)
        self._activities = Activities(tools, self._sessions)
        self._max_nodes = max_nodes
        self._max_workflow_tasks = max_workflow_tasks
        self._max_cached = max_cached
        self._sticky_timeout = timedelta(seconds=sticky_timeout)
        self._worker: Worker | None = None
        self._task: asyncio.Task[None] | None = None
        self.ready = asyncio.Event()
        """It polls."""

    @property
    def attempts(self) -> int:
        """Attempts of nodes under way."""
        return self._activities.attempts

    @property
    def runs(self) -> int:
        """Runs whose values are in memory."""
        return len(self._sessions)

    async def start(self) -> None:
        """Returns at once: a server that is away is waited for in the background."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="riven-temporal")

    async def wait(self) -> None:
        """Returns when it was drained; raises what has broken it."""
        if self._task is not None:
            await asyncio.shield(self._task)

    async def drain(self, deadline: float) -> None:
        """Take nothing more; what runs has so many seconds to end, then it is left to other workers."""
        task, worker = self._task, self._worker
        if task is None:
            return
        if worker is None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        else:
            closing = asyncio.ensure_future(worker.shutdown())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(closing), deadline)
            self._activities.drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(closing, _LAST)
            if not task.done():
                task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await self._sessions.close()

    async def _run(self) -> None:
        client = await self._until_reachable()
        worker = self._worker = Worker(
            client,
            task_queue=self._task_queue,
            workflows=[ExecutionWorkflow],
            activities=self._activities.all(),
            workflow_runner=sandbox(),
            max_cached_workflows=self._max_cached,
            sticky_queue_schedule_to_start_timeout=self._sticky_timeout,
            max_concurrent_workflow_tasks=self._max_workflow_tasks,
            max_concurrent_activities=self._max_nodes,
            max_concurrent_local_activities=self._max_nodes,
            max_heartbeat_throttle_interval=timedelta(seconds=BEAT),
            default_heartbeat_throttle_interval=timedelta(seconds=BEAT),
            graceful_shutdown_timeout=_DRAINED,
        )
        self.ready.set()
        await worker.run()

    async def _until_reachable(self) -> Client:
        delay = _AWAY_DELAY
        while True:
            try:
                client = await connect(self._where, at_once=True)
                await register_search_attributes(client)
            except EngineAwayError as error:
                _log.warning("engine_away", extra={"error": str(error)})
                await asyncio.sleep(delay)
                delay = min(delay * 2, _LONGEST_AWAY_DELAY)
            else:
                return client
