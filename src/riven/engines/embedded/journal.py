"""The journal of a run that lives and dies with this process: rows in memory, and a listener that sees every change."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from riven.core.graph import SKIPPED
from riven.core.ids import ROOT_PATH, NodePath
from riven.core.messages import ExecutionStatus, NodeCompleted, NodeStatus, SkipReason, Step
from riven.effects.recorder import Entry, ExecutionEnded, NodeSettled, StepEnded
from riven.effects.values import RunValues
from riven.engines.embedded.rows import AttemptRow, NodeRow, Rows
from riven.wire.document import Json

_log = logging.getLogger("riven.engine")

_TERMINAL = frozenset({NodeStatus.COMPLETED, NodeStatus.FAILED, NodeStatus.SKIPPED, NodeStatus.CANCELED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Awaited:
    """What a WAITING node waits for."""

    kind: str
    """`timer`, `signal` or `approval`."""
    name: str | None = None
    """Of a signal."""
    config: Json = None
    """The node's resolved configuration: an approval's `title`, `description` and `form` are in it."""
    until: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionChange:
    """A node has changed, or the execution itself (path ROOT_PATH). Times in milliseconds since the epoch."""

    path: NodePath
    status: NodeStatus | ExecutionStatus
    at: int
    type: str | None = None
    name: str | None = None
    outcome: str | None = None
    attempt: int = 0
    error: Json = None
    """`{type, message}`; of the execution `{node, type, message}`."""
    skip_reason: SkipReason | None = None
    started_at: int | None = None
    """Of the first attempt."""
    next_retry_at: int | None = None
    items: int | None = None
    """How many a for_each has, from when it is known."""
    waiting: Awaited | None = None


Listener: TypeAlias = Callable[[ExecutionChange], None]


class MemoryJournal:
    def __init__(self, rows: Rows, values: RunValues, listener: Listener | None) -> None:
        self._rows = rows
        self._values = values
        self._listener = listener
        self.end: ExecutionEnded | None = None

    # ---- what it is told ---------------------------------------------------------------------------------------------

    def started(self, path: NodePath, attempt: int, at: int, input: Json) -> None:
        row = self._rows.row(path)
        row.status = NodeStatus.RUNNING
        row.input = input
        row.error = None
        row.attempts.append(AttemptRow(attempt, at))
        if self._listener is not None:
            self._tell(row, at)

    async def write(self, entry: Entry) -> None:
        for ended in entry.ended:
            self._ended(ended)
        for settled in entry.settled:
            if not settled.path.endswith("]"):
                self._settled(settled)
        if entry.end is not None:
            self._finish(entry.end)

    def announce(self, status: ExecutionStatus, at: int) -> None:
        """The execution itself has changed."""
        self._notify(ExecutionChange(path=ROOT_PATH, status=status, at=at))

    def _ended(self, ended: StepEnded) -> None:
        """An attempt has ended; of a container or a wait only what went wrong, its end is settled."""
        answer = ended.answer
        if ended.step not in (Step.RUN, Step.EXPAND) or not (row := self._rows.row(answer.path)).attempts:
            return
        attempt = row.attempts[-1]
        if isinstance(answer, NodeCompleted):
            if ended.step is Step.EXPAND or answer.outcome == SKIPPED:
                if answer.fan_out is not None:
                    row.items = answer.fan_out
                    if self._listener is not None:
                        self._tell(row, answer.at)
                return
            attempt.status = row.status = NodeStatus.COMPLETED
            attempt.finished_at = row.finished_at = answer.at
            row.outcome = answer.outcome
            row.output = ended.output
            row.error = None
            if self._listener is not None:
                self._tell(row, answer.at)
            return
        attempt.status = NodeStatus.CANCELED if answer.canceled else NodeStatus.FAILED
        attempt.finished_at = answer.at
        attempt.error = ended.error

    def _settled(self, settled: NodeSettled) -> None:
        row = self._rows.row(settled.path)
        row.status = settled.status
        row.error = settled.error
        if settled.status in _TERMINAL:
            row.outcome = settled.outcome
            row.output = settled.output
            row.skip_reason = settled.reason
            self._close_attempt(row, settled)
        elif settled.status is NodeStatus.RETRYING and row.attempts:
            row.attempts[-1].next_retry_at = settled.due
        if self._listener is not None:
            self._tell(row, settled.at, settled.due)

    def _close_attempt(self, row: NodeRow, settled: NodeSettled) -> None:
        if not row.attempts:
            return  # it never started: no time to tell
        row.finished_at = settled.at
        attempt = row.attempts[-1]
        if attempt.finished_at is None:
            attempt.finished_at = settled.at
            attempt.status = settled.status
            attempt.error = settled.error

    def _finish(self, end: ExecutionEnded) -> None:
        self.end = end
        for row in self._rows.in_order():
            if row.status not in _TERMINAL:  # only after an internal error: nobody settles them any more
                self._settled(NodeSettled(row.path, NodeStatus.CANCELED, end.at))
        self._notify(ExecutionChange(path=ROOT_PATH, status=end.status, at=end.at, error=end.error))

    # ---- whom it tells -----------------------------------------------------------------------------------------------

    def _tell(self, row: NodeRow, at: int, due: int | None = None) -> None:
        waits = row.status is NodeStatus.WAITING
        self._notify(
            ExecutionChange(
                path=row.path,
                status=row.status,
                at=at,
                type=row.type,
                name=row.name,
                outcome=row.outcome,
                attempt=row.attempt,
                error=row.error,
                skip_reason=row.skip_reason,
                started_at=row.started_at,
                next_retry_at=due if row.status is NodeStatus.RETRYING else None,
                waiting=self._awaited(row, due) if waits else None,
                items=row.items,
            )
        )

    def _awaited(self, row: NodeRow, due: int | None) -> Awaited:
        begun = self._values.begun[row.path]
        if begun.waiting.signal is not None:
            return Awaited(kind="signal", name=begun.waiting.signal, config=begun.config, until=due)
        kind = "timer" if row.type == "wait" else "approval"
        return Awaited(kind=kind, config=begun.config, until=due)

    def _notify(self, change: ExecutionChange) -> None:
        if self._listener is None:
            return
        try:
            self._listener(change)
        except Exception:  # noqa: BLE001 - whatever a listener raises, the run goes on without it
            _log.exception("listener_broke", extra={"nodePath": change.path})
            self._listener = None
