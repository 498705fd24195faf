"""Tell the engine of a claimed execution, and put back in line what it provably did not take."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf
from uuid import UUID

from riven.completion.undriven import end_undriven, find_canceled
from riven.core.errors import ErrorClass
from riven.core.messages import ExecutionStatus
from riven.db.engine import Connection, Database
from riven.db.errors import DatabaseError
from riven.dispatch.reach import FIRST_PAUSE, Reach
from riven.engines.port import (
    MANUAL,
    DistantEngine,
    Engine,
    EngineAwayError,
    StartRefusedError,
    StartRequest,
    StartResult,
    StartUncertainError,
)
from riven.queue.claim import Claimed, Fault, Stray
from riven.queue.recover import postpone
from riven.queue.repair import remove_finished
from riven.queue.settle import (
    Drive,
    Released,
    attempts_allowed,
    back_off,
    backoff,
    hold_back,
    mark_failed,
    release,
    settle_dispatched,
)
from riven.telemetry.crashpoints import crash_point
from riven.telemetry.metrics import DISPATCH_ATTEMPTS, DISPATCH_FAILURES, ITEMS_PROCESSED

UNCERTAIN_DELAY = 1.0
"""Seconds until a start of which nobody knows what became is tried again."""
_NOBODY = UUID(int=0)
"""Asked for to see whether the engine answers."""

_log = logging.getLogger("riven.dispatch")


class Starter:
    """The engine, as far as the loop needs it."""

    distant = False
    """Whether it drives runs elsewhere, so that they are settled here."""

    def __init__(
        self,
        database: Database,
        engine: Engine,
        max_attempts: int = 3,
        *,
        asked: Callable[[UUID], bool] = lambda _: False,
        started: Callable[[UUID], None] = lambda _: None,
    ) -> None:
        """Make the starter of one process.

        `max_attempts`: refused starts, for workspaces that set none of their own. `asked`: whether something was asked
        of an execution since it was claimed. `started` is told of every execution that the engine has.
        """
        self._database = database
        self._engine = engine
        self._max_attempts = max_attempts
        self._asked = asked
        self._started = started

    @property
    def room(self) -> int:
        return self._engine.room

    @property
    def running(self) -> Sequence[UUID]:
        """Executions that are driven in this process."""
        return self._engine.running

    @property
    def drives_suspect(self) -> bool:
        return self._engine.drives_suspect

    @property
    def engine_error(self) -> str | None:
        """Why nothing can be started now."""
        return None

    async def is_there(self) -> bool:
        """Whether the engine can be reached."""
        return True

    def due_in(self, now: float) -> float:
        """Seconds until `is_there` has to be asked again."""
        del now
        return inf

    async def put_off(self, fault: Fault) -> None:
        await put_off(self._database, fault, self._max_attempts)

    async def start(self, claimed: Claimed) -> bool:
        """False: it was refused, or the engine is away, and the item is back in line or a dead letter."""
        request = request_of(claimed)
        if self._asked(claimed.execution_id):
            request = replace(request, resumed=True)
        try:
            result = await start_execution(self._database, self._engine, claimed, request, self._max_attempts)
        except EngineAwayError:
            return False
        if result is None:
            return False
        self._started(claimed.execution_id)
        return True


class DistantStarter(Starter):
    """An engine whose runs are driven elsewhere. It can be away, and what it has taken has to be settled."""

    distant = True

    def __init__(
        self,
        database: Database,
        engine: DistantEngine,
        process_id: UUID,
        max_attempts: int = 3,
        *,
        patience: float = 5.0,
        started: Callable[[UUID], None] = lambda _: None,
    ) -> None:
        """`patience`: seconds that it has to answer in; the loop that asks it gives a sign of life in between."""
        super().__init__(database, engine, max_attempts)
        self._distant = engine
        self._process_id = process_id
        self._patience = patience
        self._has = started
        self._reach = Reach(self._ask, patience)

    @property
    def engine_error(self) -> str | None:
        return self._reach.error

    async def is_there(self) -> bool:
        return await self._reach.look()

    def due_in(self, now: float) -> float:
        return self._reach.next_look - now

    async def start(self, claimed: Claimed) -> bool:
        """True: it has it, and it is to be settled. False: as above, or nobody knows, and the item keeps its slot."""
        try:
            async with asyncio.timeout(self._patience):
                result = await start_execution(
                    self._database,
                    self._distant,
                    claimed,
                    request_of(claimed),
                    self._max_attempts,
                    away_delay=self._reach.pause,
                )
        except (StartUncertainError, TimeoutError) as error:
            await self._postpone(claimed, str(error) or f"no answer within {self._patience:g} s")
            return False
        except EngineAwayError as error:
            self._reach.failed(str(error))
            return False
        return result is not None

    async def settle(self, started: Sequence[Claimed]) -> None:
        """In one commit; if that fails, one by one. What cannot be settled is started again, and found there."""
        crash_point("before_settle")
        try:
            await self._settle(started)
        except DatabaseError:
            for claimed in started:
                await self._settle([claimed])
        crash_point("after_settle")
        for claimed in started:
            self._has(claimed.execution_id)

    async def _settle(self, started: Sequence[Claimed]) -> None:
        drives = [Drive(claimed.execution_id, claimed.run, claimed.token) for claimed in started]
        async with self._database.transaction() as connection:
            await settle_dispatched(connection, drives, None)

    async def _ask(self) -> str | None:
        try:
            async with asyncio.timeout(self._patience):
                await self._distant.describe(_NOBODY, 1)
        except EngineAwayError as error:
            return str(error)
        except TimeoutError:
            return f"no answer within {self._patience:g} s"
        return None

    async def _postpone(self, claimed: Claimed, error: str) -> None:
        self._reach.failed(error)
        DISPATCH_FAILURES.add("uncertain")
        ITEMS_PROCESSED.add("postponed")
        _tell(
            {"executionId": str(claimed.execution_id), "queueId": str(claimed.queue_id)},
            StartUncertainError(error),
        )
        await postpone(
            self._database,
            claimed.execution_id,
            self._process_id,
            UNCERTAIN_DELAY,
            kind="engine_down",
            error=error,
        )


async def put_off(database: Database, fault: Fault, max_attempts: int) -> None:
    """An item that cannot be claimed has used up an attempt. With the last one it has failed, as a refused start."""
    async with database.transaction() as connection:
        item = await back_off(connection, fault.queue_id, fault.error)
        own = None if item is None else await attempts_allowed(connection, item.workspace_id)
    DISPATCH_FAILURES.add("unclaimable")
    _log.error("queue_item_error", extra={"queueId": str(fault.queue_id), "error": fault.error})
    if item is None or item.attempts < (max_attempts if own is None else own):
        ITEMS_PROCESSED.add("retried")
        return
    # In a transaction of its own: where not even that can be written, it has waited at least.
    message = f"it could not be claimed {item.attempts} times, the last with: {fault.error}"
    async with database.transaction() as connection:
        await end_undriven(
            connection, item.execution_id, ExecutionStatus.FAILED, ErrorClass.DISPATCH_FAILED, message
        )
    ITEMS_PROCESSED.add("failed")
    DISPATCH_ATTEMPTS.observe(item.attempts)
    _log.error("queue_item_failed", extra={"queueId": str(fault.queue_id), "error": fault.error})


async def start_execution(
    database: Database,
    engine: Engine,
    claimed: Claimed,
    request: StartRequest,
    max_attempts: int,
    *,
    away_delay: float = FIRST_PAUSE,
) -> StartResult | None:
    """None: it was refused, and the item is back in line or a dead letter.

    Raises EngineAwayError with the item back in line, due after `away_delay`, and StartUncertainError with nothing done.
    """
    ids = {"executionId": str(claimed.execution_id), "queueId": str(claimed.queue_id)}
    _log.info(
        "dispatching",
        extra={
            "queueId": str(claimed.queue_id),
            "workflowDefinitionId": str(claimed.row["workflow_definition_id"]),
        },
    )
    crash_point("before_start")
    try:
        result = await engine.start(request)
    except StartRefusedError as error:
        DISPATCH_FAILURES.add("refused")
        _tell(ids, error)
        await _refused(database, claimed, str(error), max_attempts)
        return None
    except EngineAwayError as error:
        DISPATCH_FAILURES.add("engine_away")
        ITEMS_PROCESSED.add("postponed")
        _tell(ids, error)
        async with database.transaction() as connection:
            if (
                await _release(connection, claimed, counted=False, delay=away_delay, error=str(error))
                is not None
            ):
                await _end_canceled(connection, claimed)
        raise
    crash_point("after_start")
    ITEMS_PROCESSED.add("dispatched")
    DISPATCH_ATTEMPTS.observe(claimed.attempts + 1)
    _log.info("dispatched", extra=ids)
    return result


def _tell(ids: dict[str, str], error: Exception) -> None:
    _log.error("engine_start_failed", extra={**ids, "error": str(error)})
    _log.error("queue_item_error", extra={"queueId": ids["queueId"], "error": str(error)})


async def _refused(database: Database, claimed: Claimed, error: str, max_attempts: int) -> None:
    """An attempt is used up. With the last one the item is a dead letter, and its execution has failed."""
    async with database.transaction() as connection:
        delay = backoff(claimed.attempts + 1)
        released = await _release(connection, claimed, counted=True, delay=delay, error=error)
        if released is None or await _end_canceled(connection, claimed):
            return
        own = await attempts_allowed(connection, claimed.workspace_id)
        failed = released.attempts >= (max_attempts if own is None else own)
        if failed:
            message = f"the engine refused {released.attempts} starts, the last with: {error}"
            await end_undriven(
                connection, claimed.execution_id, ExecutionStatus.FAILED, ErrorClass.DISPATCH_FAILED, message
            )
    ITEMS_PROCESSED.add("failed" if failed else "retried")
    if failed:
        DISPATCH_ATTEMPTS.observe(released.attempts)
        _log.error("queue_item_failed", extra={"queueId": str(claimed.queue_id), "error": error})


async def _end_canceled(connection: Connection, claimed: Claimed) -> bool:
    """Whether somebody has asked for that while the start was under way: nobody else is going to do it."""
    if not await find_canceled(connection, [claimed.execution_id]):
        return False
    return await end_undriven(connection, claimed.execution_id, ExecutionStatus.CANCELED)


async def _release(
    connection: Connection, claimed: Claimed, *, counted: bool, delay: float, error: str
) -> Released | None:
    drive = Drive(claimed.execution_id, claimed.run, claimed.token)
    kind = "dispatch_retry" if counted else "engine_down"
    return await release(connection, drive, counted=counted, delay=delay, error=error, kind=kind)


def request_of(claimed: Claimed) -> StartRequest:
    row = claimed.row
    return StartRequest(
        execution_id=claimed.execution_id,
        run=claimed.run,
        token=claimed.token,
        workspace_id=claimed.workspace_id,
        workspace_name=row["workspace_name"],
        workflow=row["workflow_name"],
        workflow_id=row["workflow_definition_id"],
        version=row["version"],
        version_id=row["workflow_definition_version_id"],
        input=row["input"],
        trigger=MANUAL if row["trigger"] is None else row["trigger"],
        started_at=round(row["started_at"].timestamp() * 1000),
        frozen=row["retry_defaults"],
        run_started_at=round(row["run_started_at"].timestamp() * 1000),
        base_seq=row["base_seq"],
        revision=row["revision"],
        resumed=row["token"] > 1 or row["base_seq"] > 0 or row["asked"],
        recovered=row["recoveries"] > 0,
        suspect=row["suspect"],
    )


async def put_aside(connection: Connection, stray: Stray) -> None:
    """An item that can never be started leaves the line, with its reason."""
    queue_id, execution_id = str(stray.queue_id), str(stray.execution_id)
    if stray.status is None:
        DISPATCH_FAILURES.add("execution_not_found")
        _log.warning(
            "execution_not_found_for_retry", extra={"executionId": execution_id, "queueId": queue_id}
        )
        if await mark_failed(connection, stray.queue_id, "the execution is gone"):
            ITEMS_PROCESSED.add("failed")
            _log.error("queue_item_failed", extra={"queueId": queue_id, "error": "the execution is gone"})
    elif stray.status == "PAUSED":
        await hold_back(connection, stray.queue_id)
    elif await remove_finished(connection, stray.queue_id):  # if nobody has begun it anew meanwhile
        ITEMS_PROCESSED.add("dropped")
        _log.warning("queue_item_without_work", extra={"queueId": queue_id, "executionId": execution_id})
