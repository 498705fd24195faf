"""Compare queue, executions and engine, and mend what no ordinary move would.

Rows that somebody deleted, hints left by a crash, runs that an engine elsewhere has no more. The tables are gone through
slice by slice, so that a round costs the same however much waits; what a round finds it looks at again under its lock
before it acts.
"""

import asyncio
import logging
from collections.abc import Sequence
from uuid import UUID

from riven.completion.undriven import end_held, end_undriven, hold_run
from riven.core.errors import ErrorClass
from riven.core.messages import ExecutionStatus
from riven.db.engine import Database
from riven.engines.port import Description, DistantEngine, DriveStatus, EngineAwayError
from riven.maintenance.apart import apart
from riven.queue.claim import recheck_hints
from riven.queue.recover import LAST_RECOVERY, hand_back_run, wrong_hints
from riven.queue.repair import (
    FIRST,
    DrivenElsewhere,
    Orphan,
    count_loss,
    find_driven_elsewhere,
    find_orphans,
    is_driven_elsewhere,
    remove_finished,
    restore_driven,
    restore_parked,
    restore_pending,
)
from riven.queue.settle import mark_failed
from riven.queue.wake import Announcer
from riven.telemetry.metrics import DISPATCH_FAILURES, ITEMS_PROCESSED, REPAIRS

SLICE = 20_000
_HINTS_AT_ONCE = 500
_ASKED_AT_ONCE = 20
"""Runs of which an engine elsewhere is asked at a time."""

_log = logging.getLogger("riven.maintenance")


class Reconciler:
    def __init__(self, database: Database, announcer: Announcer, slice_size: int = SLICE) -> None:
        self._database = database
        self._announcer = announcer
        self._slice = slice_size
        self._items: UUID = FIRST
        """Up to where the last round has looked through the items, the executions that wait, those that are parked."""
        self._pending: tuple[UUID, UUID] = (FIRST, FIRST)
        self._parked: UUID = FIRST

    async def perform(self) -> None:
        """Every minute."""
        for step in (self.restore_items, self.put_orphans_aside, self.clear_hints):
            with apart(step=step.__name__):
                await step()

    async def restore_items(self) -> None:
        """Whatever is unfinished and driven by nobody has an item in line."""
        async with self._database.transaction() as connection:
            driven = await restore_driven(connection, self._slice)
            pending, self._pending = await restore_pending(connection, self._pending, self._slice)
            parked, self._parked = await restore_parked(connection, self._parked, self._slice)
        for restored in (*driven, *pending, *parked):
            REPAIRS.add("item_missing")
            fields = {"executionId": str(restored.execution_id), "status": restored.status}
            _log.warning("item_restored", extra=fields)
            self._announcer.announce((restored.workspace_id,))

    async def put_orphans_aside(self) -> None:
        """Items that name what is gone fail, with the reason; those of finished executions go."""
        async with self._database.read() as connection:
            orphans, self._items = await find_orphans(connection, self._items, self._slice)
        for orphan in orphans:
            with apart(executionId=str(orphan.execution_id)):
                await self._put_aside(orphan)

    async def _put_aside(self, orphan: Orphan) -> None:
        ids = {"executionId": str(orphan.execution_id), "queueId": str(orphan.queue_id)}
        async with self._database.transaction() as connection:
            match orphan.gone:
                case "workspace":
                    done = await mark_failed(connection, orphan.queue_id, "workspace_not_found")
                case "execution":
                    done = await mark_failed(connection, orphan.queue_id, "the execution is gone")
                case "version":
                    done = await end_undriven(
                        connection,
                        orphan.execution_id,
                        ExecutionStatus.FAILED,
                        ErrorClass.DISPATCH_FAILED,
                        "the version of the workflow is gone",
                    )
                case _:
                    done = await remove_finished(connection, orphan.queue_id)
        if not done:
            return
        match orphan.gone:
            case "workspace":
                fields = {"workspaceId": str(orphan.workspace_id), "queueId": str(orphan.queue_id)}
                _log.warning("workspace_not_found", extra=fields)
            case "execution":
                _log.warning("execution_not_found_for_retry", extra=ids)
            case "version":
                _log.warning("version_not_found", extra=ids)
            case _:
                _log.warning("queue_item_without_work", extra=ids)
                REPAIRS.add("item_without_work")
                return
        REPAIRS.add(f"{orphan.gone}_not_found")
        DISPATCH_FAILURES.add(f"{orphan.gone}_not_found")
        ITEMS_PROCESSED.add("failed")
        fields = {"queueId": str(orphan.queue_id), "error": f"{orphan.gone}_not_found"}
        _log.error("queue_item_failed", extra=fields)
        self._announcer.announce((orphan.workspace_id,))

    async def clear_hints(self) -> None:
        """Workspaces that no claim looks at though they have something to give."""
        async with self._database.read() as connection:
            suspected = await wrong_hints(connection)
        for start in range(0, len(suspected), _HINTS_AT_ONCE):
            some = suspected[start : start + _HINTS_AT_ONCE]
            async with self._database.read() as connection:
                cleared = await recheck_hints(connection, some)
            if cleared:
                REPAIRS.add("wrong_hint", by=len(cleared))
                _log.warning("hints_cleared", extra={"count": len(cleared)})
                self._announcer.announce(cleared)


class EngineReconciler:
    """Compares what runs here with what an engine elsewhere says of it. Judges what that engine has, and nothing else."""

    def __init__(
        self,
        database: Database,
        announcer: Announcer,
        engine: DistantEngine,
        *,
        after: float = 20.0,
        slice_size: int = 1_000,
    ) -> None:
        """`after`: seconds that a run is left alone; most have ended by then, and cost the engine no question."""
        self._database = database
        self._announcer = announcer
        self._engine = engine
        self._after = after
        self._slice = slice_size

    async def perform(self) -> None:
        """Several times a minute. While the engine is away nothing is judged."""
        after = FIRST
        while True:
            async with self._database.read() as connection:
                found = await find_driven_elsewhere(connection, after, self._slice, self._after)
            try:
                for start in range(0, len(found), _ASKED_AT_ONCE):
                    await self._compare(found[start : start + _ASKED_AT_ONCE])
            except EngineAwayError as error:
                _log.warning("engine_away", extra={"error": str(error)})
                return
            if len(found) < self._slice:
                return
            after = found[-1].execution_id

    async def _compare(self, some: Sequence[DrivenElsewhere]) -> None:
        said = await asyncio.gather(*(self._engine.describe(each.execution_id, each.run) for each in some))
        for found, description in zip(some, said, strict=True):
            if description.status is not DriveStatus.OPEN:
                with apart(executionId=str(found.execution_id)):
                    await self._mend(found, description)

    async def _mend(self, found: DrivenElsewhere, said: Description) -> None:
        """Under the lock, and only if nobody has taken it up since it was found: then what was said is old."""
        async with self._database.transaction() as connection:
            held = await hold_run(connection, found.execution_id)
            if held is None or not await is_driven_elsewhere(connection, found):
                return
            match said.status:
                case DriveStatus.TERMINATED | DriveStatus.CANCELED:
                    done = "ended"
                    message = f"it was {said.status.value} in Temporal"
                    if said.reason:
                        message += f": {said.reason}"
                    await end_held(
                        connection, held, ExecutionStatus.CANCELED, ErrorClass.EXECUTION_ERROR, message
                    )
                case DriveStatus.UNKNOWN:
                    done = "requeued"
                    await hand_back_run(connection, found.execution_id, found.run, found.token)
                case _:
                    # Closed without its end being recorded. Whoever takes it up finds in the journal what was done.
                    losses = await count_loss(connection, found.execution_id)
                    if losses < LAST_RECOVERY:
                        done = "requeued"
                        await hand_back_run(connection, found.execution_id, found.run, found.token)
                    else:
                        done = "ended"
                        message = f"its workflow ended {losses} times without its end being recorded"
                        await end_held(
                            connection, held, ExecutionStatus.FAILED, ErrorClass.INTERNAL_ERROR, message
                        )
        REPAIRS.add(f"workflow_{said.status.value}")
        ids = {"executionId": str(found.execution_id)}
        _log.warning("engine_drift", extra={**ids, "status": said.status.value, "done": done})
        self._announcer.announce((found.workspace_id,))
