"""Claim executions: fairly, within every workspace's limit, never waiting for anybody.

One turn is one transaction and serves up to `CANDIDATES` workspaces; turns follow until the room is used up or nothing is
found, and what one has claimed is handed on before the next begins. Two processes never admit for one workspace at once, so a count is exact for as long as it
matters; a workspace that another process is serving is skipped and tried again 20 ms later.

A claim that fails because of one of its items is repeated with each item for itself: only that one is at fault.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from riven.db.engine import Connection, Database, Row
from riven.db.errors import ConflictError, ConstraintError, StatementError
from riven.db.statements import load
from riven.queue.turns import Line, Served, choose
from riven.telemetry.crashpoints import crash_point

CANDIDATES = 16
_LINE = 64
"""At most so many items of one workspace in one claim."""

_CANDIDATES = load("riven.queue", "candidates")
_LOCK_WORKSPACES = load("riven.queue", "lock_workspaces")
_CHOOSE = load("riven.queue", "choose")
_CLAIM = load("riven.queue", "claim")
_MARK_SERVED = load("riven.queue", "mark_served")
_RECHECK_HINTS = load("riven.queue", "recheck_hints")
_AT_FAULT = (StatementError, ConstraintError, ValueError)
"""What one item can do to a statement that it shares; the last when its JSON cannot be read."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """An execution that this process drives from now on, and the rows it was made from."""

    queue_id: UUID
    execution_id: UUID
    workspace_id: UUID
    run: int
    token: int
    attempts: int
    row: Row
    """All columns of the execution that a start needs; see sql/claim.sql."""


@dataclass(frozen=True, slots=True)
class Stray:
    """An item that cannot be started: its execution is gone (`status` None) or is in a status that needs no start."""

    queue_id: UUID
    execution_id: UUID
    status: str | None


@dataclass(frozen=True, slots=True)
class Fault:
    """An item that cannot be claimed: what stands in its rows cannot be read, or what a claim writes is refused."""

    queue_id: UUID
    error: str


@dataclass(frozen=True, slots=True)
class Claim:
    claimed: Sequence[Claimed]
    strays: Sequence[Stray]
    skipped: bool
    """A workspace was being served by somebody else: look again soon."""
    full: Sequence[Served]
    """Workspaces that this claim brought to their limit while more of theirs waits."""
    faults: Sequence[Fault] = ()


async def claim_executions(database: Database, owner: UUID, room: int) -> Claim:
    """Claim up to `room` executions for `owner`, from as many workspaces as it takes."""
    parts = [part async for part in claim_in_turns(database, owner, room)]
    return Claim(
        [claimed for part in parts for claimed in part.claimed],
        [stray for part in parts for stray in part.strays],
        any(part.skipped for part in parts),
        [served for part in parts for served in part.full],
        [fault for part in parts for fault in part.faults],
    )


async def claim_in_turns(database: Database, owner: UUID, room: int) -> AsyncIterator[Claim]:
    """The same, part by part as each is committed, so that what is claimed need not wait for what may be found yet.

    The last part tells only whether a hint that was set turned out to be wrong.
    """
    taken = 0
    tried: list[UUID] = []
    hinted: list[UUID] = []
    while taken < room:
        async with database.read() as connection:
            candidates = [row["id"] for row in await connection.fetch(_CANDIDATES, CANDIDATES, tried)]
        if not candidates:
            break
        claim = await _serve(database, owner, candidates, room - taken, hinted)
        yield claim
        taken += len(claim.claimed)
        tried += candidates
    if hinted:
        async with database.read() as connection:
            if await recheck_hints(connection, hinted):
                yield Claim((), (), skipped=True, full=())


async def recheck_hints(connection: Connection, workspaces: Sequence[UUID]) -> list[UUID]:
    """Clear the hints of those that have something to give after all; answers which."""
    return [row["id"] for row in await connection.fetch(_RECHECK_HINTS, workspaces)]


async def _serve(
    database: Database, owner: UUID, candidates: list[UUID], room: int, hinted: list[UUID]
) -> Claim:
    """`hinted` gets the workspaces that have nothing more to give, as far as this claim could see."""
    try:
        return await _serve_as(database, owner, candidates, room, hinted, alone=False)
    except ConflictError:
        return Claim((), (), skipped=True, full=())
    except _AT_FAULT:
        pass  # of one of them, perhaps
    try:
        return await _serve_as(database, owner, candidates, room, hinted, alone=True)
    except ConflictError:
        return Claim((), (), skipped=True, full=())


async def _serve_as(
    database: Database,
    owner: UUID,
    candidates: list[UUID],
    room: int,
    hinted: list[UUID],
    *,
    alone: bool,
) -> Claim:
    rows: list[Row] = []
    faults: list[Fault] = []
    async with database.transaction() as connection:
        locked = [row["id"] for row in await connection.fetch(_LOCK_WORKSPACES, candidates)]
        if not locked:
            return Claim((), (), skipped=True, full=())
        chosen, served = await _choose(connection, locked, room)
        if chosen and not alone:
            rows = await _take(connection, owner, chosen, served)
        for queue_id in chosen if alone else ():
            try:
                async with connection.savepoint():
                    rows += await _take(connection, owner, [queue_id], served)
            except _AT_FAULT as error:
                faults.append(Fault(queue_id, str(error)))
        await _mark(connection, served)
        crash_point("during_claim")
    hinted += [each.workspace_id for each in served if each.idle or each.at_capacity]
    claimed = [_claimed(row) for row in rows if row["token"] is not None]
    strays = [
        Stray(row["queue_id"], row["execution_id"], row["found_status"])
        for row in rows
        if row["token"] is None and not row["busy"]
    ]
    again = any(row["busy"] for row in rows)
    full = [each for each in served if each.taken and each.at_capacity]
    return Claim(claimed, strays, skipped=again or len(locked) < len(candidates), full=full, faults=faults)


async def _take(
    connection: Connection, owner: UUID, chosen: list[UUID], served: Sequence[Served]
) -> list[Row]:
    workspaces = [each.workspace_id for each in served]
    return await connection.fetch(_CLAIM, chosen, owner, workspaces, [each.running_limit for each in served])


async def _choose(connection: Connection, locked: list[UUID], room: int) -> tuple[list[UUID], list[Served]]:
    most = min(room, _LINE)
    lines = [
        Line(
            workspace_id=row["workspace_id"],
            weight=row["weight"],
            running_limit=row["running_limit"],
            in_use=row["in_use"],
            items=list(zip(row["queue_ids"] or (), row["holds_slot"] or (), strict=True)),
            complete=len(row["queue_ids"] or ()) < most,
        )
        for row in await connection.fetch(_CHOOSE, locked, most)
    ]
    return choose(lines, room)


async def _mark(connection: Connection, served: Sequence[Served]) -> None:
    await connection.execute(
        _MARK_SERVED,
        [each.workspace_id for each in served],
        [each.taken > 0 for each in served],
        [each.idle for each in served],
        [each.at_capacity for each in served],
    )


def _claimed(row: Row) -> Claimed:
    return Claimed(
        queue_id=row["queue_id"],
        execution_id=row["execution_id"],
        workspace_id=row["workspace_id"],
        run=row["run"],
        token=row["token"],
        attempts=row["attempts"],
        row=row,
    )
