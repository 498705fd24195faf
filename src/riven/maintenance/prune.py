"""Clear away rows whose time is up, some at a time: no statement holds many locks, and a round may be broken off."""

import logging
from collections.abc import Awaitable, Callable

from riven.completion.pruning import prune_executions
from riven.db.engine import Connection, Database
from riven.intake.idempotency import prune_keys
from riven.queue.lease import forget_dead
from riven.queue.locks import prune_locks
from riven.queue.repair import prune_dead_letters
from riven.telemetry.metrics import PRUNED

KEYS_KEPT = 86_400.0 + 3_600.0
"""Seconds: a day at least is promised."""
DEAD_LETTERS_KEPT = 7 * 86_400.0
PROCESSES_KEPT = 86_400.0
BATCH = 1_000

_log = logging.getLogger("riven.maintenance")


async def prune(database: Database, *, history_retention: float) -> None:
    """`history_retention` in seconds; 0 keeps executions for ever."""
    await in_batches(
        database, "idempotency_keys", lambda connection, most: prune_keys(connection, KEYS_KEPT, most)
    )
    await in_batches(
        database,
        "dead_letters",
        lambda connection, most: prune_dead_letters(connection, DEAD_LETTERS_KEPT, most),
    )
    if history_retention:
        await in_batches(
            database,
            "executions",
            lambda connection, most: prune_executions(connection, history_retention, most),
            batch=100,
        )
    await in_batches(
        database, "processes", lambda connection, most: forget_dead(connection, PROCESSES_KEPT, most)
    )
    await in_batches(
        database, "locks", lambda connection, most: prune_locks(connection, PROCESSES_KEPT, most)
    )


async def in_batches(
    database: Database,
    kind: str,
    remove: Callable[[Connection, int], Awaitable[int]],
    batch: int = BATCH,
) -> None:
    """`remove` answers how many of at most so many rows it has removed."""
    total = 0
    while True:
        async with database.transaction() as connection:
            count = await remove(connection, batch)
        total += count
        if count < batch:
            break
    if total:
        PRUNED.add(kind, by=total)
        _log.info("rows_pruned", extra={"kind": kind, "count": total})
