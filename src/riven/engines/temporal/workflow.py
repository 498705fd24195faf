"""One run of an execution as a workflow: coordinator and driver, and nothing that knows a tenant's data.

It closes as the execution ends: completed, failed with the error class as its type, or canceled; always after that is
recorded. A run that rests stays open, and starts nothing before it was admitted again.
"""

import asyncio
from dataclasses import replace

from temporalio import workflow
from temporalio.exceptions import ApplicationError, FailureError

from riven.core.coordinator import Coordinator
from riven.core.errors import ErrorClass
from riven.core.graph import RetryPolicy
from riven.core.ids import NodePath
from riven.core.messages import CancelRequested, ExecutionStarted, ExecutionStatus, Finish, SettleNode, Step
from riven.driver.inbox import Inbox
from riven.driver.kept import Keeping
from riven.driver.loop import Decider, drive
from riven.driver.rest import Rest
from riven.engines.temporal.performer import (
    Listening,
    LostRunError,
    NoneType,
    WorkflowPerformer,
    do_local,
    now,
)
from riven.wire.events import read_command
from riven.wire.graphs import graph_from_json
from riven.wire.kept import kept_from_json
from riven.wire.temporal import (
    ADMITTED,
    BEGIN,
    CONTROL,
    FAILED,
    GO,
    SUPERSEDED,
    WAKE,
    WORKFLOW_TYPE,
    BeginInput,
    Begun,
    RunInput,
    RunResult,
)

_HOLD_FROM = 3
"""Times the length after which a history may end: it must, and nothing more is started in it."""

_CANCELED_WITHIN = 30.0


class _RestError(Exception):
    def __init__(self, rest: Rest) -> None:
        self.rest = rest
        super().__init__(rest.status)


class _ContinueError(Exception):
    """The history is long enough, and nothing is under way."""


class _NoValues:
    """Values are the workers'."""

    def step(self, path: NodePath, step: Step) -> None:
        pass

    def node(self, path: NodePath) -> None:
        pass

    def settled(self, command: SettleNode, at: int) -> None:
        pass


@workflow.defn(name=WORKFLOW_TYPE)
class ExecutionWorkflow:
    @workflow.init
    def __init__(self, given: RunInput) -> None:
        self._given = given
        self._token = given.token
        self._performer: WorkflowPerformer | None = None
        self._inbox = Inbox(self._before_waiting)
        self._resting = False
        self._wanted = False
        """Something was asked of the run while it rested."""
        self._canceled = False
        """By Temporal's own means."""
        self._coordinator: Coordinator | None = None

    @workflow.signal(name=ADMITTED)
    def admitted(self, token: int) -> None:
        self._token = max(self._token, token)
        if self._performer is not None and not self._resting:
            self._performer.token = max(self._performer.token, token)

    @workflow.signal(name=CONTROL)
    def control(self, rows: list[str]) -> None:
        performer = self._performer
        if performer is None or (rows and all(row in performer.known for row in rows)):
            return
        self._wanted = True
        performer.look()
        self._inbox.nudge()

    @workflow.run
    async def run(self, given: RunInput) -> RunResult:
        self._over: asyncio.Future[Finish] = asyncio.get_running_loop().create_future()
        work = asyncio.get_running_loop().create_task(self._main())
        work.add_done_callback(self._main_ended)
        try:
            finish = await self._until_over()
        except LostRunError as lost:
            if lost.status is None:
                return RunResult(given.execution_id, SUPERSEDED)
            error_class = None if lost.error_class is None else ErrorClass(lost.error_class)
            finish = Finish(ExecutionStatus(lost.status), error_class=error_class)
        except _ContinueError:
            workflow.continue_as_new(replace(given, token=self._token))
        finally:
            work.cancel()
            if self._performer is not None:
                self._performer.close()
        return await self._close(finish)

    async def _until_over(self) -> Finish:
        while True:
            try:
                return await asyncio.shield(self._over)
            except asyncio.CancelledError:
                # Only the first one can be somebody's wish; otherwise the workflow is put out of this worker's memory.
                if self._canceled or workflow.cancellation_reason() is None:
                    raise
                self._cancel()

    def _cancel(self) -> None:
        """Somebody cancels the workflow by Temporal's own means, or has ended the run while nobody drove it."""
        self._canceled = True
        if self._performer is not None:
            self._performer.canceled = True
            self._inbox.post(CancelRequested(now()))

    def _main_ended(self, work: "asyncio.Task[Finish]") -> None:
        if self._over.done() or work.cancelled():
            return
        error = work.exception()
        if error is None:
            self._over.set_result(work.result())
        else:
            self._over.set_exception(error)

    def _dropped(self, error: Exception) -> None:
        if not self._over.done():
            self._over.set_exception(error)

    async def _close(self, finish: Finish) -> RunResult:
        if finish.status is ExecutionStatus.FAILED:
            error_class = finish.error_class.value if finish.error_class is not None else "EXECUTION_ERROR"
            raise ApplicationError(
                f"the execution has failed: {error_class}", type=error_class, non_retryable=True
            )
        if finish.status is ExecutionStatus.CANCELED and await self._is_canceled():
            raise asyncio.CancelledError
        standings = {} if self._coordinator is None else self._coordinator.state.standings()
        nodes = {str(path): standing.value for path, standing in standings.items()}
        return RunResult(self._given.execution_id, finish.status.value, nodes)

    async def _is_canceled(self) -> bool:
        """Whether it can close as that; if nobody has asked for it, that is done when the end is recorded."""
        if not self._canceled:
            try:
                await asyncio.sleep(_CANCELED_WITHIN)
            except asyncio.CancelledError:
                self._canceled = True
        return self._canceled

    # ---- the run -----------------------------------------------------------------------------------------------------

    async def _main(self) -> Finish:
        begun = await self._begin()
        if begun.state == FAILED:
            raise ApplicationError(
                f"the execution cannot be driven: {begun.error_class}",
                type=begun.error_class,
                non_retryable=True,
            )
        assert begun.graph is not None  # noqa: S101 - see BEGIN
        graph = graph_from_json(begun.graph)
        coordinator = Coordinator(graph)
        if begun.snapshot is not None:
            coordinator = Coordinator.restore(graph, begun.snapshot)
        self._coordinator = coordinator
        decider: Decider = coordinator
        if begun.kept is not None:
            decider = keeping = Keeping(coordinator, _NoValues(), kept_from_json(begun.kept))
            if begun.keeping is not None:
                keeping.restore(begun.keeping)
        listening = Listening(decider)
        performer = self._performer = WorkflowPerformer(
            self._given,
            graph,
            self._inbox,
            listening,
            timeout=begun.timeout,
            next_seq=begun.next_seq,
            paused=coordinator.paused,
        )
        performer.token = self._token
        performer.canceled = self._canceled
        performer.dropped = self._dropped
        if begun.snapshot is None:
            self._inbox.post(ExecutionStarted(begun.started_at, RetryPolicy(**self._given.frozen["retry"])))
        for data in begun.outstanding:
            performer.perform(read_command(data))
        performer.take_controls(begun.asked)
        if self._canceled:
            self._inbox.post(CancelRequested(now()))
        try:
            return await self._drive(listening, performer)
        except (LostRunError, _ContinueError, FailureError):
            raise
        except Exception as error:  # noqa: BLE001 - a bug of ours must end the run, not leave it hanging
            broken = Finish(
                ExecutionStatus.FAILED,
                error_class=ErrorClass.INTERNAL_ERROR,
                message=f"{type(error).__name__}: {error}",
            )
            await performer.complete(broken)
            return broken

    async def _drive(self, listening: Listening, performer: WorkflowPerformer) -> Finish:
        while True:
            try:
                return await drive(listening, performer, self._inbox, seq=performer.next_seq)
            except _RestError as at_rest:
                await self._park(performer, at_rest.rest)
            except _ContinueError:
                await performer.record_now()
                raise

    async def _begin(self) -> Begun:
        given = self._given
        while True:
            token = self._token
            asked = BeginInput(given.execution_id, given.run, token, given.version_id, given.frozen)
            begun: Begun = await do_local(BEGIN, asked, Begun)
            if begun.state in (GO, FAILED):
                return begun
            if self._token <= token:
                raise LostRunError

    def _before_waiting(self) -> None:
        performer = self._performer
        if performer is None:
            return
        info = workflow.info()
        length = info.get_current_history_length()
        most = self._given.continue_after
        performer.holding = length > most * _HOLD_FROM
        performer.begin_waiting()
        if not performer.busy and length > most:
            raise _ContinueError
        rest = performer.rest()
        if rest is not None:
            raise _RestError(rest)

    async def _park(self, performer: WorkflowPerformer, rest: Rest) -> None:
        self._wanted = False
        self._resting = True  # from here on whoever admits it means that it may go on
        asked = await performer.park(rest)
        if asked is not None:
            self._resting = False
            performer.token = max(performer.token, self._token)
            performer.take_controls(asked)
            return
        performer.stop_timers()
        token = performer.token
        while self._token <= token and not self._canceled:
            await workflow.wait_condition(lambda: self._token > token or self._canceled or self._wanted)
            if self._wanted and self._token <= token and not self._canceled:
                self._wanted = False
                await do_local(WAKE, self._given.execution_id, NoneType)
        self._resting = False
        performer.go_on(max(token, self._token))
