"""The journal of one run on PostgreSQL: turns what the driver records into rows, and hands them to the recorder.

A started attempt costs nothing if it ends soon: its row goes out with its outcome. Only one that lasts is told of
before, so that people see it. A batch without outcomes is not waited for: claim and snapshot are durable already.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

import orjson

from riven.completion.recorder import Recorder, RunWrite
from riven.core.graph import SKIPPED
from riven.core.ids import NodePath
from riven.core.messages import (
    Event,
    NodeCompleted,
    NodeFailed,
    NodeStatus,
    Step,
    TimerFired,
)
from riven.db.errors import StatementError
from riven.db.identity import new_id
from riven.effects.recorder import Entry, ExecutionEnded, LostRunError, NodeSettled, StepEnded
from riven.wire.answers import answer_to_json
from riven.wire.document import Json

LASTING = 0.100
"""Seconds after which a started attempt is told of."""
INLINE = 256 * 1024
"""Bytes of an output that stay in the node's row; larger ones have a row of their own."""

_TERMINAL = frozenset({NodeStatus.COMPLETED, NodeStatus.FAILED, NodeStatus.SKIPPED, NodeStatus.CANCELED})


@dataclass(frozen=True, slots=True)
class Begin:
    """What is written with the first flush of a process that drives a run."""

    frozen: Json
    """Retry defaults, start and rules version; None if an earlier admission has stored them."""
    timeout_ms: int | None
    progressed: Callable[[], None] | None = None
    """Of a run that its last owner died of, perhaps: called when an outcome of a node is recorded after all."""


class ExecutionJournal:
    def __init__(
        self,
        recorder: Recorder,
        execution_id: UUID,
        run: int,
        token: int,
        *,
        begin: Begin,
        about: Callable[[NodePath], tuple[str, str]],
        attempts: dict[NodePath, int] | None = None,
        revision: int = 0,
        sources: dict[int, UUID],
        lost: Callable[[], None],
        shared: bool = False,
        readmitted: Callable[[int], Awaitable[int | None]] | None = None,
    ) -> None:
        """The journal of one driver, or of one of the processes that drive a run together (`shared`).

        `about`: a node's type, and its place in document order. `attempts`: the last attempt of each path, of a run that
        is resumed. `revision`: of the latest change before. `sources`: control rows by the identity of the events that
        were made of them. `lost`: somebody else drives it now. `readmitted`: asked with the token by which a write was
        refused; the newer one of this very run, if it was admitted again meanwhile.
        """
        self._recorder = recorder
        self._key: dict[str, Any] = {"execution_id": execution_id, "run": run, "token": token}
        self._shared = shared
        self._readmitted = readmitted
        self._execution_id = execution_id
        self._begin: Begin | None = begin
        self._progressed = begin.progressed
        self._about = about
        self._attempts = attempts or {}
        self.revision = revision
        self._order = asyncio.Lock()
        """Writes of one run are committed in the order of their revisions: who has seen one has seen all before it."""
        self._lost = lost
        self._started: dict[NodePath, tuple[int, int, Json]] = {}
        self._told: set[NodePath] = set()
        self._alarm: asyncio.TimerHandle | None = None
        self._background: asyncio.Task[None] | None = None
        self._sources = sources
        self._placeless: set[tuple[NodePath, int, Step]] = set()
        """Answers that are written without their places in the journal."""

    def started(self, path: NodePath, attempt: int, at: int, input: Json) -> None:
        self._started[path] = (attempt, at, input)
        self._attempts[path] = attempt
        if self._alarm is None:
            self._alarm = asyncio.get_running_loop().call_later(LASTING, self._tell_of_lasting)

    def admitted(self, token: int) -> None:
        """The same run, admitted again: what is written from now on is written by this token."""
        self._key["token"] = token

    def known(self, path: NodePath, attempt: int) -> None:
        """Another process has told of this attempt."""
        self._attempts[path] = max(attempt, self._attempts.get(path, 0))

    async def write(self, entry: Entry) -> None:
        """Durable when this returns, as far as anything in it has to be."""
        await self._write(lambda: self._build([entry], ()))

    async def write_together(self, performed: Sequence[StepEnded], entries: Sequence[Entry]) -> None:
        """The same for many entries. `performed`: answers whose place in the journal is not known yet.

        When it is, they come again with an entry, and only their place is written.
        """
        await self._write(lambda: self._build(entries, performed))

    async def _write(self, build: Callable[[], RunWrite]) -> None:
        async with self._order:
            write = build()
            if write.nodes or write.scopes or write.timers or write.read or write.ends:
                if not self._started and self._alarm is not None:
                    self._alarm.cancel()
                    self._alarm = None
                await self._record(write)

    async def _record(self, write: RunWrite) -> None:
        try:
            await self._recorder.record(write)
        except LostRunError:
            token = None if self._readmitted is None else await self._readmitted(write.token)
            if token is None:
                raise
            self.admitted(token)
            again = asyncio.get_running_loop().create_future()
            await self._recorder.record(replace(write, token=token, done=again))

    async def close(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        self._started.clear()
        if self._background is not None:
            await asyncio.gather(self._background, return_exceptions=True)

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _build(self, entries: Sequence[Entry], performed: Sequence[StepEnded]) -> RunWrite:
        if self._shared:
            self.revision = 0
        rows = _Rows(self._execution_id)
        for ended in performed:
            self._answered(rows, None, ended)
            self._placeless.add((ended.answer.path, ended.attempt, ended.step))
        for entry in entries:
            self._enter(rows, entry)
        end = entries[-1].end if entries else None
        progress = self._progress(entries)
        move = None
        something = bool(rows.nodes or rows.scopes or rows.timers or rows.read)
        if end is not None:
            move = {**self._begun(), **progress, **_end(rows, end)}
        elif progress or (something and (self._shared or self._begin is not None)):
            move = {**self._begun(), **progress, "phase": "EXECUTING_NODES"}
        return self._run_write(rows, move)

    def _run_write(self, rows: "_Rows", move: dict[str, Any] | None) -> RunWrite:
        return RunWrite(
            **self._key,
            nodes=[self._revised(row) for row in rows.nodes.values()],
            move=move and {**self._revised(move), "shared": self._shared},
            scopes=list(rows.scopes.values()),
            timers=rows.timers,
            read=rows.read,
            blobs=rows.blobs,
        )

    def _enter(self, rows: "_Rows", entry: Entry) -> None:
        ended = iter(entry.ended)
        for seq, event in enumerate(entry.events, entry.seq):
            if isinstance(event, NodeCompleted | NodeFailed):
                self._answered(rows, seq, next(ended))
            elif isinstance(event, TimerFired):
                rows.timers.append(
                    {
                        "execution_id": self._execution_id,
                        "name": event.timer,
                        "payload": {"at": event.at},
                        "seq": seq,
                    }
                )
            else:
                self._heard(rows, seq, event)
        for settled in entry.settled:
            if not settled.path.endswith("]"):
                self._settled(rows, settled)

    def _progress(self, entries: Sequence[Entry]) -> dict[str, Any]:
        """The outcome of a node, or the end, shows that the run does not kill whoever drives it."""
        if self._progressed is None:
            return {}
        ended = [each for entry in entries for each in entry.ended]
        if all(entry.end is None for entry in entries) and all(each.step is Step.EXPAND for each in ended):
            return {}
        progressed, self._progressed = self._progressed, None
        progressed()
        return {"progress": True}

    def _revised(self, row: dict[str, Any]) -> dict[str, Any]:
        self.revision = row["revision"] = self.revision + 1
        return row

    def _begun(self) -> dict[str, Any]:
        begin, self._begin = self._begin, None
        return {} if begin is None else {"begun": begin.frozen, "timeout_ms": begin.timeout_ms}

    def _node(self, rows: "_Rows", path: NodePath, attempt: int) -> dict[str, Any]:
        key = (path, attempt)
        row = rows.nodes.get(key)
        if row is None:
            row = rows.nodes[key] = self._running(path, attempt)
        begun = self._started.get(path)
        if begun is not None and begun[0] == attempt:
            del self._started[path]
            self._told.discard(path)
            row["started_ms"], row["input"] = begun[1], begun[2]
        return row

    def _running(self, path: NodePath, attempt: int) -> dict[str, Any]:
        kind, place = self._about(path)
        return {
            "execution_id": self._execution_id,
            "path": path,
            "attempt": attempt,
            "type": kind,
            "place": place,
            "status": "RUNNING",
        }

    def _answered(self, rows: "_Rows", seq: int | None, ended: StepEnded) -> None:
        answer, path = ended.answer, ended.answer.path
        known = (path, ended.attempt, ended.step)
        if known in self._placeless:
            self._placeless.remove(known)
            self._place(rows, seq, ended)
            return
        match ended.step:
            case Step.CHECK:
                scope = rows.scope(path)
                scope["checked_seq"], scope["checked"] = seq, answer_to_json(answer)
            case Step.OUTPUT if path.endswith("]"):
                scope = rows.scope(path)
                scope["seq"], scope["answer"], scope["error"] = seq, answer_to_json(answer), ended.error
                rows.put_output(scope, ended.output)
            case Step.OUTPUT if not path:
                pass  # the execution ends with this very entry
            case Step.EXPAND:
                row = self._node(rows, path, ended.attempt)
                self._attempts[path] = ended.attempt
                row["expanded_seq"] = seq
                row["expanded"] = {"answer": answer_to_json(answer), "output": ended.output}
                self._put_error(row, ended)
            case _:
                row = self._node(rows, path, ended.attempt)
                self._attempts[path] = ended.attempt
                row["seq"], row["answer"] = seq, answer_to_json(answer)
                rows.put_output(row, ended.output)
                self._put_error(row, ended)
                if ended.step is Step.RUN:
                    row["finished_ms"] = answer.at
                    row["status"] = _status(answer)
                    if row["status"] == "COMPLETED" and isinstance(answer, NodeCompleted):
                        row["outcome"] = answer.outcome

    def _place(self, rows: "_Rows", seq: int | None, ended: StepEnded) -> None:
        """What was answered is written already."""
        path = ended.answer.path
        match ended.step:
            case Step.CHECK:
                rows.scope(path)["checked_seq"] = seq
            case Step.OUTPUT if path.endswith("]"):
                rows.scope(path)["seq"] = seq
            case Step.OUTPUT if not path:
                pass
            case Step.EXPAND:
                self._node(rows, path, ended.attempt)["expanded_seq"] = seq
            case _:
                row = self._node(rows, path, ended.attempt)
                row["seq"] = seq
                if ended.step is Step.RUN:
                    row["status"] = _status(ended.answer)

    def placeless(self, ended: StepEnded) -> None:
        """It was written by another process, or before: its place in the journal is still to come."""
        self._placeless.add((ended.answer.path, ended.attempt, ended.step))

    def _put_error(self, row: dict[str, Any], ended: StepEnded) -> None:
        if ended.error is not None:
            row["error_type"], row["error_message"] = ended.error["type"], _text(ended.error["message"])

    def _heard(self, rows: "_Rows", seq: int, event: Event) -> None:
        source = self._sources.pop(id(event), None)
        if source is not None:
            path = getattr(event, "path", None)
            rows.read.append({"id": source, "execution_id": self._execution_id, "seq": seq, "path": path})

    def _settled(self, rows: "_Rows", settled: NodeSettled) -> None:
        attempt = self._attempts.get(settled.path, 0)
        row = self._node(rows, settled.path, attempt)
        between_attempts = (
            row["status"] == "RUNNING" and settled.status is NodeStatus.CANCELED and attempt > 1
        )
        if settled.status is NodeStatus.RETRYING:
            row["next_retry_ms"] = settled.due
            return
        if settled.status is NodeStatus.WAITING:
            row["status"], row["due_ms"] = "WAITING", settled.due
            return
        if settled.status not in _TERMINAL:
            return
        if between_attempts or row["status"] != settled.status.value:
            row["settled"] = settled.status.value
        row["status"] = settled.status.value
        row["outcome"] = settled.outcome or row.get("outcome")
        row["skip_reason"] = settled.reason and settled.reason.value
        if attempt:
            row.setdefault("finished_ms", settled.at)
        if settled.output is not None and "output" not in row and "output_blob" not in row:
            rows.put_output(row, settled.output)
        if settled.error is not None:
            row["error_type"], row["error_message"] = settled.error["type"], _text(settled.error["message"])

    # ---- attempts that last ------------------------------------------------------------------------------------------

    def _tell_of_lasting(self) -> None:
        self._alarm = None
        if self._background is None and any(path not in self._told for path in self._started):
            self._background = asyncio.get_running_loop().create_task(self._tell(), name="riven-started")

    async def _tell(self) -> None:
        try:
            async with self._order:
                await self._record_lasting()
        except LostRunError:
            self._lost()
        except StatementError:
            pass  # its outcome will meet the same error, and say so
        finally:
            self._background = None
            if self._alarm is None and any(path not in self._told for path in self._started):
                self._alarm = asyncio.get_running_loop().call_later(LASTING, self._tell_of_lasting)

    async def _record_lasting(self) -> None:
        if self._shared:
            self.revision = 0
        rows = []
        for path, (attempt, at, input) in self._started.items():
            if path not in self._told:
                row = {**self._running(path, attempt), "started_ms": at, "input": input}
                rows.append(self._revised(row))
        if not rows:
            return
        self._told.update(row["path"] for row in rows)
        move = None
        if self._begin is not None or self._shared:
            move = {**self._revised({**self._begun(), "phase": "EXECUTING_NODES"}), "shared": self._shared}
        await self._record(RunWrite(**self._key, move=move, nodes=rows))


class _Rows:
    def __init__(self, execution_id: UUID) -> None:
        self._execution_id = execution_id
        self.nodes: dict[tuple[NodePath, int], dict[str, Any]] = {}
        self.scopes: dict[NodePath, dict[str, Any]] = {}
        self.timers: list[dict[str, Any]] = []
        self.read: list[dict[str, Any]] = []
        self.blobs: list[tuple[UUID, bytes]] = []

    def scope(self, path: NodePath) -> dict[str, Any]:
        return self.scopes.setdefault(path, {"execution_id": self._execution_id, "path": path})

    def put_output(self, row: dict[str, Any], output: Json) -> None:
        if output is None:
            return
        text = orjson.dumps(output)
        if len(text) <= INLINE:
            row["output"] = orjson.Fragment(text)
        else:
            row["output_blob"] = new_id()
            self.blobs.append((row["output_blob"], text))


def _end(rows: _Rows, end: ExecutionEnded) -> dict[str, Any]:
    move: dict[str, Any] = {"status": end.status.value, "phase": end.status.value}
    rows.put_output(move, end.output)
    if end.error is not None:
        move["error_node"], move["error_type"] = end.error["node"], end.error["type"]
        move["error_message"] = _text(end.error["message"])
    return move


def _status(answer: NodeCompleted | NodeFailed) -> str:
    """Of an action's attempt."""
    if isinstance(answer, NodeFailed):
        return "CANCELED" if answer.canceled else "FAILED"
    return "SKIPPED" if answer.outcome == SKIPPED else "COMPLETED"


def _text(message: str) -> str:
    """PostgreSQL holds no NUL in a text."""
    return message.replace("\x00", "\N{REPLACEMENT CHARACTER}")
