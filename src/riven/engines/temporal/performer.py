"""Makes the commands of one run real, inside its workflow: attempts and steps are activities, timers are the workflow's.

What the workflow has taken in is not recorded by itself: it goes along with the next activity, whichever that is, and is
sent again with every further one until one of them has answered. Only what people are to see soon, while nothing else
is to be done, is a local activity of its own. So a node costs no more events than the activity that does it.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from datetime import timedelta
from typing import Any, TypeVar, assert_never

from temporalio import workflow
from temporalio.common import RetryPolicy
from temporalio.exceptions import ActivityError, ApplicationError, is_cancelled_exception

from riven.core.coordinator import DEADLINE
from riven.core.errors import ErrorClass, RivenError
from riven.core.graph import Graph, Node
from riven.core.ids import NodeKey, NodePath, TimerId
from riven.core.messages import (
    AwaitSignal,
    CancelNode,
    CancelRequested,
    Command,
    Event,
    ExecutionStarted,
    ExecutionStatus,
    Finish,
    NodeCompleted,
    NodeFailed,
    NodeStatus,
    PauseRequested,
    ResumeRequested,
    SettleNode,
    SignalReceived,
    StartNode,
    StartTimer,
    Step,
    StopTimer,
    TimerFired,
)
from riven.driver.inbox import Inbox
from riven.driver.loop import Decider
from riven.driver.performer import Batch
from riven.driver.rest import Rest, find_rest
from riven.wire.answers import answer_from_json
from riven.wire.events import ANSWERED, FIRED, UNDONE, read_event, write_command, write_control
from riven.wire.temporal import (
    ATTEMPT,
    COMPLETE,
    LOOK,
    LOST_RUN,
    PARK,
    RECORD,
    STEPS,
    STOP,
    AttemptInput,
    CompleteInput,
    Looked,
    LookInput,
    Parked,
    ParkInput,
    RunInput,
    StepsInput,
    StopInput,
    Taken,
)

MOST_IN_FLIGHT = 500
"""Attempts of one run; 2,000 would be the server's end."""
_MOST_STEPS = 100
"""Of one local activity."""
_MOST_UNRECORDED = 100
"""Events that go along with an activity."""
HEARTBEAT = timedelta(seconds=15)
"""After so long without one the worker of an attempt counts as lost."""
MARGIN = timedelta(minutes=10)
"""That an attempt may take above its timeout: it is ended by itself, and a database that is away is waited for."""
_LOCAL = timedelta(minutes=10)
_AGAIN = RetryPolicy(
    initial_interval=timedelta(milliseconds=200), maximum_interval=timedelta(seconds=5), maximum_attempts=0
)
_LONGEST_ID = 500
NoneType = type(None)
_END_TRIES = RetryPolicy(initial_interval=timedelta(seconds=1), maximum_attempts=3)


ResultT = TypeVar("ResultT")


class LostRunError(RivenError):
    """The run is not this workflow's to drive; or it is over already, and this is how it ended."""

    def __init__(self, status: str | None = None, error_class: str | None = None) -> None:
        self.status = status
        self.error_class = error_class
        super().__init__(status or "the run is not this workflow's to drive")


class Listening:
    """The coordinator; it remembers messages that came too late for the nodes they were meant for."""

    def __init__(self, decider: Decider) -> None:
        self._decider = decider
        self.ignored: list[NodePath] = []

    def receive(self, event: Event) -> Sequence[Command]:
        commands = self._decider.receive(event)
        if isinstance(event, SignalReceived) and not commands:
            self.ignored.append(event.path)
        return commands


class WorkflowPerformer:
    def __init__(
        self,
        given: RunInput,
        graph: Graph,
        inbox: Inbox,
        listening: Listening,
        *,
        timeout: int,
        next_seq: int,
        paused: bool,
    ) -> None:
        """`timeout`: the longest that an attempt may take which says nothing of its own."""
        self.listening = listening
        self.token = given.token
        self.dropped: Callable[[Exception], None] = _raise
        """Told what makes it impossible to go on."""
        self.next_seq = next_seq
        self.canceled = False
        """By Temporal's own means."""
        self._given = given
        self._graph = graph
        self._inbox = inbox
        self._timeout = timeout
        self._first = next_seq
        """Place of the first event that may not be recorded."""
        self._unrecorded: list[list[Any]] = []
        self._anything_recorded = False
        self._latest = 0
        """Time of the latest event: workers have clocks of their own, and no time goes backwards in a run."""
        self._urgent = False
        self._jobs: dict[NodePath, asyncio.Task[Any]] = {}
        self._line: deque[StartNode] = deque()
        self._steps: list[StartNode] = []
        self._stopping: list[str] = []
        self._background: dict[int, asyncio.Task[None]] = {}
        self._numbers = 0
        self._timers: dict[TimerId, asyncio.Handle] = {}
        self._dues: dict[TimerId, int] = {}
        self._awaiting: dict[NodePath, str] = {}
        self._on_the_way: dict[NodePath, str] = {}
        self._rows: dict[int, str] = {}
        """Control rows that events were made of, by the identity of the events."""
        self.known: dict[str, None] = {}
        self._undone: dict[NodePath, None] = {}
        self._held: list[TimerId] | None = [] if paused else None
        """Timers that were due during a pause; None outside of one."""
        self._look = False
        self._looking = False
        self._indexes: dict[int, dict[NodeKey, Node]] = {}
        """Nodes of each graph in this one, by its identity."""
        self.holding = False
        """Start no further attempts: the history is to end soon."""

    # ---- record ------------------------------------------------------------------------------------------------------

    async def record(self, batch: Batch) -> None:
        for event in batch.events:
            self._latest = max(self._latest, event.at)
            written = self._write_event(event)
            if written is None:
                self._first += 1
            else:
                self._unrecorded.append(written)
        finish: Finish | None = None
        for command in batch.commands:
            if isinstance(command, SettleNode):
                self._urgent = True
                if command.status is not NodeStatus.WAITING:
                    self._awaiting.pop(command.path, None)
            elif isinstance(command, Finish):
                finish = command
        self.next_seq = batch.seq + len(batch.events)
        if finish is not None:
            await self.complete(finish)
        elif len(self._unrecorded) > _MOST_UNRECORDED:
            await self.record_now()

    def _write_event(self, event: Event) -> list[Any] | None:
        match event:
            case ExecutionStarted():
                return None
            case NodeFailed() if event.path in self._undone:
                del self._undone[event.path]
                return [UNDONE, event.at, event.path, event.error_class.value, event.canceled]
            case NodeCompleted() | NodeFailed():
                return [ANSWERED, event.path]
            case TimerFired():
                return [FIRED, event.at, event.timer]
            case SignalReceived():
                self._urgent = True
                row = self._on_the_way.pop(event.path, "")
                if event.path in self.listening.ignored:
                    self.listening.ignored.remove(event.path)
                    self.known.pop(row, None)
                    self._look = True
                return write_control(event, row)
            case CancelRequested() | PauseRequested() | ResumeRequested():
                self._urgent = True
                return write_control(event, self._rows.pop(id(event), ""))
            case _:
                assert_never(event)

    async def record_now(self) -> None:
        if self._unrecorded:
            taken, upto = self._taken()
            await do_local(RECORD, taken, NoneType)
            self._recorded(upto)

    async def complete(self, finish: Finish) -> None:
        given = CompleteInput(
            self._taken()[0],
            finish.status.value,
            finish.cause,
            finish.error_class and finish.error_class.value,
            finish.message,
            close_as_canceled=finish.status is ExecutionStatus.CANCELED and not self.canceled,
        )
        await do_local(COMPLETE, given, NoneType, retry=_END_TRIES)

    def _taken(self) -> tuple[Taken, int]:
        given = self._given
        taken = Taken(given.execution_id, given.run, self.token, self._first, list(self._unrecorded))
        if not self._anything_recorded:
            taken.frozen = given.frozen
        self._urgent = False
        return taken, self._first + len(self._unrecorded)

    def _recorded(self, upto: int) -> None:
        """Everything before this place is."""
        self._anything_recorded = True
        count = upto - self._first
        if count > 0:
            del self._unrecorded[:count]
            self._first = upto

    def now(self) -> int:
        return max(now(), self._latest)

    # ---- perform -----------------------------------------------------------------------------------------------------

    def perform(self, command: Command) -> None:
        match command:
            case StartNode():
                if command.step is Step.RUN and not self._node(command.path).pure:
                    self._line.append(command)
                else:
                    self._steps.append(command)
            case SettleNode() | Finish():
                pass  # recorded, and that is all
            case CancelNode():
                self._cancel(command.path)
            case StartTimer():
                self._dues[command.timer] = command.due
                self._set_timer(command.timer)
            case StopTimer():
                self._dues.pop(command.timer, None)
                timer = self._timers.pop(command.timer, None)
                if timer is not None:
                    timer.cancel()
            case AwaitSignal():
                self._awaiting[command.path] = "signal"
                self._look = True
            case _:
                assert_never(command)

    def begin_waiting(self) -> None:
        """Nothing is in the inbox: start what was asked for meanwhile, all of it together."""
        carried = False
        while self._steps:
            steps, self._steps = self._steps[:_MOST_STEPS], self._steps[_MOST_STEPS:]
            self._go(self._do_steps(steps))
            carried = True
        while self._line and len(self._jobs) < MOST_IN_FLIGHT and not self.holding:
            self._start(self._line.popleft())
            carried = True
        if self._stopping:
            paths, self._stopping = self._stopping, []
            self._go(self._stop(paths))
        if self._look and not self._looking:
            self._look, self._looking = False, True
            self._go(self._look_for_controls())
            carried = True
        if self._urgent and not carried:
            self._go(self.record_now())

    @property
    def busy(self) -> bool:
        """Something is under way, and answers will come."""
        return bool(self._jobs or self._background or self._steps)

    @property
    def waiting_in_line(self) -> bool:
        return bool(self._line)

    def _start(self, command: StartNode) -> None:
        taken, upto = self._taken()
        given = AttemptInput(taken, command.path, command.attempt, command.timeout, command.limit)
        allowed = self._timeout if command.timeout is None else command.timeout
        job = self._jobs[command.path] = workflow.start_activity(
            ATTEMPT,
            given,
            activity_id=_activity_id(command),
            result_type=dict,
            start_to_close_timeout=timedelta(milliseconds=allowed) + MARGIN,
            heartbeat_timeout=HEARTBEAT,
            retry_policy=_AGAIN,
            cancellation_type=workflow.ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
        )
        job.add_done_callback(lambda ended: self._attempt_ended(command.path, upto, ended))

    def _attempt_ended(self, path: NodePath, upto: int, job: "asyncio.Task[Any]") -> None:
        del self._jobs[path]
        error = asyncio.CancelledError() if job.cancelled() else job.exception()
        if error is None:
            self._recorded(upto)
            self._inbox.post(answer_from_json(path, job.result()))
            return
        if is_cancelled_exception(error):
            self._post_undone(path, ErrorClass.EXECUTION_ERROR, canceled=True)
            return
        cause = error.cause if isinstance(error, ActivityError) else error
        if isinstance(cause, ApplicationError):
            if cause.type == LOST_RUN:
                self.dropped(LostRunError(*cause.details))
                return
            if cause.details and cause.type in ErrorClass.__members__:
                self._recorded(upto)
                self._inbox.post(answer_from_json(path, cause.details[0]))
                return
        self._post_undone(path, ErrorClass.WORKER_LOST, canceled=False)

    def _post_undone(self, path: NodePath, error_class: ErrorClass, *, canceled: bool) -> None:
        """It has an answer that no activity has recorded."""
        self._undone[path] = None
        self._inbox.post(NodeFailed(path, self.now(), error_class, canceled=canceled))

    async def _do_steps(self, steps: Sequence[StartNode]) -> None:
        taken, upto = self._taken()
        given = StepsInput(taken, [write_command(each)[1:] for each in steps])
        answers = await do_local(STEPS, given, list)
        self._recorded(upto)
        for path, answer in answers:
            self._inbox.post(answer_from_json(NodePath(path), answer))

    def _cancel(self, path: NodePath) -> None:
        job = self._jobs.get(path)
        if job is not None:
            job.cancel()
            self._stopping.append(path)
            return
        for waiting in (self._line, self._steps):
            for command in waiting:
                if command.path == path:
                    waiting.remove(command)
                    self._post_undone(path, ErrorClass.EXECUTION_ERROR, canceled=True)
                    return

    async def _stop(self, paths: list[str]) -> None:
        await do_local(STOP, StopInput(self._given.execution_id, self._given.run, paths), NoneType)

    def _node(self, path: NodePath) -> Node:
        graph, node = self._graph, None
        for part in path.split("."):
            key = NodeKey(part.partition("[")[0])
            node = self._index(graph)[key]
            if node.body is not None:
                graph = node.body
        assert node is not None  # noqa: S101 - a path has at least one part
        return node

    def _index(self, graph: Graph) -> dict[NodeKey, Node]:
        known = self._indexes.get(id(graph))
        if known is None:
            known = self._indexes[id(graph)] = {node.key: node for node in graph.nodes}
        return known

    # ---- timers ------------------------------------------------------------------------------------------------------

    def _set_timer(self, timer: TimerId) -> None:
        loop = asyncio.get_running_loop()
        delay = self._dues[timer] - now()
        if delay > 0:
            self._timers[timer] = loop.call_later(delay / 1_000, self._fire, timer)
        else:
            self._timers[timer] = loop.call_soon(self._fire, timer)

    def _fire(self, timer: TimerId) -> None:
        self._timers.pop(timer, None)
        due = self._dues.pop(timer)
        if self._held is not None and timer != DEADLINE:
            self._held.append(timer)
        else:
            self._inbox.post(TimerFired(timer, max(due, self.now())))

    def stop_timers(self) -> None:
        """The run rests: whoever admits it again knows the time."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()

    def go_on(self, token: int) -> None:
        """The run was admitted again."""
        self.token = token
        for timer in self._dues:
            self._set_timer(timer)
        self._look = True

    # ---- from outside ------------------------------------------------------------------------------------------------

    def look(self) -> None:
        """There is something to be read, perhaps."""
        self._look = True

    async def _look_for_controls(self) -> None:
        taken, upto = self._taken()
        awaiting = [path for path in self._awaiting if path not in self._on_the_way]
        try:
            looked = await do_local(LOOK, LookInput(taken, list(awaiting), list(self.known)), Looked)
        finally:
            self._looking = False
        self._recorded(upto)
        self.take_controls(looked.events)

    def take_controls(self, events: Sequence[list[Any]]) -> None:
        """What was asked of the run; each row is taken once."""
        for data in events:
            row = data[2]
            if row in self.known:
                continue
            if row:
                self.known[row] = None
            event = read_event(data)
            if isinstance(event, SignalReceived):
                if event.path in self._on_the_way:
                    self.known.pop(row, None)
                    self._look = True
                    continue
                self._on_the_way[event.path] = row
            else:
                self._rows[id(event)] = row
            self._post_control(event)

    def _post_control(self, event: Event) -> None:
        if isinstance(event, PauseRequested):
            self._held = self._held or []
        elif isinstance(event, ResumeRequested) and self._held is not None:
            held, self._held = self._held, None
            self._inbox.post(event)
            for timer in held:
                self._inbox.post(TimerFired(timer, self.now()))
            return
        self._inbox.post(event)

    # ---- rest --------------------------------------------------------------------------------------------------------

    @property
    def awaiting(self) -> Sequence[NodePath]:
        return list(self._awaiting)

    def rest(self) -> Rest | None:
        """Whether the run can give back its slot: call it when the inbox is empty."""
        if self.busy or self._line or self._look:
            return None
        return find_rest(self._dues, self._awaiting, now(), paused=self._held is not None)

    # ---- activities --------------------------------------------------------------------------------------------------

    def _go(self, work: Coroutine[Any, Any, None]) -> None:
        self._numbers += 1
        number = self._numbers

        def over(task: "asyncio.Task[None]") -> None:
            del self._background[number]
            self._inbox.nudge()
            if not task.cancelled() and (error := task.exception()) is not None:
                self.dropped(error if isinstance(error, Exception) else LostRunError())

        task = self._background[number] = asyncio.get_running_loop().create_task(work)
        task.add_done_callback(over)

    async def park(self, rest: Rest) -> Sequence[list[Any]] | None:
        """Give back the slot; answers what was asked of the run, if it does not rest for that."""
        taken, upto = self._taken()
        given = ParkInput(
            taken, rest.status.value, rest.kind, rest.due, list(self._awaiting), list(self.known)
        )
        parked = await do_local(PARK, given, Parked)
        self._recorded(upto)
        self.token = max(self.token, parked.token)
        return None if parked.parked else parked.events

    def close(self) -> None:
        """Leave nothing behind: no timer, no attempt."""
        self.stop_timers()
        for job in list(self._jobs.values()):
            job.cancel()


async def do_local(name: str, given: object, result: type[ResultT], retry: RetryPolicy = _AGAIN) -> ResultT:
    """Raises LostRunError."""
    try:
        found: ResultT = await workflow.execute_local_activity(
            name, given, result_type=result, start_to_close_timeout=_LOCAL, retry_policy=retry
        )
    except ActivityError as error:
        cause = error.cause
        if isinstance(cause, ApplicationError) and cause.type == LOST_RUN:
            raise LostRunError(*cause.details) from error
        raise
    else:
        return found


def _activity_id(command: StartNode) -> str:
    """Histories are compared by it: another node at the same place is another decision."""
    return f"{command.path}#{command.attempt}"[-_LONGEST_ID:]


def now() -> int:
    """Milliseconds since the epoch, by the workflow's clock."""
    return workflow.time_ns() // 1_000_000


def _raise(error: Exception) -> None:
    raise error
