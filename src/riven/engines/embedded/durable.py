"""The embedded engine on a durable journal: drives, in this process, the runs that were claimed for it.

A run ends here in one of four ways: it finishes; it rests, and its slot is given back; somebody else has taken it over,
and it is dropped without a word; or it is handed back because the process stops. A run that was driven before is taken
up from its journal.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import Any
from uuid import UUID

from riven.core.coordinator import Coordinator
from riven.core.errors import ErrorClass, InvalidDocumentError
from riven.core.graph import RetryPolicy
from riven.core.ids import ExecutionId, NodePath
from riven.core.messages import (
    CancelRequested,
    ExecutionStarted,
    ExecutionStatus,
    Finish,
    PauseRequested,
    ResumeRequested,
)
from riven.documents.input import check_input
from riven.driver.inbox import Inbox
from riven.driver.loop import Decider, drive
from riven.driver.rest import Rest
from riven.effects.context import DEFAULT_NODE_TIMEOUT, RunContext, Timers
from riven.effects.history import Control, History
from riven.effects.program import Program
from riven.effects.recorder import Entry, ExecutionEnded, LostRunError, UnrecordedEndError
from riven.engines.embedded.lanes import Lanes
from riven.engines.embedded.mailbox import Message
from riven.engines.embedded.performer import EmbeddedPerformer
from riven.engines.embedded.ports import ReadSecrets, RunJournal, RunStore
from riven.engines.embedded.resume import replay
from riven.engines.keeping import keeping
from riven.engines.port import StartRequest, StartResult
from riven.engines.preparing import Prepared, Preparing, all_problems
from riven.nodes.contract import Clock
from riven.nodes.registry import Registry
from riven.wire.admission import freeze
from riven.wire.document import Json
from riven.wire.times import to_rfc3339

_DROPPING = 2.0
"""Seconds that dropped runs get to clean up."""

_log = logging.getLogger("riven.engine")


class _RestError(Exception):
    def __init__(self, rest: Rest) -> None:
        self.rest = rest
        super().__init__(rest.status)


async def no_secrets(workspace_id: UUID, names: Collection[str]) -> Mapping[str, str]:
    """An installation that keeps none."""
    del workspace_id, names
    return {}


class DurableEngine:
    def __init__(
        self,
        *,
        registry: Registry,
        services: Mapping[type[Any], Any],
        store: RunStore,
        clock: Clock,
        timers: Timers,
        max_runs: int,
        max_in_flight: int,
        retry: RetryPolicy,
        node_timeout: int = DEFAULT_NODE_TIMEOUT,
        ended: Callable[[UUID], None] = lambda _: None,
        secrets: ReadSecrets = no_secrets,
    ) -> None:
        """`ended` is told of every run that leaves this process, in whatever way."""
        self.registry = registry
        self.services = services
        self.store = store
        self.clock = clock
        self.timers = timers
        self.max_runs = max_runs
        self.retry = retry
        self.node_timeout = node_timeout
        self.secrets = secrets
        self.lanes = Lanes(max_in_flight)
        self.dice = Random()  # noqa: S311 - jitter
        self._ended = ended
        self._runs: dict[UUID, DurableRun] = {}
        self.preparing = Preparing(registry, store.document)

    @property
    def room(self) -> int:
        return max(0, self.max_runs - len(self._runs))

    @property
    def running(self) -> Sequence[UUID]:
        return list(self._runs)

    @property
    def drives_suspect(self) -> bool:
        return any(run.suspect for run in self._runs.values())

    async def start(self, request: StartRequest) -> StartResult:
        known = self._runs.get(request.execution_id)
        if known is not None and known.request.token >= request.token:
            return StartResult.ALREADY_RUNNING
        if known is not None:
            await known.drop()
        run = self._runs[request.execution_id] = DurableRun(self, request)
        run.task.add_done_callback(lambda _: self._left(run))
        return StartResult.STARTED

    def _left(self, run: "DurableRun") -> None:
        if self._runs.get(run.request.execution_id) is run:
            del self._runs[run.request.execution_id]
        self._ended(run.request.execution_id)

    def control(self, execution_id: UUID) -> None:
        run = self._runs.get(execution_id)
        if run is not None:
            run.look()

    async def drain(self, deadline: float) -> None:
        """Let runs end for so many seconds, then drop the rest: whoever called hands them back."""
        tasks = [run.task for run in self._runs.values()]
        if tasks:
            waiting = asyncio.gather(*tasks, return_exceptions=True)
            try:
                await asyncio.wait_for(asyncio.shield(waiting), deadline)
            except TimeoutError:
                for task in tasks:
                    task.cancel()
                # Attempts that refuse to end are left alone: nothing that they do is recorded any more.
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(asyncio.shield(waiting), _DROPPING)
        await self.lanes.close()


class DurableRun:
    def __init__(self, engine: DurableEngine, request: StartRequest) -> None:
        self.request = request
        self._engine = engine
        self._performer: EmbeddedPerformer | None = None
        self._context: RunContext | None = None
        self._known: set[UUID] = set()
        """Control rows that were delivered."""
        self._look: asyncio.Task[None] | None = None
        self._asked = False
        """Something is there to be read."""
        self.suspect = request.suspect
        self._log_fields = {"executionId": str(request.execution_id), "workflow": request.workflow}
        self.task = asyncio.get_running_loop().create_task(self._main(), name="riven-run")

    async def drop(self) -> None:
        self.task.cancel()
        await asyncio.gather(self.task, return_exceptions=True)

    async def _main(self) -> None:
        try:
            await self._run()
        except LostRunError:
            _log.info("run_lost", extra=self._log_fields)
        except UnrecordedEndError:
            await self._hand_back()
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours must end the run, not leave it hanging
            _log.exception("run_broke", extra={**self._log_fields, "error": str(error)})
            try:
                await self._end_without_driving(ErrorClass.INTERNAL_ERROR, f"{type(error).__name__}: {error}")
            except UnrecordedEndError:
                await self._hand_back()

    async def _hand_back(self) -> None:
        """Its end cannot be recorded. Its next owner finds everything but the end in the journal, and tries again."""
        request = self.request
        _log.error("run_handed_back", extra=self._log_fields)
        await self._engine.store.hand_back(request.execution_id, request.run, request.token)

    async def _run(self) -> None:
        request, engine = self.request, self._engine
        try:
            prepared = await engine.preparing.prepare(request.version_id)
        except InvalidDocumentError as error:
            await self._end_without_driving(ErrorClass.VALIDATION_ERROR, all_problems(error))
            return
        if prepared is None:
            await self._end_without_driving(ErrorClass.DISPATCH_FAILED, "the version of the workflow is gone")
            return
        await self._drive(prepared)

    async def _drive(self, prepared: Prepared) -> None:
        request, engine = self.request, self._engine
        frozen = request.frozen or freeze(request.started_at, engine.retry)
        started = ExecutionStarted(request.run_started_at, RetryPolicy(**frozen["retry"]))
        history = History((), {}, ())
        if request.resumed:
            history = await engine.store.history(request.execution_id, request.run, request.base_seq)
        inbox = Inbox(self._before_waiting)
        sources: dict[int, UUID] = {}
        journal = self._journal(
            frozen=None if request.frozen else frozen,
            timeout_ms=prepared.graph.timeout,
            program=prepared.program,
            attempts=history.attempts,
            revision=max(history.revision, request.revision),
            sources=sources,
        )
        read = prepared.program.secrets
        secrets = await engine.secrets(request.workspace_id, read) if read else {}
        context = self._context = self._new_context(prepared, journal, history, secrets)
        coordinator = Coordinator(prepared.graph, prepared.planned)
        earlier = history.earlier
        decider = coordinator if earlier is None else keeping(coordinator, context, earlier)
        performer = self._performer = EmbeddedPerformer(context, inbox, engine.lanes, journal, sources)
        try:
            performer.next_seq = history.next_seq
            if not history.taken:
                inbox.post(started)
                _log.info("execution_started", extra=self._log_fields)
            else:
                for command in replay(context, decider, started, history.taken):
                    if isinstance(command, Finish):
                        await performer.finish(command)
                        return
                    performer.perform(command)
                if coordinator.paused:
                    performer.pause()
            self._deliver(history.unread)
            if self._asked:
                self.look()
            await self._until_it_rests(decider, performer, inbox, journal)
        finally:
            self._performer = None
            if self._look is not None:
                self._look.cancel()
            await performer.close()
            await journal.close()

    async def _until_it_rests(
        self, decider: Decider, performer: EmbeddedPerformer, inbox: Inbox, journal: RunJournal
    ) -> None:
        request, store = self.request, self._engine.store
        while True:
            try:
                await drive(decider, performer, inbox, seq=performer.next_seq)
            except _RestError as at_rest:
                rest = at_rest.rest
            else:
                return
            asked = await store.park(
                request.execution_id,
                request.run,
                request.token,
                status=rest.status,
                kind=rest.kind,
                due=rest.due,
                revision=journal.revision,
                # As it is now: what is delivered while the database looks has not been taken in by this run.
                known=frozenset(self._known),
            )
            if asked is None:
                return
            self._deliver(asked)

    def _before_waiting(self) -> None:
        rest = self._performer.rest() if self._performer is not None else None
        if rest is not None:
            raise _RestError(rest)

    # ---- control -----------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Something was asked of this run: read what, and deliver it, as soon as there is somebody to deliver it to."""
        self._asked = True
        if self._performer is not None and (self._look is None or self._look.done()):
            self._look = asyncio.get_running_loop().create_task(self._read(), name="riven-look")

    async def _read(self) -> None:
        try:
            while self._asked:
                self._asked = False
                self._deliver(await self._engine.store.unread(self.request.execution_id, self.request.run))
        except Exception:  # noqa: BLE001 - the run goes on; whoever looks next reads it again
            _log.exception("control_unread", extra=self._log_fields)

    def _deliver(self, controls: Sequence[Control]) -> None:
        performer = self._performer
        if performer is None:
            return
        now = self._engine.clock.now()
        for control in controls:
            if control.id in self._known:
                continue
            self._known.add(control.id)
            message = Message(control.payload, control.at, control.id)
            match control.kind:
                case "SIGNAL":
                    performer.signal(control.name or "", message)
                case "APPROVAL" if control.path is not None:
                    performer.decide(control.path, message, control.payload["decision"])
                case "CANCEL":
                    performer.post(CancelRequested(now), control.id)
                case "PAUSE":
                    performer.post(PauseRequested(now), control.id)
                case "RESUME":
                    performer.post(ResumeRequested(now), control.id)
                case _:
                    _log.warning("control_unknown", extra={**self._log_fields, "kind": control.kind})

    # ---- parts -------------------------------------------------------------------------------------------------------

    def _new_context(
        self, prepared: Prepared, journal: RunJournal, history: History, secrets: Mapping[str, str]
    ) -> RunContext:
        request, engine = self.request, self._engine
        execution = {
            "id": str(request.execution_id),
            "startedAt": to_rfc3339(request.started_at),
            "workflow": request.workflow,
            "version": request.version,
        }
        workspace = {"id": str(request.workspace_id), "name": request.workspace_name}
        return RunContext(
            execution_id=ExecutionId(str(request.execution_id)),
            program=prepared.program,
            facts={"execution": execution, "workspace": workspace, "trigger": request.trigger},
            input=request.input,
            secrets=secrets,
            services=engine.services,
            clock=engine.clock,
            timers=engine.timers,
            dice=engine.dice,
            recorder=journal,
            check_input=check_input,
            node_timeout=engine.node_timeout,
            earlier=history.earlier,
        )

    def _journal(
        self,
        *,
        frozen: Json,
        timeout_ms: int | None,
        program: Program | None,
        attempts: dict[NodePath, int],
        revision: int,
        sources: dict[int, UUID],
    ) -> RunJournal:
        request = self.request

        def about(path: NodePath) -> tuple[str, str]:
            context = self._context
            if context is None or program is None:
                return "", ""
            frame, node = context.locate(path)
            return node.type.type, frame.place + node.place

        return self._engine.store.journal(
            request.execution_id,
            request.run,
            request.token,
            frozen=frozen,
            timeout_ms=timeout_ms,
            about=about,
            attempts=attempts,
            revision=revision,
            sources=sources,
            lost=self._lost,
            progressed=self._progressed if request.recovered else None,
        )

    def _progressed(self) -> None:
        self.suspect = False

    def _lost(self) -> None:
        _log.info("run_lost", extra=self._log_fields)
        self.task.cancel()

    async def _end_without_driving(self, error_class: ErrorClass, message: str) -> None:
        """What cannot be driven has failed, and says why."""
        frozen = None if self.request.frozen else freeze(self.request.started_at, self._engine.retry)
        journal = self._journal(
            frozen=frozen,
            timeout_ms=None,
            program=None,
            attempts={},
            revision=self.request.revision,
            sources={},
        )
        error = {"node": None, "type": error_class.value, "message": message}
        end = ExecutionEnded(ExecutionStatus.FAILED, self._engine.clock.now(), error=error)
        try:
            await journal.write(Entry(1, (), (), (), end))
        except LostRunError:
            _log.info("run_lost", extra=self._log_fields)
        _log.error("execution_finished", extra={**self._log_fields, "status": "FAILED", "error": error})
