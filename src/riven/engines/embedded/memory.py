"""The embedded engine with its journal in memory: `riven run`, and tests of whole documents.

`MemoryEngine.run` gives the object that `riven run --json` prints:

    {executionId, workflow: {name}, status, phase, input, output, error: null | {node, type, message},
     createdAt, startedAt, finishedAt, durationMs, labels: {}, correlationId: null, waiting: null,
     nodes: [{path, type, name, status, outcome, attempt,
              attempts: [{attempt, status, startedAt, finishedAt, error, nextRetryAt}],
              startedAt, finishedAt, durationMs, input, output, error: null | {type, message}, skipReason}]}

Times are RFC 3339 in UTC with milliseconds. `nodes` has every node of the document and, for each body that was
entered, every node of it per item or iteration, in document order. A node that never started has `attempt` 0, no
attempts and no times. `error.node` is the path of the innermost node that failed, `output` if the execution's output
could not be built, null if no node is at fault (timeout, internal error).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any

from riven.core.errors import InvalidDocumentError, RivenError
from riven.core.graph import Graph, RetryPolicy
from riven.core.ids import ExecutionId
from riven.core.messages import ExecutionStatus
from riven.documents.input import check_input
from riven.documents.load import LoadedDocument
from riven.effects.context import DEFAULT_NODE_TIMEOUT, RunContext, Timers
from riven.effects.program import compile_program
from riven.effects.values import RunValues
from riven.engines.embedded.engine import EmbeddedRun, UnknownApprovalError
from riven.engines.embedded.identity import new_execution_id
from riven.engines.embedded.journal import Listener, MemoryJournal
from riven.engines.embedded.lanes import Lanes
from riven.engines.embedded.rows import Rows, show_row
from riven.engines.embedded.timers import WallTimers
from riven.engines.port import MANUAL
from riven.nodes.contract import Clock
from riven.nodes.decisions import Decision
from riven.nodes.registry import Registry
from riven.wire.document import Document, Json
from riven.wire.shown import show_execution
from riven.wire.times import to_rfc3339

WORKSPACE: Mapping[str, Json] = {"id": "local", "name": "local"}
"""What templates see as `workspace` outside of an installation."""
VERSION = 0
"""What they see as `execution.version`: a file has none, and published ones count from 1."""


class MemoryEngine:
    """Runs one document at a time, to its end. Belongs to one event loop."""

    def __init__(
        self,
        *,
        registry: Registry,
        services: Mapping[type[Any], Any],
        clock: Clock,
        max_in_flight: int = 1_000,
        seed: int | None = None,
        timers: Timers | None = None,
        retry: RetryPolicy | None = None,
        node_timeout: int = DEFAULT_NODE_TIMEOUT,
    ) -> None:
        """`timers`: instead of the event loop's; `seed`: of jitter and ids, for runs that are to be alike."""
        self._registry = registry
        self._services = services
        self._clock = clock
        self._max_in_flight = max_in_flight
        self._dice = Random(seed)  # noqa: S311 - nothing here is secret
        self._timers = timers
        self._retry = retry or RetryPolicy()
        self._node_timeout = node_timeout
        self._run: EmbeddedRun | None = None
        self._early: list[Callable[[EmbeddedRun], None]] = []

    async def run(
        self,
        loaded: LoadedDocument,
        input: Json = None,
        *,
        secrets: Mapping[str, str] | None = None,
        listener: Listener | None = None,
        execution_id: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the run ends by it and says so; nothing is thrown away
    ) -> dict[str, Json]:
        """Run the document and tell everything about it.

        Args:
            loaded: a valid document.
            input: what it is started with; defaults of its schema are filled in.
            secrets: by name. Those that the document reads appear nowhere in what is told.
            listener: called for every change, from inside the run: it returns soon. It may signal, approve and cancel.
            execution_id: a new UUIDv7 without it.
            timeout: seconds for the whole, beside the document's own.

        Raises:
            InvalidDocumentError: the document or the input is not valid; nothing has started.
        """
        if self._run is not None:
            raise RivenError("this engine runs a document already; make one engine for each run")
        if loaded.document is None or loaded.graph is None or not loaded.valid:
            raise InvalidDocumentError(loaded.problems)
        checked, problems = check_input(loaded.document, {} if input is None else input)
        if problems:
            raise InvalidDocumentError(problems)
        created = self._clock.now()
        program = compile_program(loaded.document, self._registry)
        timers = self._timers or WallTimers(self._clock)
        values, rows = RunValues(), Rows(program)
        journal = MemoryJournal(rows, values, listener)
        identity = ExecutionId(execution_id) if execution_id else new_execution_id(created, self._dice)
        context = RunContext(
            execution_id=identity,
            program=program,
            facts=_facts(identity, loaded.document, created),
            input=checked,
            secrets=secrets or {},
            services=self._services,
            clock=self._clock,
            timers=timers,
            dice=self._dice,
            recorder=journal,
            check_input=check_input,
            node_timeout=self._node_timeout,
            values=values,
        )
        lanes = Lanes(self._max_in_flight)
        run = self._run = EmbeddedRun(context, _within(loaded.graph, timeout), lanes, journal)
        run.begin(created, self._retry)
        for control in self._early:
            control(run)
        self._early.clear()
        journal.announce(ExecutionStatus.RUNNING, created)
        try:
            await run.drive()
        finally:
            self._run = None
            await lanes.close()
            if isinstance(timers, WallTimers):
                timers.close()
        return _show(context, run, journal, rows, created)

    # ---- control: also before `run`, for the run that comes ----------------------------------------------------------

    def signal(self, name: str, payload: Json = None) -> None:
        """For the node that waits for it longest; without one it is kept. Raises ControlError if it is no JSON."""
        self._control(lambda run: run.signal(name, payload))

    def cancel(self) -> None:
        self._control(EmbeddedRun.cancel)

    def pause(self) -> None:
        self._control(EmbeddedRun.pause)

    def resume(self) -> None:
        self._control(EmbeddedRun.resume)

    def approve(
        self,
        path: str,
        decision: Decision,
        *,
        comment: str | None = None,
        data: Json = None,
        by: str | None = None,
    ) -> None:
        """Decide an approval that waits now: see `EmbeddedRun.approve` for what it raises."""
        if self._run is None:
            raise UnknownApprovalError("nothing runs")
        self._run.approve(path, decision, comment=comment, data=data, by=by)

    def _control(self, control: Callable[[EmbeddedRun], None]) -> None:
        if self._run is None:
            self._early.append(control)
        else:
            control(self._run)


def _facts(identity: ExecutionId, document: Document, started_at: int) -> Mapping[str, Json]:
    execution = {
        "id": identity, "startedAt": to_rfc3339(started_at), "workflow": document.name, "version": VERSION,
    }  # fmt: skip
    return {"execution": execution, "workspace": WORKSPACE, "trigger": MANUAL}


def _within(graph: Graph, timeout: float | None) -> Graph:
    """The graph with no more time than this, in seconds."""
    if timeout is None:
        return graph
    limit = max(1, round(timeout * 1_000))
    return replace(graph, timeout=limit if graph.timeout is None else min(limit, graph.timeout))


def _show(
    context: RunContext, run: EmbeddedRun, journal: MemoryJournal, rows: Rows, created: int
) -> dict[str, Json]:
    end = journal.end
    assert end is not None, "the driver returned without an end"  # noqa: S101 - it records one
    shown = show_execution(
        execution_id=context.execution_id,
        workflow={"name": context.program.document.name},
        status=end.status.value,
        phase=run.coordinator.state.phase.value if run.coordinator.finished else end.status.value,
        values={"input": context.redactor.value(context.input), "output": end.output},
        error=end.error,
        created_at=created,
        started_at=created,
        finished_at=end.at,
        duration_ms=end.at - created,
        labels={},
        correlation_id=None,
        waiting=None,
    )
    return shown | {"nodes": [show_row(row) for row in rows.in_order()]}
