"""Starts that come at once share one read, one insert and one commit.

While a flush is under way wishes gather; when it returns they go out together. So one start alone waits for one commit,
and a thousand share it. A flush that fails is repeated wish by wish, so that only the one at fault fails. What is large
goes by itself, so that nobody waits for its checking.

When the connection breaks while a statement is under way, nobody knows whether it was committed. It is then repeated
with the ids that it had: either they are there already, or they are written now, once.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias
from uuid import UUID

from riven.db.engine import Connection, Database
from riven.db.errors import (
    ConflictError,
    ConstraintError,
    DatabaseError,
    DatabaseUnavailableError,
    StatementError,
)
from riven.intake.accept import Acceptor, Plan, write
from riven.intake.errors import KeyBusyError, RefusedRowError
from riven.intake.idempotency import IdempotencyKey
from riven.intake.wish import Accepted, Wish
from riven.telemetry.crashpoints import crash_point
from riven.tenancy.errors import InvalidRequestError, RefusedError

FLUSHES: Final = 2
"""Flushes under way at a time: the next one is checked while PostgreSQL writes the last one."""
_MOST_STARTS: Final = 500
_LARGE_STARTS: Final = 50
_LARGE_SIZE: Final = 32 * 1024
_LARGE_AT_ONCE: Final = 2
_ALONE_AT_ONCE: Final = 4
"""Of the connections of the pool, which others need too."""
_TRIES: Final = 3
_PAUSE: Final = 0.1
_KEY_WAIT: Final = "SET LOCAL lock_timeout = '5s'"
"""For whoever writes the same key in a transaction of his own."""

_KEY_RETRY: Final = 2.0
_BUSY: Final = "another request with this Idempotency-Key is being written right now; repeat the request to get its answer"
_THERE: Final = "SELECT EXISTS (SELECT FROM workflow_executions WHERE id = $1)"

_log = logging.getLogger("riven.intake")

Answer: TypeAlias = tuple[Accepted, ...]


@dataclass(slots=True, eq=False)
class _Waiting:
    wish: Wish
    answer: "asyncio.Future[Answer]" = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    plan: Plan | None = None
    doubtful: bool = False
    """The connection may have broken while the plan was being written: nobody knows whether it was."""

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)

    def give(self, answer: Answer) -> None:
        if not self.answer.done():
            self.answer.set_result(answer)


@dataclass(slots=True, eq=False)
class _OnItsWay:
    """A wish with a key, in this process; others with the same key wait for what becomes of it."""

    key: IdempotencyKey
    done: asyncio.Event = field(default_factory=asyncio.Event)
    answer: Answer | None = None


class Intake:
    """One for each process that takes starts in."""

    def __init__(self, database: Database, announce: Callable[[Iterable[UUID]], None]) -> None:
        """`announce` is told, after the commit, of the workspaces in which something has come in line."""
        self._database = database
        self._announce = announce
        self._acceptor = Acceptor()
        self._gathered: list[_Waiting] = []
        self._flushes: set[asyncio.Task[None]] = set()
        self._repeats: set[asyncio.Task[None]] = set()
        self._large_at_once = asyncio.Semaphore(_LARGE_AT_ONCE)
        self._alone_at_once = asyncio.Semaphore(_ALONE_AT_ONCE)
        self._keys: dict[tuple[UUID, str], _OnItsWay] = {}
        self.flushes = 0
        self.flushed_starts = 0

    async def accept(self, wish: Wish) -> Answer:
        """Durable when this returns; in the order of the wish.

        Raises:
            RefusedError: it is refused, and nothing of it was stored.
            DatabaseUnavailableError: the database is away, and as far as we know nothing of it was stored.
        """
        key = wish.key
        if key is None:
            return await self._enter(wish)
        while (first := self._keys.get(key.name)) is not None:
            await first.done.wait()
            if first.answer is not None and first.key.request_hash == key.request_hash:
                return first.answer
        mine = self._keys[key.name] = _OnItsWay(key)
        try:
            mine.answer = await self._enter(wish)
            return mine.answer
        finally:
            del self._keys[key.name]
            mine.done.set()

    async def close(self) -> None:
        """Wait for what was handed in."""
        while self._flushes or self._repeats:
            await asyncio.gather(*self._flushes, *self._repeats, return_exceptions=True)

    async def _enter(self, wish: Wish) -> Answer:
        waiting = _Waiting(wish)
        if wish.size > _LARGE_SIZE or len(wish.starts) > _LARGE_STARTS:
            async with self._large_at_once:
                await self._one_by_one(await self._serve([waiting]))
            return waiting.answer.result()
        self._gathered.append(waiting)
        self._flush_soon()
        return await waiting.answer

    # ---- flushes -----------------------------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        if self._gathered and len(self._flushes) < FLUSHES:
            task = asyncio.get_running_loop().create_task(self._flush(), name="riven-accept")
            self._flushes.add(task)
            task.add_done_callback(self._flushed)

    def _flushed(self, task: "asyncio.Task[None]") -> None:
        self._flushes.discard(task)
        if not task.cancelled() and task.exception() is not None:
            _log.error("accept_broke", exc_info=task.exception())
        self._flush_soon()

    async def _flush(self) -> None:
        # Let everything that is ready in this turn of the loop join.
        await asyncio.sleep(0)
        waiting = self._take()
        if waiting and (left := await self._serve(waiting)):
            # Not here: somebody's key may take seconds, and the next flush must not wait for it.
            task = asyncio.get_running_loop().create_task(self._one_by_one(left), name="riven-accept-alone")
            self._repeats.add(task)
            task.add_done_callback(self._repeats.discard)

    def _take(self) -> list[_Waiting]:
        starts = 0
        for count, waiting in enumerate(self._gathered):
            starts += len(waiting.wish.starts)
            if starts > _MOST_STARTS and count:
                taken, self._gathered = self._gathered[:count], self._gathered[count:]
                return taken
        taken, self._gathered = self._gathered, []
        return taken

    async def _serve(self, waiting: Sequence[_Waiting]) -> list[_Waiting]:
        """Answers those who have to go alone."""
        try:
            await self._together(waiting)
        except DatabaseUnavailableError as error:
            for each in waiting:
                each.fail(error)
        except BaseException:
            for each in waiting:  # nobody waits for ever
                each.answer.cancel()
            raise
        return [each for each in waiting if not each.answer.done()]

    async def _one_by_one(self, waiting: Sequence[_Waiting]) -> None:
        """Returns when each of them has its answer, whatever goes wrong."""
        away: DatabaseUnavailableError | None = None

        async def go(each: _Waiting) -> None:
            nonlocal away
            async with self._alone_at_once:
                if away is not None:
                    each.fail(away)
                    return
                try:
                    await self._alone(each)
                except DatabaseUnavailableError as error:
                    away = error
                    each.fail(error)

        try:
            await asyncio.gather(*map(go, waiting))
        finally:
            for each in waiting:  # nobody waits for ever
                each.answer.cancel()

    async def _together(self, waiting: Sequence[_Waiting]) -> None:
        """Leaves without an answer who has to go alone."""
        for left in reversed(range(_TRIES)):
            try:
                async with self._database.read() as connection:
                    await self._plan(connection, waiting)
                    planned = [(each, each.plan) for each in waiting if each.plan is not None]
                    if planned:
                        await self._write_together(connection, planned)
            except DatabaseUnavailableError:
                if any(each.doubtful for each in waiting):
                    return
                if not left:
                    raise
                await asyncio.sleep(_PAUSE)
            except Exception:  # noqa: BLE001  # one of them is at fault, and hears of it when it goes alone
                return
            else:
                return

    async def _plan(self, connection: Connection, waiting: Sequence[_Waiting]) -> None:
        outcomes = await self._acceptor.plan(connection, [each.wish for each in waiting])
        for each, outcome in zip(waiting, outcomes, strict=True):
            each.plan = outcome if isinstance(outcome, Plan) else None
            if isinstance(outcome, tuple):
                each.give(outcome)
            elif isinstance(outcome, RefusedError):
                each.fail(outcome)

    async def _write_together(self, connection: Connection, planned: Sequence[tuple[_Waiting, Plan]]) -> None:
        crash_point("before_accept")
        for each, _ in planned:
            each.doubtful = True
        try:
            there = await write(connection, [plan for _, plan in planned], alone=False)
        except DatabaseUnavailableError:
            raise
        except DatabaseError:
            for each, _ in planned:
                each.doubtful = False
            raise
        crash_point("after_accept")
        for each, _ in planned:
            each.doubtful = False
        self._accepted([pair for pair, written in zip(planned, there, strict=True) if written])

    async def _alone(self, waiting: _Waiting) -> None:
        for left in reversed(range(_TRIES)):
            try:
                if await self._write_alone(waiting):
                    return
            except ConstraintError as error:
                if not (waiting.doubtful and left):  # otherwise it is there after all, as is seen next
                    waiting.fail(_refused(error))
                    return
            except StatementError as error:
                waiting.fail(InvalidRequestError(f"the database cannot hold this: {error}"))
                return
            except ConflictError as error:
                if not left or waiting.wish.key is not None:
                    waiting.fail(
                        error if waiting.wish.key is None else KeyBusyError(_BUSY, retry_after=_KEY_RETRY)
                    )
                    return
            except DatabaseUnavailableError:
                if not left:
                    raise
                await asyncio.sleep(_PAUSE)
            except Exception as error:  # noqa: BLE001  # a mistake of ours, told to the one who met it
                waiting.fail(error)
                return
        waiting.fail(KeyBusyError(_BUSY, retry_after=_KEY_RETRY))

    async def _write_alone(self, waiting: _Waiting) -> bool:
        """False: somebody else has written its key meanwhile, so that there is an answer to find."""
        async with self._database.transaction() as connection:
            plan = waiting.plan
            if plan is not None and waiting.doubtful and await _is_there(connection, plan):
                self._accepted([(waiting, plan)])
                return True
            if plan is None or (plan.key is not None and not waiting.doubtful):
                await self._plan(connection, [waiting])
                plan = waiting.plan
            if plan is None:
                return True
            if plan.key is not None:
                await connection.execute(_KEY_WAIT)
            crash_point("before_accept")
            (there,) = await write(connection, [plan], alone=True)
            waiting.doubtful = there
            crash_point("during_accept")
        crash_point("after_accept")
        if there:
            self._accepted([(waiting, plan)])
        return there

    def _accepted(self, planned: Sequence[tuple[_Waiting, Plan]]) -> None:
        if not planned:
            return
        self.flushes += 1
        workspaces: dict[UUID, None] = {}
        for each, plan in planned:
            self.flushed_starts += len(plan.rows)
            workspaces |= dict.fromkeys(plan.workspaces)
            each.give(plan.answer)
        self._announce(workspaces)


async def _is_there(connection: Connection, plan: Plan) -> bool:
    return bool(await connection.fetch_value(_THERE, plan.rows[0].accepted.execution_id))


def _refused(error: ConstraintError) -> RefusedError:
    return RefusedRowError(
        f"the start was refused by {error.constraint or 'a constraint'}; nothing was stored"
    )
