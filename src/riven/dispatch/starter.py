"""Tell the engine of a claimed execution, and put back in line what it provably did not take."""

import logging

from riven.db.engine import Connection, Database
from riven.engines.port import Engine, EngineAwayError, StartRefusedError, StartRequest, StartResult
from riven.queue.claim import Claimed, Stray
from riven.queue.settle import Drive, backoff, hold_back, mark_failed, release_to_pending, remove_item
from riven.telemetry.crashpoints import crash_point

ENGINE_AWAY_DELAY = 5.0

_log = logging.getLogger("riven.dispatch")


class Starter:
    """The engine, as far as the loop needs it."""

    def __init__(self, database: Database, engine: Engine) -> None:
        self._database = database
        self._engine = engine

    @property
    def room(self) -> int:
        return self._engine.room

    async def start(self, claimed: Claimed) -> bool:
        """False: it was refused, or the engine is away, and the item is back in line."""
        return await start_execution(self._database, self._engine, claimed) is not None


async def start_execution(database: Database, engine: Engine, claimed: Claimed) -> StartResult | None:
    """None: it was refused, or the engine is away, and the item is back in line."""
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
        result = await engine.start(request_of(claimed))
    except StartRefusedError as error:
        _log.error("engine_start_failed", extra={**ids, "error": str(error)})
        await _release(database, claimed, counted=True, delay=backoff(claimed.attempts + 1), error=str(error))
        return None
    except EngineAwayError as error:
        _log.error("engine_start_failed", extra={**ids, "error": str(error)})
        await _release(database, claimed, counted=False, delay=ENGINE_AWAY_DELAY, error=str(error))
        return None
    crash_point("after_start")
    _log.info("dispatched", extra=ids)
    return result


async def _release(database: Database, claimed: Claimed, *, counted: bool, delay: float, error: str) -> None:
    drive = Drive(claimed.execution_id, claimed.run, claimed.token)
    kind = "dispatch_retry" if counted else "engine_down"
    await release_to_pending(database, drive, counted=counted, delay=delay, error=error, kind=kind)


def request_of(claimed: Claimed) -> StartRequest:
    row = claimed.row
    return StartRequest(
        execution_id=claimed.execution_id,
        run=claimed.run,
        token=claimed.token,
        workspace_id=claimed.workspace_id,
        workspace_name=row["workspace_name"],
        workflow=row["workflow_name"],
        version=row["version"],
        version_id=row["workflow_definition_version_id"],
        input=row["input"],
        trigger=row["trigger"],
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
        _log.warning(
            "execution_not_found_for_retry", extra={"executionId": execution_id, "queueId": queue_id}
        )
        if await mark_failed(connection, stray.queue_id, "the execution is gone"):
            _log.error("queue_item_failed", extra={"queueId": queue_id, "error": "the execution is gone"})
    elif stray.status == "PAUSED":
        await hold_back(connection, stray.queue_id)
    else:
        await remove_item(connection, stray.queue_id)
        _log.warning("queue_item_without_work", extra={"queueId": queue_id, "executionId": execution_id})
