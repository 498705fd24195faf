"""Group commit: what all runs of a process record goes out in shared flushes, one statement and one commit each.

A run hands in its write and waits. While a flush is under way writes gather; when it returns they go out together. So
one run alone waits for one commit, and a thousand runs share it. A flush that fails is repeated write by write, so that
only the one at fault fails. A database that is away is waited for: nothing was answered yet, and what has happened in
the world is not forgotten. The end of a run that the database refuses is tried three times; then its run is handed back.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from uuid import UUID

import orjson

from riven.db.engine import Database
from riven.db.errors import (
    ConflictError,
    ConstraintError,
    DatabaseUnavailableError,
    StatementError,
    TooSlowError,
)
from riven.db.statements import load
from riven.effects.recorder import LostRunError, UnrecordedEndError
from riven.telemetry.crashpoints import crash_point
from riven.telemetry.metrics import COMMIT_BATCH, COMMIT_SECONDS
from riven.wire.document import Json

FLUSHES = 2
"""Flushes under way at a time: the next one is built while PostgreSQL writes the last one."""
_MOST_ROWS = 2_000
_AWAY_DELAY = 0.2
_LONGEST_AWAY_DELAY = 2.0
_TRIES = 3
_END_DELAY = 1.0
"""Seconds before the end of a run is tried again, doubling."""
_ENDS = frozenset({"COMPLETED", "FAILED", "CANCELED"})

_log = logging.getLogger("riven.completion")
_FLUSH = load("riven.completion", "flush")
_WRITTEN_BEFORE = """
SELECT id, workspace_id, status, run, token, true AS had_item FROM workflow_executions WHERE id = ANY ($1::uuid[])
"""
_KNOWN = "SELECT id FROM workflow_executions WHERE id = ANY ($1::uuid[])"
_BLOB = "INSERT INTO blobs (id, execution_id, data) SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::bytea[]) ON CONFLICT DO NOTHING"


@dataclass(slots=True, kw_only=True)
class RunWrite:
    """What one run has to record at once. Rows are those that sql/flush.sql names."""

    execution_id: UUID
    run: int
    token: int
    move: dict[str, Json] | None = None
    """Of the execution itself: begun, status, phase, output, error..., as sql/flush.sql has them."""
    nodes: Sequence[dict[str, Any]] = ()
    scopes: Sequence[dict[str, Any]] = ()
    timers: Sequence[dict[str, Any]] = ()
    read: Sequence[dict[str, Any]] = ()
    blobs: Sequence[tuple[UUID, bytes]] = ()
    done: "asyncio.Future[None]" = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    @property
    def rows(self) -> int:
        return 1 + len(self.nodes) + len(self.scopes)

    @property
    def ends(self) -> bool:
        """It is the run's last."""
        return self.move is not None and self.move.get("status") in _ENDS

    def answer(self, error: Exception | None = None) -> None:
        """Whoever handed it in may have left meanwhile."""
        if self.done.done():
            return
        if error is None:
            self.done.set_result(None)
        else:
            self.done.set_exception(error)


class Recorder:
    """One for each process that drives runs."""

    def __init__(
        self,
        database: Database,
        freed: Callable[[Iterable[UUID]], None],
        changed: Callable[[Iterable[UUID]], None] = lambda _: None,
    ) -> None:
        """After a commit `freed` is told of the workspaces in which a slot has become free, `changed` of executions."""
        self._database = database
        self._freed = freed
        self._changed = changed
        self._gathered: list[RunWrite] = []
        self._flushes: set[asyncio.Task[None]] = set()
        self.flushed_writes = 0
        self.flushes = 0

    async def record(self, write: RunWrite) -> None:
        """Durable when this returns.

        Raises:
            LostRunError: the run is somebody else's, or its execution is gone; nothing was written.
            StatementError: PostgreSQL refuses what was to be written; nothing was.
            UnrecordedEndError: it refuses the end of the run, also after some time.
        """
        for left in reversed(range(_TRIES if write.ends else 1)):
            self._gathered.append(write)
            self._flush_soon()
            try:
                await write.done
            except StatementError as error:
                if not write.ends:
                    raise
                ids = {"executionId": str(write.execution_id)}
                _log.error("completion_failed", extra={**ids, "error": str(error), "triesLeft": left})
                if not left:
                    raise UnrecordedEndError(str(error)) from error
                await asyncio.sleep(_END_DELAY * 2 ** (_TRIES - 1 - left))
                write.done = asyncio.get_running_loop().create_future()
            else:
                return

    def _flush_soon(self) -> None:
        if self._gathered and len(self._flushes) < FLUSHES:
            task = asyncio.get_running_loop().create_task(self._flush(), name="riven-flush")
            self._flushes.add(task)
            task.add_done_callback(self._flushed)

    def _flushed(self, task: "asyncio.Task[None]") -> None:
        self._flushes.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("flush_broke", exc_info=task.exception())
        self._flush_soon()

    async def _flush(self) -> None:
        # Let everything that is ready in this turn of the loop join.
        await asyncio.sleep(0)
        writes = self._take()
        if not writes:
            return
        try:
            await self._write_until_there(writes)
        finally:
            for write in writes:  # whatever went wrong, nobody waits for ever
                write.answer(StatementError("the flush broke off"))

    def _take(self) -> list[RunWrite]:
        """Of each run one write: a statement tells runs apart by their ids, not by the tokens of their owners."""
        rows = 0
        runs: set[UUID] = set()
        for count, write in enumerate(self._gathered):
            rows += write.rows
            if count and (rows > _MOST_ROWS or write.execution_id in runs):
                taken, self._gathered = self._gathered[:count], self._gathered[count:]
                return taken
            runs.add(write.execution_id)
        taken, self._gathered = self._gathered, []
        return taken

    async def _write_until_there(self, writes: list[RunWrite], *, uncertain: bool = False) -> None:
        """`uncertain`: it may have been committed already, the answer having been lost."""
        delay, conflicts = _AWAY_DELAY, 0
        while True:
            try:
                await self._write(writes, uncertain=uncertain)
            except DatabaseUnavailableError as error:
                uncertain = True
                _log.warning("database_away", extra={"error": str(error), "writes": len(writes)})
                if isinstance(error, TooSlowError) and len(writes) > 1:
                    # somebody holds a row of one of them: let the others go on
                    alone = [self._write_until_there([write], uncertain=True) for write in writes]
                    await asyncio.gather(*alone)
                    return
                await asyncio.sleep(delay)
                delay = min(delay * 2, _LONGEST_AWAY_DELAY)
            except (StatementError, ConstraintError, ConflictError) as error:
                conflicts += isinstance(error, ConflictError)
                if 0 < conflicts < _TRIES:
                    continue
                if len(writes) == 1:
                    writes[0].answer(StatementError(str(error)))
                    return
                for write in writes:  # one of them is at fault: let it fail alone
                    await self._write_until_there([write], uncertain=uncertain)
                return
            else:
                return

    async def _write(self, writes: list[RunWrite], *, uncertain: bool) -> None:
        crash_point("before_record")
        begun = perf_counter()
        rows = await self._execute(writes)
        crash_point("after_record")
        COMMIT_SECONDS.observe(perf_counter() - begun)
        COMMIT_BATCH.observe(len(writes))
        self.flushes += 1
        self.flushed_writes += len(writes)
        held = {row["id"]: row for row in rows}
        lost = [write for write in writes if write.execution_id not in held]
        if lost:
            if uncertain:
                held |= await self._written_before(lost)
            await self._tell_of_missing(lost)
        freed: dict[UUID, None] = {}
        for write in writes:
            row = held.get(write.execution_id)
            if row is None:
                write.answer(LostRunError(f"execution {write.execution_id} is driven by somebody else"))
                continue
            if row["status"] is not None:
                freed[row["workspace_id"]] = None
                if not row["had_item"]:
                    _log.warning(
                        "queue_item_missing_at_completion", extra={"executionId": str(write.execution_id)}
                    )
            write.answer()
        if freed:
            self._freed(freed)
        self._changed(write.execution_id for write in writes)

    async def _tell_of_missing(self, lost: Sequence[RunWrite]) -> None:
        """Most are somebody else's by now. A row that somebody deleted is worth a warning."""
        async with self._database.read() as connection:
            known = {
                row["id"] for row in await connection.fetch(_KNOWN, [write.execution_id for write in lost])
            }
        for write in lost:
            if write.execution_id not in known:
                _log.warning(
                    "execution_missing_at_completion", extra={"executionId": str(write.execution_id)}
                )

    async def _written_before(self, writes: list[RunWrite]) -> dict[UUID, Any]:
        """Runs that the same write has moved already, when its answer was lost."""
        moved = {write.execution_id: write for write in writes if write.move is not None}
        async with self._database.read() as connection:
            rows = await connection.fetch(_WRITTEN_BEFORE, list(moved))
        return {
            row["id"]: row
            for row in rows
            if (row["run"], row["token"]) == (moved[row["id"]].run, moved[row["id"]].token)
            and row["status"] == (moved[row["id"]].move or {}).get("status")
        }

    async def _execute(self, writes: list[RunWrite]) -> list[Any]:
        values = (
            _json([_run_object(write) for write in writes]),
            _json([row for write in writes for row in write.nodes]),
            _json([row for write in writes for row in write.scopes]),
            _json([row for write in writes for row in write.timers]),
            _json([row for write in writes for row in write.read]),
        )
        blobs = [(blob_id, write.execution_id, data) for write in writes for blob_id, data in write.blobs]
        if not blobs:
            async with self._database.read() as connection:  # one statement commits by itself
                return await connection.fetch(_FLUSH, *values)
        async with self._database.transaction() as connection:
            await connection.execute(_BLOB, *map(list, zip(*blobs, strict=True)))
            return await connection.fetch(_FLUSH, *values)

    async def close(self) -> None:
        """Wait for what was handed in."""
        while self._flushes:
            await asyncio.gather(*self._flushes, return_exceptions=True)


def _run_object(write: RunWrite) -> dict[str, Any]:
    about = {
        "id": write.execution_id,
        "run": write.run,
        "token": write.token,
        "moves": write.move is not None,
    }
    return about if write.move is None else {**about, **write.move}


def _json(rows: list[dict[str, Any]]) -> "orjson.Fragment":
    return orjson.Fragment(orjson.dumps(rows, default=_plain))


def _plain(value: object) -> str:
    if isinstance(value, UUID):  # the driver's own kind of UUID
        return str(value)
    raise TypeError(f"{type(value).__name__} is no JSON")
