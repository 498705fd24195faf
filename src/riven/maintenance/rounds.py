"""Have duties done again and again, each by one replica at a time, and none of them held up by another."""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

from riven.db.engine import Database
from riven.db.errors import ConflictError, DatabaseError, DatabaseUnavailableError
from riven.queue.locks import acquire, release

_LEASES = 3
"""Rounds for which a replica keeps a duty without renewing it; then another takes it over."""
_SHORTEST_LEASE = 3.0

_log = logging.getLogger("riven.maintenance")


@dataclass(frozen=True, slots=True)
class Duty:
    name: str
    """Of its lock, too."""
    every: float
    """Seconds from one round to the next."""
    perform: Callable[[], Awaitable[None]]
    alone: bool = True
    """One replica does it at a time; otherwise each does it for itself."""


class Rounds:
    def __init__(self, database: Database, owner: UUID, duties: Sequence[Duty]) -> None:
        self._database = database
        self._owner = owner
        self._duties = duties
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [
            loop.create_task(self._repeat(duty), name=f"riven-{duty.name}") for duty in self._duties
        ]

    async def wait(self) -> None:
        """Raises what ended a duty for good: none ends by itself."""
        await asyncio.gather(*self._tasks)

    async def stop(self) -> None:
        """Another replica may go on at once."""
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        with contextlib.suppress(DatabaseError, TimeoutError):
            async with asyncio.timeout(_SHORTEST_LEASE):
                for duty in filter(_is_alone, self._duties):
                    await release(self._database, duty.name, self._owner)

    async def _repeat(self, duty: Duty) -> None:
        while True:
            await self.perform(duty)
            await asyncio.sleep(duty.every)

    async def perform(self, duty: Duty) -> None:
        """One round, if the duty is ours."""
        lease = max(_LEASES * duty.every, _SHORTEST_LEASE)
        try:
            if not duty.alone or await acquire(self._database, duty.name, self._owner, lease):
                await duty.perform()
        except (DatabaseUnavailableError, ConflictError) as error:
            _log.warning("database_away", extra={"duty": duty.name, "error": str(error)})
        except Exception as error:  # noqa: BLE001 - a defect in one duty stops neither it nor the others
            _log.exception("maintenance_failed", extra={"duty": duty.name, "error": str(error)})


def _is_alone(duty: Duty) -> bool:
    return duty.alone
