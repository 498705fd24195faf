"""The loop that serves the queue: claim, start, again; woken by whoever makes something startable.

It also gives the process's sign of life, because the sign must prove that this loop works, not that a timer does.
"""

import asyncio
import contextlib
import logging
from dataclasses import dataclass

from riven.db.engine import Database
from riven.db.errors import DatabaseError
from riven.dispatch.starter import Starter, put_aside
from riven.queue.claim import Claim, claim_executions
from riven.queue.lease import Process, leave, register, renew
from riven.queue.recover import next_due_in, promote_due
from riven.queue.wake import Announcer
from riven.telemetry.crashpoints import crash_point

SKIPPED_DELAY = 0.020
PROMOTE_INTERVAL = 1.0
AWAY_DELAY = 1.0

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
        self._stopping = False
        self._registered = False
        self._next_beat = 0.0
        self._next_promotion = 0.0
        self._due_at: float | None = None

    def wake(self) -> None:
        self._woken.set()

    def stop(self) -> None:
        """Claim nothing more; `run` returns soon."""
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
        await leave(self._database, self._process)

    async def _turn(self) -> float:
        """One look at everything; answers how long nothing is to be done."""
        now = asyncio.get_running_loop().time()
        await self._give_sign_of_life(now)
        await self._promote(now)
        delay = self._settings.poll_interval
        room = min(self._starter.room, self._settings.batch_size)
        if room and self._settings.enabled and self._registered:
            claim = await claim_executions(self._database, self._process.id, room)
            await self._start(claim)
            if claim.claimed:
                delay = 0.0
            elif claim.skipped:
                delay = SKIPPED_DELAY
        now = asyncio.get_running_loop().time()
        upcoming = [self._next_beat, self._next_promotion]
        if self._due_at is not None:
            upcoming.append(self._due_at)
        return max(0.0, min(delay, min(upcoming) - now))

    async def _start(self, claim: Claim) -> None:
        crash_point("after_claim")
        for full in claim.full:
            _log.info(
                "workspace_at_capacity",
                extra={
                    "workspaceId": str(full.workspace_id),
                    "active": full.active,
                    "limit": full.running_limit,
                },
            )
        for claimed in claim.claimed:
            try:
                await self._starter.start(claimed)
            except DatabaseError:
                raise
            except Exception as error:  # noqa: BLE001 - one item's fault touches no other: the sweep finds it again
                _log.exception(
                    "queue_item_error", extra={"queueId": str(claimed.queue_id), "error": str(error)}
                )
        for stray in claim.strays:
            async with self._database.transaction() as connection:
                await put_aside(connection, stray)

    async def _give_sign_of_life(self, now: float) -> None:
        if now < self._next_beat:
            return
        room = self._starter.room
        if not self._registered or not await renew(self._database, self._process, room):
            await register(self._database, self._process, room)
            self._registered = True
        self._next_beat = now + self._settings.lease_ttl / 3

    async def _promote(self, now: float) -> None:
        if now < self._next_promotion and (self._due_at is None or now < self._due_at):
            return
        workspaces = await promote_due(self._database)
        if workspaces:
            self._announcer.announce(workspaces)
        async with self._database.read() as connection:
            due_in = await next_due_in(connection)
        self._due_at = None if due_in is None else now + due_in
        self._next_promotion = now + PROMOTE_INTERVAL
