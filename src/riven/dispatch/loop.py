"""The loop that serves the queue: claim, start, again; woken by whoever makes something startable.

It also gives the process's sign of life, because the sign must prove that this loop works, not that a timer does.
"""

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.dispatch.starter import DistantStarter, Starter, put_aside
from riven.queue.claim import Claim, Claimed, Fault, Stray, claim_in_turns
from riven.queue.lease import Process, leave, register, renew
from riven.queue.recover import MOST, hand_back_forgotten, next_due_in, postpone, promote_due
from riven.queue.settle import Drive, settle_dispatched
from riven.queue.wake import Announcer
from riven.telemetry.crashpoints import crash_point
from riven.telemetry.metrics import (
    CAPACITY_REACHED,
    CLAIM_SECONDS,
    CLAIMS,
    DISPATCH_FAILURES,
    ITEMS_PROCESSED,
    RECOVERIES,
    RUNS,
)

SKIPPED_DELAY = 0.020
PROMOTE_INTERVAL = 1.0
AWAY_DELAY = 1.0
SUSPECT_DELAY = 1.0
"""Seconds after which a suspect asks again whether its turn has come."""

_log = logging.getLogger("riven.dispatch")


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchSettings:
    enabled: bool = True
    """False: claim nothing; what runs finishes."""
    poll_interval: float = 5.0
    batch_size: int = 50
    lease_ttl: float = 15.0


class DispatchLoop:
    def __init__(
        self,
        database: Database,
        starter: Starter,
        process: Process,
        announcer: Announcer,
        settings: DispatchSettings,
    ) -> None:
        self._database = database
        self._starter = starter
        self._process = process
        self._announcer = announcer
        self._settings = settings
        self._woken = asyncio.Event()
        self._claiming = settings.enabled
        self._stopping = False
        self.registered = asyncio.Event()
        """Everybody knows of this process: it does its work."""
        self._next_beat = 0.0
        self._said_of_engine: str | None = None
        self._next_promotion = 0.0
        self._next_check: float | None = None
        self._due_at: float | None = None

    def wake(self) -> None:
        self._woken.set()

    def drain(self) -> None:
        """Claim nothing more. The sign of life goes on, for what still runs."""
        self._claiming = False

    def stop(self) -> None:
        """`run` returns soon."""
        self._stopping = True
        self._woken.set()

    async def run(self) -> None:
        while not self._stopping:
            self._woken.clear()
            try:
                delay = await self._turn()
            except DatabaseError as error:
                _log.warning("dispatch_turn_failed", extra={"error": str(error)})
                delay = AWAY_DELAY
            if delay > 0 and not self._stopping:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), delay)

    async def leave(self) -> None:
        """The process ends, and holds nothing any more."""
        await leave(self._database, self._process)

    async def _turn(self) -> float:
        """One look at everything; answers how long nothing is to be done."""
        now = asyncio.get_running_loop().time()
        await self._give_sign_of_life(now)
        await self._give_back_forgotten(now)
        await self._promote(now)
        delay = self._settings.poll_interval
        room = min(self._starter.room, self._settings.batch_size)
        if room and self._claiming and await self._starter.is_there():
            claimed, skipped = await self._claim(room)
            if claimed:
                delay = 0.0
            elif skipped:
                delay = SKIPPED_DELAY
        now = asyncio.get_running_loop().time()
        upcoming = [self._next_beat, self._next_promotion]
        if self._due_at is not None:
            upcoming.append(self._due_at)
        return max(0.0, min(delay, self._starter.due_in(now), min(upcoming) - now))

    # ---- claim and start ---------------------------------------------------------------------------------------------

    async def _claim(self, room: int) -> tuple[bool, bool]:
        """Whether anything was claimed, which is started by now, and whether to look again soon."""
        claimed = skipped = False
        begun = perf_counter()
        async for claim in claim_in_turns(self._database, self._process.id, room):
            CLAIM_SECONDS.observe(perf_counter() - begun)
            CLAIMS.add(by=len(claim.claimed))
            await self._start(claim)
            claimed = claimed or bool(claim.claimed)
            skipped = skipped or claim.skipped
            begun = perf_counter()
        return claimed, skipped

    async def _start(self, claim: Claim) -> None:
        """Each item alone: what goes wrong with one touches no other, and is found again by the check or the sweep."""
        crash_point("after_claim")
        for full in claim.full:
            CAPACITY_REACHED.add()
            _log.info(
                "workspace_at_capacity",
                extra={
                    "workspaceId": str(full.workspace_id),
                    "active": full.active,
                    "limit": full.running_limit,
                },
            )
        if isinstance(self._starter, DistantStarter):
            await self._hand_over(self._starter, claim.claimed)
        else:
            for claimed in claim.claimed:
                await self._start_one(claimed)
        for fault in claim.faults:
            try:
                await self._starter.put_off(fault)
            except Exception as error:  # noqa: BLE001 - see above
                self._tell(fault, error)
        for stray in claim.strays:
            try:
                async with self._database.transaction() as connection:
                    await put_aside(connection, stray)
            except Exception as error:  # noqa: BLE001 - see above
                self._tell(stray, error)

    async def _hand_over(self, starter: DistantStarter, claimed: Sequence[Claimed]) -> None:
        """Started side by side, for each start is a way to another machine and back; settled together."""
        started = await asyncio.gather(*map(self._start_one, claimed))
        taken = [each for each, has_it in zip(claimed, started, strict=True) if has_it]
        if taken:
            await starter.settle(taken)

    async def _start_one(self, claimed: Claimed) -> bool:
        try:
            if (
                claimed.row["suspect"]
                and not self._starter.distant
                and not await self._gets_its_turn(claimed)
            ):
                return False
            if await self._starter.start(claimed):
                return True
            self._announcer.announce((claimed.workspace_id,))  # its slot is free again
        except Exception as error:  # noqa: BLE001 - see above
            self._tell(claimed, error)
        return False

    async def _gets_its_turn(self, claimed: Claimed) -> bool:
        """A run that may have killed its owners is driven beside no other such run, and settled before it begins.

        So whoever recovers it next knows whether it was driven.
        """
        if self._starter.drives_suspect:
            await postpone(self._database, claimed.execution_id, self._process.id, SUSPECT_DELAY)
            ids = {"executionId": str(claimed.execution_id), "queueId": str(claimed.queue_id)}
            _log.info("suspect_postponed", extra=ids)
            ITEMS_PROCESSED.add("postponed")
            return False
        drive = Drive(claimed.execution_id, claimed.run, claimed.token)
        async with self._database.transaction() as connection:
            return bool(await settle_dispatched(connection, [drive], self._process.id))

    def _tell(self, item: Claimed | Stray | Fault, error: Exception) -> None:
        DISPATCH_FAILURES.add("error")
        unforeseen = None if isinstance(error, DatabaseError) else error
        _log.error(
            "queue_item_error",
            extra={"queueId": str(item.queue_id), "error": str(error)},
            exc_info=unforeseen,
        )

    # ---- what else is due --------------------------------------------------------------------------------------------

    async def _give_sign_of_life(self, now: float) -> None:
        room, error = self._starter.room, self._starter.engine_error
        RUNS.set(len(self._starter.running))
        if now < self._next_beat and error == self._said_of_engine:
            return
        if not self.registered.is_set() or not await renew(self._database, self._process, room, error):
            if self.registered.is_set():
                _log.warning("process_judged_dead", extra={"processId": str(self._process.id)})
            await register(self._database, self._process, room)
            self.registered.set()
        self._said_of_engine = error
        self._next_beat = now + self._settings.lease_ttl / 3

    async def _give_back_forgotten(self, now: float) -> None:
        """What is ours by the rows but is not driven: a claim whose answer was lost, a start that broke off."""
        if self._next_check is not None and now >= self._next_check:
            found = await hand_back_forgotten(self._database, self._process.id, self._starter.running)
            if found:
                RECOVERIES.add("forgotten", by=len(found))
                _log.warning("items_recovered", extra={"count": len(found), "reason": "forgotten"})
                self._announcer.announce({workspace_id for _, workspace_id in found})
            self._next_check = None
        if self._next_check is None:
            self._next_check = now + self._settings.lease_ttl

    async def _promote(self, now: float) -> None:
        if now < self._next_promotion and (self._due_at is None or now < self._due_at):
            return
        workspaces = await promote_due(self._database)
        if workspaces:
            crash_point("after_promotion")
            self._announcer.announce(workspaces)
        async with self._database.read() as connection:
            due_in = await next_due_in(connection)
        if not due_in and len(workspaces) < MOST:
            self._due_at = None  # none is on its way, or somebody holds it: look again when it is time to
        else:
            self._due_at = now + (due_in or 0.0)
        self._next_promotion = now + PROMOTE_INTERVAL
