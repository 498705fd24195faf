"""Makes the commands of one run real, inside this process.

Attempts run in lanes that all runs of the process share; every other step is done on the spot, as it only evaluates.
What a step leaves is kept beside its answer until the driver records the answer, and is seen by others from then on.
"""

import asyncio
from typing import assert_never
from uuid import UUID

from riven.core.coordinator import DEADLINE
from riven.core.errors import ErrorClass
from riven.core.ids import NodePath, TimerId
from riven.core.messages import (
    AwaitSignal,
    CancelNode,
    Command,
    Event,
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
from riven.driver.performer import Batch
from riven.driver.rest import Rest, find_rest
from riven.effects.context import RunContext, Timer
from riven.effects.execute import execute_step
from riven.effects.recorder import Entry, ExecutionEnded, StepEnded
from riven.effects.settle import execution_ended, keep_answer, settle
from riven.engines.embedded.lanes import Lanes
from riven.engines.embedded.mailbox import Mailbox, Message
from riven.engines.embedded.ports import Journal
from riven.engines.job import AttemptJob
from riven.engines.runlog import log_end, log_nodes

RECEIVED = "received"
"""The outcome of a signal that got its message."""

_TURNS = 100
"""Batches after which others have the event loop, also if neither the journal nor any node made the run wait."""


class EmbeddedPerformer:
    def __init__(
        self,
        run: RunContext,
        inbox: Inbox,
        lanes: Lanes,
        journal: Journal,
        sources: dict[int, UUID] | None = None,
    ) -> None:
        self._run = run
        self._inbox = inbox
        self._lanes = lanes
        self._journal = journal
        self._jobs: dict[NodePath, AttemptJob] = {}
        self._answers: dict[NodePath, StepEnded] = {}
        self._timers: dict[TimerId, Timer] = {}
        self._dues: dict[TimerId, int] = {}
        self._awaiting: dict[NodePath, str] = {}
        """Nodes that wait for a message: `signal` or `approval`."""
        self.next_seq = 1
        self._held: list[TimerId] | None = None
        """Timers that were due during a pause; None outside of one."""
        self._mailbox = Mailbox()
        self._turns = 0
        self._on_the_way: dict[NodePath, tuple[Message, Event]] = {}
        """Messages that were posted to a node and are not taken in yet."""
        self._sources = sources if sources is not None else {}
        """Rows that control events were made of, by the identity of the events, for a journal that marks them read."""
        self._idle: asyncio.Future[None] | None = None

    # ---- record ------------------------------------------------------------------------------------------------------

    async def record(self, batch: Batch) -> None:
        run = self._run
        ended = [self._answer_of(e) for e in batch.events if isinstance(e, (NodeCompleted, NodeFailed))]
        for answer in ended:
            keep_answer(run, answer)
        at = batch.events[-1].at if batch.events else run.clock.now()
        settled = []
        end: ExecutionEnded | None = None
        for command in batch.commands:
            if isinstance(command, SettleNode):
                self._take_back_message(command)
                settled.append(settle(run, command, at))
            elif isinstance(command, Finish):
                end = execution_ended(run, command, at)
        self.next_seq = batch.seq + len(batch.events)
        await self._journal.write(Entry(batch.seq, batch.events, ended, settled, end))
        log_nodes(run.execution_id, batch.commands, settled)
        if end is not None:
            log_end(run.execution_id, end)
        self._turns += 1
        if self._turns % _TURNS == 0:
            await asyncio.sleep(0)

    def _answer_of(self, event: NodeCompleted | NodeFailed) -> StepEnded:
        found = self._answers.pop(event.path, None)
        if found is not None:
            return found
        # The driver answered in our place, because `perform` itself broke.
        error = {"type": ErrorClass.EXECUTION_ERROR.value, "message": "the node could not be started"}
        return StepEnded(event, Step.RUN, self._run.number(event.path, 1), error=error)

    # ---- perform -----------------------------------------------------------------------------------------------------

    def perform(self, command: Command) -> None:
        match command:
            case StartNode():
                if command.step is Step.RUN:
                    job = self._jobs[command.path] = AttemptJob(
                        self._run, command, self._job_ended, self._lanes.abandon
                    )
                    self._lanes.submit(job)
                else:
                    self._answer(execute_step(self._run, command))
            case SettleNode() | Finish():
                pass  # recorded, and that is all
            case CancelNode():
                running = self._jobs.get(command.path)
                if running is not None:
                    running.cancel()
            case StartTimer():
                self._start_timer(command)
            case StopTimer():
                timer = self._timers.pop(command.timer, None)
                self._dues.pop(command.timer, None)
                if timer is not None:
                    timer.cancel()
            case AwaitSignal():
                self._await_signal(command.path)
            case _:
                assert_never(command)

    def _answer(self, ended: StepEnded) -> None:
        self._answers[ended.answer.path] = ended
        self._inbox.post(ended.answer)

    def _start_timer(self, command: StartTimer) -> None:
        def fire() -> None:
            self._timers.pop(command.timer, None)
            self._dues.pop(command.timer, None)
            if self._held is not None and command.timer != DEADLINE:
                self._held.append(command.timer)
            else:
                self._inbox.post(TimerFired(command.timer, self._run.clock.now()))

        self._dues[command.timer] = command.due
        self._timers[command.timer] = self._run.timers.at(command.due, fire)

    def _await_signal(self, path: NodePath) -> None:
        begun = self._run.values.begun[path]
        self._awaiting[path] = "approval" if begun.waiting.signal is None else "signal"
        if begun.waiting.signal is None:
            return  # an approval: it is addressed by its path
        kept = self._mailbox.wait(begun.waiting.signal, path)
        if kept is not None:
            self._deliver(path, kept, RECEIVED)

    # ---- from outside ------------------------------------------------------------------------------------------------

    def post(self, event: Event, source: UUID | None = None) -> None:
        """A cancel, a pause, a resume."""
        if source is not None:
            self._sources[id(event)] = source
        if isinstance(event, PauseRequested):
            self._held = self._held or []
        elif isinstance(event, ResumeRequested) and self._held is not None:
            held, self._held = self._held, None
            self._inbox.post(event)
            for timer in held:
                self._inbox.post(TimerFired(timer, self._run.clock.now()))
            return
        self._inbox.post(event)

    def signal(self, name: str, message: Message) -> None:
        path = self._mailbox.send(name, message)
        if path is not None:
            self._deliver(path, message, RECEIVED)

    def decide(self, path: NodePath, message: Message, outcome: str) -> None:
        """Somebody decided an approval that waits."""
        self._deliver(path, message, outcome)

    def _deliver(self, path: NodePath, message: Message, outcome: str) -> None:
        self._run.values.messages[path] = message.payload
        # A message may be older than the wait for it, and another machine's clock gave it its time: nothing ends before
        # it began.
        event = SignalReceived(path, outcome, self._run.clock.now())
        self._on_the_way[path] = (message, event)
        if message.source is not None:
            self._sources[id(event)] = message.source
        self._inbox.post(event)

    def _take_back_message(self, command: SettleNode) -> None:
        """A waiting node ends. If not by the signal that is on its way to it, that signal is for the next one."""
        if command.status is NodeStatus.WAITING:
            return
        self._awaiting.pop(command.path, None)
        message, event = self._on_the_way.pop(command.path, (None, None))
        values = self._run.values
        begun = values.begun.get(command.path)
        name = begun.waiting.signal if begun is not None else None
        if name is None:
            return
        self._mailbox.leave(name, command.path)
        if command.outcome != RECEIVED and message is not None:
            values.messages.pop(command.path, None)
            self._sources.pop(id(event), None)
            self._mailbox.give_back(name, message)

    def pause(self) -> None:
        """The run was paused before it was taken up again."""
        self._held = self._held or []

    async def finish(self, finish: Finish) -> None:
        """The journal holds everything but the end."""
        end = execution_ended(self._run, finish, self._run.clock.now())
        await self._journal.write(Entry(self.next_seq, (), (), (), end))

    # ---- rest --------------------------------------------------------------------------------------------------------

    def rest(self) -> Rest | None:
        """Whether the run can give back its slot, nothing being under way: call it when the inbox is empty."""
        if self._jobs or self._answers:
            return None
        now = self._run.clock.now()
        return find_rest(self._dues, self._awaiting, now, paused=self._held is not None)

    # ---- the end -----------------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Leave nothing behind: no timer, no attempt but those that refuse to end. Twice is safe."""
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        for job in list(self._jobs.values()):
            job.cancel()
        if self._jobs:
            self._idle = asyncio.get_running_loop().create_future()
            await self._idle

    def _job_ended(self, path: NodePath, ended: StepEnded | None) -> None:
        """`ended` is None when its lane was ended from outside, with everything else."""
        self._jobs.pop(path, None)
        if ended is not None:
            self._answer(ended)
        if not self._jobs and self._idle is not None and not self._idle.done():
            self._idle.set_result(None)
