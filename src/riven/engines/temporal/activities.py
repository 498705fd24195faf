"""What a worker does for workflows: attempts as activities of their own, everything short inside the workflow's task.

Each first brings its run's session to where the workflow is, and answers only when what it has done is recorded. What
cannot be done because the database is away is waited for, or tried again by Temporal; errors of nodes never are.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any
from uuid import UUID

from temporalio import activity
from temporalio.exceptions import ApplicationError, ApplicationErrorCategory

from riven.core.errors import ErrorClass
from riven.core.ids import NodePath
from riven.core.messages import (
    CancelRequested,
    ExecutionStatus,
    Finish,
    NodeFailed,
    PauseRequested,
    ResumeRequested,
    SignalReceived,
    StartNode,
    Step,
)
from riven.effects.execute import execute_step
from riven.effects.history import Control, RunFacts
from riven.effects.recorder import LostRunError, StepEnded, UnrecordedEndError
from riven.engines.job import AttemptJob
from riven.engines.temporal.session import Session, Tools
from riven.engines.temporal.sessions import FINISHED, Sessions, UndrivableError
from riven.wire.answers import answer_to_json
from riven.wire.events import read_command, write_command, write_control
from riven.wire.graphs import graph_to_json
from riven.wire.kept import kept_to_json
from riven.wire.temporal import (
    ATTEMPT,
    BEGIN,
    COMPLETE,
    FAILED,
    GO,
    LOOK,
    LOST_RUN,
    PARK,
    RECORD,
    STEPS,
    STOP,
    SUPERSEDED,
    WAKE,
    AttemptInput,
    BeginInput,
    Begun,
    CompleteInput,
    Looked,
    LookInput,
    Parked,
    ParkInput,
    StepsInput,
    StopInput,
    Taken,
)

BEAT = 2.0
"""Seconds between two signs of life of an attempt; what is over before gives none."""
MOST_LOSSES = 5
"""Workers that an attempt may lose; then it is not tried again."""


class Activities:
    def __init__(self, tools: Tools, sessions: Sessions) -> None:
        self._tools = tools
        self._sessions = sessions
        self._jobs: dict[tuple[UUID, int, NodePath], AttemptJob] = {}
        self._draining = asyncio.Event()

    @property
    def attempts(self) -> int:
        """Under way."""
        return len(self._jobs)

    def drain(self) -> None:
        """Leave what is under way to other workers."""
        self._draining.set()

    def all(self) -> Sequence[Callable[..., Awaitable[Any]]]:
        return [
            self.begin,
            self.attempt,
            self.steps,
            self.record,
            self.look,
            self.park,
            self.wake,
            self.stop,
            self.complete,
        ]

    # ---- beginning and end -------------------------------------------------------------------------------------------

    @activity.defn(name=BEGIN)
    async def begin(self, given: BeginInput) -> Begun:
        """Whether the run is the workflow's to drive, and all that it needs for it."""
        facts = await self._tools.store.facts(UUID(given.execution_id))
        if (
            facts is None
            or (facts.run, facts.token) != (given.run, given.token)
            or facts.status is not ExecutionStatus.RUNNING
        ):
            return Begun(SUPERSEDED)
        try:
            session = await self._sessions.begin(facts, _history_id(), given.frozen)
        except UndrivableError as error:
            await self._end_undriven(facts, given.frozen, error)
            return Begun(FAILED, error_class=error.error_class.value)
        begun = Begun(
            GO,
            graph=graph_to_json(session.prepared.graph),
            started_at=facts.run_started_at,
            next_seq=facts.base_seq + 1,
            timeout=session.longest_timeout,
        )
        if not session.fresh:
            begun.snapshot = session.coordinator.snapshot()
            begun.outstanding = [write_command(each) for each in session.following.outstanding()]
            begun.next_seq = session.next_seq
        if session.kept is not None:
            begun.kept = kept_to_json(session.kept)
            if session.keeping is not None and not session.fresh:
                begun.keeping = session.keeping.snapshot()
        if facts.asked:
            begun.asked = await self._unread(session, (), ())
        return begun

    async def _end_undriven(self, facts: RunFacts, frozen: dict[str, Any], error: UndrivableError) -> None:
        """What cannot be driven has failed, and says why."""
        await self._tools.store.end_undrivable(facts, frozen, error.error_class, str(error))

    @activity.defn(name=COMPLETE)
    async def complete(self, given: CompleteInput) -> None:
        taken = given.taken
        finish = Finish(
            ExecutionStatus(given.status),
            None if given.cause is None else NodePath(given.cause),
            None if given.error_class is None else ErrorClass(given.error_class),
            given.message,
        )
        try:
            session = await self._session(taken)
            await session.end(finish, self._tools.clock.now())
        except UnrecordedEndError as error:
            raise ApplicationError("the end is refused", type="Unrecorded", non_retryable=True) from error
        except (LostRunError, ApplicationError) as error:
            if isinstance(error, ApplicationError) and error.type != LOST_RUN:
                raise
            await self._end_resting(taken, finish)
        else:
            await self._sessions.forget(session, _history_id())
        if given.close_as_canceled:
            await _cancel_workflow()

    async def _end_resting(self, taken: Taken, finish: Finish) -> None:
        """It does not run any more: it is over, or it rests and is ended by Temporal's own means."""
        facts = await self._tools.store.facts(UUID(taken.execution_id))
        if facts is None or facts.run != taken.run or facts.status in FINISHED:
            return
        if facts.status is ExecutionStatus.RUNNING:
            raise await self._lost_run(taken.execution_id, taken.run)
        await self._tools.store.end_resting(facts, finish.status, finish.error_class, finish.message)

    # ---- nodes -------------------------------------------------------------------------------------------------------

    @activity.defn(name=ATTEMPT)
    async def attempt(self, given: AttemptInput) -> dict[str, Any]:
        """One attempt of a node. What it fails by is the error that Temporal sees, never to be tried again by it."""
        session = await self._session(given.taken)
        command = StartNode(NodePath(given.path), given.attempt, Step.RUN, given.timeout, given.limit)
        if activity.info().attempt > 1:
            await session.catch_up(session.next_seq)
        ended = session.answer(command)
        if ended is None:
            ended = await self._perform(session, command)
            session.performed(ended)
        await _in_spite_of_cancels(self._write(session))
        answer = answer_to_json(ended.answer)
        if isinstance(ended.answer, NodeFailed) and not ended.answer.canceled:
            error_class = ended.answer.error_class.value
            raise ApplicationError(
                error_class,
                answer,
                type=error_class,
                non_retryable=True,
                category=ApplicationErrorCategory.BENIGN,  # nothing that the operators of the worker could mend
            )
        return answer

    async def _perform(self, session: Session, command: StartNode) -> StepEnded:
        if activity.info().attempt - _excused() > MOST_LOSSES:
            return session.lost(command)
        job = _Job(session, command)
        key = (session.facts.execution_id, session.facts.run, command.path)
        self._jobs[key] = job.job
        beating = asyncio.ensure_future(_beat())
        draining = asyncio.ensure_future(self._draining.wait())
        draining.add_done_callback(lambda _: job.leave())
        try:
            while True:
                try:
                    ended = await asyncio.shield(job.ended)
                except asyncio.CancelledError:
                    job.job.cancel()  # Temporal has been asked to cancel it; it answers all the same
                    continue
                if ended is None:
                    activity.heartbeat(_excused() + 1)
                    raise ApplicationError("the worker stops", type="Drained")
                return ended
        finally:
            if self._jobs.get(key) is job.job:
                del self._jobs[key]
            beating.cancel()
            draining.cancel()

    @activity.defn(name=STEPS)
    async def steps(self, given: StepsInput) -> list[list[Any]]:
        """Steps that only evaluate, all that were asked for together: they share a commit."""
        session = await self._session(given.taken)
        answers: list[list[Any]] = []
        for data in given.steps:
            command = read_command(["start", *data])
            assert isinstance(command, StartNode)  # noqa: S101 - see above
            ended = session.answer(command)
            if ended is None:
                ended = await self._step(session, command)
                session.performed(ended)
            answers.append([command.path, answer_to_json(ended.answer)])
        await self._write(session)
        return answers

    async def _step(self, session: Session, command: StartNode) -> StepEnded:
        if command.step is not Step.RUN:
            return execute_step(session.context, command)
        ended = await _Job(session, command).ended
        assert ended is not None  # noqa: S101 - nobody ends its task
        return ended

    @activity.defn(name=STOP)
    async def stop(self, given: StopInput) -> None:
        """Attempts of this process hear of their cancellation at once, others with their next sign of life."""
        for path in given.paths:
            job = self._jobs.get((UUID(given.execution_id), given.run, NodePath(path)))
            if job is not None:
                job.cancel()

    # ---- the run -----------------------------------------------------------------------------------------------------

    @activity.defn(name=RECORD)
    async def record(self, taken: Taken) -> None:
        await self._write(await self._session(taken))

    @activity.defn(name=LOOK)
    async def look(self, given: LookInput) -> Looked:
        """What was asked of the run that it has not taken in, and what can be taken in now."""
        session = await self._session(given.taken)
        await self._write(session)
        return Looked(await self._unread(session, given.awaiting, given.known))

    @activity.defn(name=PARK)
    async def park(self, given: ParkInput) -> Parked:
        session = await self._session(given.taken)
        await self._write(session)
        facts = session.facts
        kind = given.kind if not given.awaiting else session.kind_of_waiting(given.awaiting)
        try:
            asked = await self._tools.store.park(
                facts.execution_id,
                facts.run,
                session.token,
                status=ExecutionStatus(given.status),
                kind=kind,
                due=given.due,
                revision=None,
                known=frozenset(UUID(row) for row in given.known),
            )
        except LostRunError:
            await self._readmit(session)
            return Parked(parked=False, token=session.token)
        if asked is None:
            return Parked(parked=True, token=session.token)
        return Parked(parked=False, events=self._match(session, asked, given.awaiting, given.known))

    async def _readmit(self, session: Session) -> None:
        """It was admitted again meanwhile, and rests by the newer token. Raises if it is not ours any more."""
        facts = await self._tools.store.facts(session.facts.execution_id)
        same = (
            facts is not None and facts.run == session.facts.run and facts.status is ExecutionStatus.RUNNING
        )
        if facts is None or not same or facts.token <= session.token:
            raise await self._lost_run(str(session.facts.execution_id), session.facts.run)
        session.admit(facts.token)

    @activity.defn(name=WAKE)
    async def wake(self, execution_id: str) -> None:
        await self._tools.store.wake(UUID(execution_id))

    # ---- what all of them do -----------------------------------------------------------------------------------------

    async def _session(self, taken: Taken) -> Session:
        try:
            session = await self._sessions.get(
                UUID(taken.execution_id), taken.run, _history_id(), taken.seq, taken.frozen
            )
        except LostRunError:
            raise await self._lost_run(taken.execution_id, taken.run) from None
        await session.take(taken)
        return session

    async def _write(self, session: Session) -> None:
        try:
            await session.write()
        except LostRunError:
            facts = session.facts
            raise await self._lost_run(str(facts.execution_id), facts.run) from None

    async def _lost_run(self, execution_id: str, run: int) -> ApplicationError:
        """Not the workflow's to drive; or it is over, and the workflow closes as it ended."""
        facts = await self._tools.store.facts(UUID(execution_id))
        ended = []
        if facts is not None and facts.run == run and facts.status in FINISHED:
            ended = [facts.status.value, facts.error_type]
        message = "the run is not this workflow's to drive"
        return ApplicationError(message, *ended, type=LOST_RUN, non_retryable=True)

    async def _unread(
        self, session: Session, awaiting: Sequence[str], known: Sequence[str]
    ) -> list[list[Any]]:
        facts = session.facts
        unread = await self._tools.store.unread(facts.execution_id, facts.run)
        return self._match(session, unread, awaiting, known)

    def _match(
        self, session: Session, controls: Sequence[Control], awaiting: Sequence[str], known: Sequence[str]
    ) -> list[list[Any]]:
        """Signals meet the nodes that wait for them by name, first come, first served; names stay here."""
        now = self._tools.clock.now()
        names = session.signal_names(awaiting)
        approvals = session.waiting_approvals(awaiting)
        seen = frozenset(known)
        events: list[list[Any]] = []
        for control in controls:
            row = str(control.id)
            if row in seen:
                continue
            event: SignalReceived | CancelRequested | PauseRequested | ResumeRequested
            match control.kind:
                case "SIGNAL":
                    path = next((path for path, name in names.items() if name == control.name), None)
                    if path is None:
                        continue
                    del names[path]
                    event = SignalReceived(path, "received", now)
                case "APPROVAL":
                    if control.path is None or control.path not in approvals:
                        continue
                    event = SignalReceived(control.path, control.payload["decision"], now)
                case "CANCEL":
                    event = CancelRequested(now)
                case "PAUSE":
                    event = PauseRequested(now)
                case "RESUME":
                    event = ResumeRequested(now)
                case _:
                    continue
            session.controls[control.id] = control
            events.append(write_control(event, row))
        return events


class _Job:
    """An attempt in a task of its own."""

    def __init__(self, session: Session, command: StartNode) -> None:
        self.ended: asyncio.Future[StepEnded | None] = asyncio.get_running_loop().create_future()
        self.job = AttemptJob(session.context, command, self._tell, lambda _: None)
        self._task = asyncio.get_running_loop().create_task(self.job.perform(), name="riven-attempt")

    def _tell(self, path: NodePath, ended: StepEnded | None) -> None:
        del path
        if not self.ended.done():
            self.ended.set_result(ended)

    def leave(self) -> None:
        """Somebody else is to do it again."""
        self._task.cancel()
        if not self.ended.done():
            self.ended.set_result(None)


async def _in_spite_of_cancels(work: Coroutine[Any, Any, None]) -> None:
    """What has happened is recorded, whatever is asked of the attempt meanwhile."""
    task = asyncio.ensure_future(work)
    while not task.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(asyncio.gather(task, return_exceptions=True))
    task.result()


async def _cancel_workflow() -> None:
    """A workflow closes as canceled only if somebody has asked it to."""
    info = activity.info()
    handle = activity.client().get_workflow_handle(info.workflow_id or "", run_id=info.workflow_run_id)
    await handle.cancel()


def _excused() -> int:
    """Tries of this attempt that its worker has given up without being lost."""
    details = activity.info().heartbeat_details
    return details[0] if details else 0


async def _beat() -> None:
    with contextlib.suppress(asyncio.CancelledError):
        while True:
            await asyncio.sleep(BEAT)
            activity.heartbeat(_excused())


def _history_id() -> str:
    return activity.info().workflow_run_id or ""
