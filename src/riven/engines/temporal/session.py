"""One run as a worker knows it: its values, and a coordinator that follows the workflow's, decision for decision.

The workflow decides; it holds no values and writes no rows. Each of its activities comes with the events that it has
taken in and that may not be recorded yet. The session hears them, in the workflow's order: so it knows what they mean in
values, and records it together with what the activity itself has done. A worker that has missed events, because others
did what came between, reads them from the journal.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any
from uuid import UUID

from riven.core.coordinator import Coordinator
from riven.core.errors import ErrorClass, RivenError
from riven.core.graph import RetryPolicy
from riven.core.ids import ExecutionId, NodePath
from riven.core.messages import (
    Event,
    ExecutionStarted,
    Finish,
    NodeFailed,
    SignalReceived,
    StartNode,
    Step,
)
from riven.documents.input import check_input
from riven.driver.kept import Keeping
from riven.driver.loop import Decider
from riven.effects.context import RunContext, Timers
from riven.effects.execute import execute_step
from riven.effects.history import Control, History, RunFacts
from riven.effects.program import ScopeProgram
from riven.effects.recorder import Entry, ExecutionEnded, NodeSettled, StepEnded
from riven.effects.settle import execution_ended
from riven.engines.following import Following
from riven.engines.keeping import KeptValues, kept_of
from riven.engines.port import MANUAL
from riven.engines.preparing import Prepared
from riven.engines.runlog import log_end, log_nodes
from riven.engines.temporal.ports import SharedJournal, SharedStore
from riven.nodes.contract import Clock
from riven.wire.document import Json
from riven.wire.events import ANSWERED, CANCEL, PAUSE, RESUME, read_event
from riven.wire.kept import Kept
from riven.wire.temporal import Taken
from riven.wire.times import to_rfc3339


class UnrecordedAnswerError(RivenError):
    """The workflow has taken in an answer that nobody has recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What the runs of a worker share."""

    store: SharedStore
    services: Mapping[type[Any], Any]
    clock: Clock
    timers: Timers
    node_timeout: int
    dice: Random = field(default_factory=Random)


class Session:
    def __init__(
        self,
        tools: Tools,
        facts: RunFacts,
        prepared: Prepared,
        history: History,
        secrets: Mapping[str, str],
        frozen: Json,
    ) -> None:
        self.facts = facts
        self.prepared = prepared
        self.token = facts.token
        self._tools = tools
        self._secrets = secrets
        self._sources: dict[int, UUID] = {}
        self._journal = self._new_journal(history, frozen)
        self.started = ExecutionStarted(facts.run_started_at, RetryPolicy(**frozen["retry"]))
        self._performed: list[StepEnded] = []
        self._entries: list[Entry] = []
        self._handed_in = 0
        self._written = 0
        self._writing = asyncio.Lock()
        self._taking = asyncio.Lock()
        self.controls: dict[UUID, Control] = {}
        """Rows that were read, for their payloads."""
        self._load(history)

    def _load(self, history: History) -> None:
        """Be where the journal is."""
        self.context = self._new_context(history, self._secrets)
        self.coordinator = Coordinator(self.prepared.graph, self.prepared.planned)
        self.keeping: Keeping | None = None
        self.kept: Kept | None = None
        decider: Decider = self.coordinator
        if history.earlier is not None:
            self.kept = kept_of(history.earlier)
            decider = self.keeping = Keeping(
                self.coordinator, KeptValues(self.context, history.earlier), self.kept
            )
        self.following = Following(self.context, decider)
        self.following.start(self.started)
        for entry in history.taken:
            self.following.take(entry.event, entry.ended, entry.message)
        self.fresh = not history.taken
        last = history.taken[-1].seq if history.taken else 0
        self.next_seq = max(last + 1, self.facts.base_seq + 2)  # the start itself has the first place
        self._answers: dict[tuple[NodePath, Step, int], StepEnded] = {}
        """Recorded, or about to be, and not taken in."""
        for ended in history.loose:
            self._found(ended)
        self._log: list[tuple[list[Any], StepEnded | None]] = []
        """What was taken in and may still come otherwise: a task of the workflow that is lost is done again, and may
        hear of more before it hears of the same."""
        self._log_first = self.next_seq
        self.broken = False
        """What the workflow has decided cannot be followed: the run is to end by an internal error."""

    # ---- where the workflow is ---------------------------------------------------------------------------------------

    async def take(self, taken: Taken) -> None:
        """Bring the session to where the workflow is; what is new of that is recorded with the next write."""
        if taken.token > self.token:
            self.admit(taken.token)
        if taken.seq + len(taken.events) <= self.next_seq and self._agrees(taken):
            self._trim(taken.seq)
            return
        async with self._taking:
            if not self._agrees(taken):
                await self._load_before(taken.seq)
            if taken.seq > self.next_seq:
                await self.catch_up(taken.seq)
            for seq, data in enumerate(taken.events, taken.seq):
                if seq >= self.next_seq:
                    await self._take(seq, data)
            self._trim(taken.seq)

    def _agrees(self, taken: Taken) -> bool:
        """Whether the workflow has taken in what is taken in here, in the same order."""
        for place, data in enumerate(taken.events, taken.seq - self._log_first):
            if 0 <= place < len(self._log) and self._log[place][0] != data:
                return False
        return True

    def _trim(self, seq: int) -> None:
        """What stands before this place will not come otherwise."""
        count = min(seq - self._log_first, len(self._log))
        if count > 0:
            del self._log[:count]
            self._log_first += count

    async def _load_before(self, seq: int) -> None:
        """Begin anew from what the journal holds before this place; its later places are not those of the workflow."""
        facts = self.facts
        history = await self._tools.store.history(facts.execution_id, facts.run, facts.base_seq)
        self._entries = []
        self._load(before(history, seq))
        for ended in self._performed:
            self._answers[_key(ended)] = ended

    async def catch_up(self, seq: int) -> None:
        """Hear of what other workers have recorded: what stands before this place is taken in, what else is there is known."""
        since = await self._tools.store.since(self.facts.execution_id, self.facts.run, self.next_seq - 1)
        for path, attempt in since.attempts.items():
            self._journal.known(path, attempt)
        loose = list(since.loose)
        for entry in since.taken:
            if entry.seq < seq:
                if entry.ended is not None:
                    self._answers.pop(_key(entry.ended), None)
                self._follow(entry.event, entry.ended, entry.message)
            elif entry.ended is not None:
                loose.append(entry.ended)
        if seq > self.next_seq:
            self._log, self._log_first = [], seq
            self.next_seq = seq
        for ended in loose:
            if self._known(_key(ended)) is None:
                self._found(ended)

    async def _take(self, seq: int, data: list[Any]) -> None:
        ended: StepEnded | None = None
        message: Json = None
        if data[0] == ANSWERED:
            ended = await self._answer_of(NodePath(data[1]))
            event: Event = ended.answer
        else:
            event = read_event(data)
            if isinstance(event, NodeFailed):
                ended = self._undone(event)
            elif data[0] in (CANCEL, PAUSE, RESUME):
                self._source(event, data[2])
            elif isinstance(event, SignalReceived):
                message = (await self._control(UUID(data[2]))).payload
        settled = self._follow(event, ended, message)
        if isinstance(event, SignalReceived):
            if self.following.commands:
                self._source(event, data[2])
            else:  # its node has ended, and it is for the next one
                self.context.values.messages.pop(event.path, None)
        self._log.append((data, ended))
        self._entries.append(Entry(seq, (event,), () if ended is None else (ended,), settled))
        self._handed_in += 1
        self.next_seq = seq + 1

    def _follow(self, event: Event, ended: StepEnded | None, message: Json) -> list[NodeSettled]:
        if self.broken:
            return []
        try:
            settled = self.following.take(event, ended, message)
        except Exception:  # noqa: BLE001 - the workflow's coordinator has met it too, and ends the run by it
            self.broken = True
            return []
        log_nodes(self.context.execution_id, self.following.commands, settled)
        return settled

    async def _answer_of(self, path: NodePath) -> StepEnded:
        asked = self.following.starts.get(path)
        if asked is None:
            self.broken = True
            raise UnrecordedAnswerError(f"nothing was asked of {path!r}")
        key = (path, asked.step, self._number(asked))
        if key not in self._answers and path:
            await self.catch_up(self.next_seq)
        if key not in self._answers:
            if asked.step is Step.RUN:
                raise UnrecordedAnswerError(f"the answer of {path!r} is not recorded")
            # The output of the execution is recorded with its end; it was built in a worker that is gone.
            self._answers[key] = execute_step(self.context, asked)
        return self._answers.pop(key)

    def _undone(self, answer: NodeFailed) -> StepEnded:
        asked = self.following.starts.get(answer.path)
        step, attempt = (Step.RUN, 1) if asked is None else (asked.step, asked.attempt)
        error = None
        if not answer.canceled:
            text = "it was lost with its workers again and again"
            error = {"type": answer.error_class.value, "message": text}
        return StepEnded(answer, step, self.context.number(answer.path, attempt), error=error)

    async def _control(self, row: UUID) -> Control:
        known = self.controls.pop(row, None)
        if known is None:
            known = (await self._tools.store.controls([row]))[row]
        return known

    def _source(self, event: Event, row: str) -> None:
        if row:
            self._sources[id(event)] = UUID(row)

    def _found(self, ended: StepEnded) -> None:
        self._answers[_key(ended)] = ended
        self._journal.placeless(ended)

    def admit(self, token: int) -> None:
        self.token = token
        self._journal.admitted(token)

    # ---- what is done here -------------------------------------------------------------------------------------------

    def answer(self, asked: StartNode) -> StepEnded | None:
        """What was recorded of this step before."""
        return self._known((asked.path, asked.step, self._number(asked)))

    def _known(self, key: tuple[NodePath, Step, int]) -> StepEnded | None:
        found = self._answers.get(key)
        if found is None:
            taken_in = (ended for _, ended in self._log if ended is not None and _key(ended) == key)
            found = next(taken_in, None)
        return found

    def performed(self, ended: StepEnded) -> None:
        """It is recorded with the next write, and others see it when the workflow has taken it in."""
        self._answers[_key(ended)] = ended
        self._performed.append(ended)
        self._handed_in += 1

    def lost(self, asked: StartNode) -> StepEnded:
        """It was begun again and again, and each time its worker was gone."""
        answer = NodeFailed(asked.path, self._tools.clock.now(), ErrorClass.WORKER_LOST)
        error = {"type": answer.error_class.value, "message": "every worker that did it was lost"}
        return StepEnded(answer, asked.step, self._number(asked), error=error)

    @property
    def longest_timeout(self) -> int:
        """Milliseconds for an attempt that says nothing of its own."""
        return max(self._tools.node_timeout, _longest(self.prepared.program.root))

    # ---- what waits --------------------------------------------------------------------------------------------------

    def signal_names(self, paths: Sequence[str]) -> dict[NodePath, str]:
        """Of the nodes that wait for a signal, in their order."""
        begun = self.context.values.begun
        return {
            NodePath(path): name
            for path in paths
            if NodePath(path) in begun and (name := begun[NodePath(path)].waiting.signal) is not None
        }

    def waiting_approvals(self, paths: Sequence[str]) -> frozenset[NodePath]:
        begun = self.context.values.begun
        return frozenset(
            NodePath(path)
            for path in paths
            if NodePath(path) in begun and begun[NodePath(path)].waiting.signal is None
        )

    def kind_of_waiting(self, paths: Sequence[str]) -> str:
        return "approval" if self.waiting_approvals(paths) else "signal"

    def _number(self, asked: StartNode) -> int:
        return self.context.number(asked.path, asked.attempt)

    # ---- the journal -------------------------------------------------------------------------------------------------

    async def write(self) -> None:
        """Everything that was handed in before is durable when this returns. Who comes together writes together.

        Raises:
            LostRunError: the run is not this workflow's any more.
        """
        mine = self._handed_in
        async with self._writing:
            if self._written >= mine:
                return
            performed, self._performed = self._performed, []
            entries, self._entries = self._entries, []
            upto = self._handed_in
            try:
                await self._journal.write_together(performed, entries)
            except BaseException:
                self._performed, self._entries = performed + self._performed, entries + self._entries
                raise
            self._written = upto

    async def end(self, finish: Finish, at: int) -> ExecutionEnded:
        """Record the end, with everything before it. Raises LostRunError, UnrecordedEndError."""
        end = execution_ended(self.context, finish, at)
        async with self._writing:
            performed, self._performed = self._performed, []
            entries = [*self._entries, Entry(self.next_seq, (), (), (), end)]
            self._entries = []
            await self._journal.write_together(performed, entries)
            self._written = self._handed_in
        log_end(self.context.execution_id, end)
        return end

    async def close(self) -> None:
        await self._journal.close()

    # ---- parts -------------------------------------------------------------------------------------------------------

    def _new_journal(self, history: History, frozen: Json) -> SharedJournal:
        facts = self.facts

        def about(path: NodePath) -> tuple[str, str]:
            frame, node = self.context.locate(path)
            return node.type.type, frame.place + node.place

        return self._tools.store.shared_journal(
            facts.execution_id,
            facts.run,
            facts.token,
            frozen=None if facts.frozen else frozen,
            timeout_ms=self.prepared.graph.timeout,
            about=about,
            attempts=dict(history.attempts),
            sources=self._sources,
            lost=_nothing,
        )

    def _new_context(self, history: History, secrets: Mapping[str, str]) -> RunContext:
        facts, tools = self.facts, self._tools
        execution = {
            "id": str(facts.execution_id),
            "startedAt": to_rfc3339(facts.started_at),
            "workflow": facts.workflow,
            "version": facts.version,
        }
        workspace = {"id": str(facts.workspace_id), "name": facts.workspace_name}
        return RunContext(
            execution_id=ExecutionId(str(facts.execution_id)),
            program=self.prepared.program,
            facts={"execution": execution, "workspace": workspace, "trigger": facts.trigger or MANUAL},
            input=facts.input,
            secrets=secrets,
            services=tools.services,
            clock=tools.clock,
            timers=tools.timers,
            dice=tools.dice,
            recorder=self._journal,
            check_input=check_input,
            node_timeout=tools.node_timeout,
            earlier=history.earlier,
        )


def before(history: History, seq: int) -> History:
    """What stands before this place of the journal; the answers that come later are known, and not taken in."""
    taken = [each for each in history.taken if each.seq < seq]
    later = [each.ended for each in history.taken if each.seq >= seq and each.ended is not None]
    return replace(history, taken=taken, loose=[*history.loose, *later])


def _longest(scope: ScopeProgram) -> int:
    """The longest timeout, in milliseconds, that a type of node in it has by itself."""
    longest = 0
    for node in scope.nodes.values():
        longest = max(longest, round((node.type.default_timeout or 0) * 1_000))
        if node.body is not None:
            longest = max(longest, _longest(node.body))
    return longest


def _key(ended: StepEnded) -> tuple[NodePath, Step, int]:
    return ended.answer.path, ended.step, ended.attempt


def _nothing() -> None:
    """What is lost shows when an answer is written."""
