"""Tell the engine of a claimed execution, and put back in line what it provably did not take."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import UUID

from riven.completion.undriven import end_undriven, find_canceled
from riven.core.errors import ErrorClass
from riven.core.messages import ExecutionStatus
from riven.db.engine import Connection, Database
from riven.engines.port import (
    MANUAL,
    Engine,
    EngineAwayError,
    StartRefusedError,
    StartRequest,
    StartResult,
)
from riven.queue.claim import Claimed, Fault, Stray
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
)
from riven.telemetry.crashpoints import crash_point
from riven.telemetry.metrics import DISPATCH_ATTEMPTS, DISPATCH_FAILURES, ITEMS_PROCESSED

ENGINE_AWAY_DELAY = 5.0

_log = logging.getLogger("riven.dispatch")


class Starter:
    """The engine, as far as the loop needs it."""

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

    async def put_off(self, fault: Fault) -> None:
        await put_off(self._database, fault, self._max_attempts)

    async def start(self, claimed: Claimed) -> bool:
        """False: it was refused, or the engine is away, and the item is back in line or a dead letter."""
        request = request_of(claimed)
        if self._asked(claimed.execution_id):
            request = replace(request, resumed=True)
        result = await start_execution(self._database, self._engine, claimed, request, self._max_attempts)
        if result is None:
            return False
        self._started(claimed.execution_id)
        return True


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
    database: Database, engine: Engine, claimed: Claimed, request: StartRequest, max_attempts: int
) -> StartResult | None:
    """None: it was refused, or the engine is away, and the item is back in line or a dead letter."""
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
            delay = ENGINE_AWAY_DELAY
            if await _release(connection, claimed, counted=False, delay=delay, error=str(error)) is not None:
                await _end_canceled(connection, claimed)
        return None
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
