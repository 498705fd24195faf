"""Why an execution waits: the first reason that holds, since when, until when, behind which limit, in which position.

Read from rows alone: what is known of engines is what their processes say of themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypeAlias
from uuid import UUID

from riven.db.engine import Connection, Row
from riven.db.statements import load
from riven.views.nodes import milliseconds
from riven.wire.document import Json
from riven.wire.shown import show_time

MOST_HOLDERS: Final = 20
MOST_AHEAD: Final = 100_000
"""Farther back in line, the position is not told: nobody counts a million rows to show one of them."""

_FACTS: Final = load("riven.views", "waiting_facts")
_ENGINES: Final = load("riven.views", "waiting_engines")
_ELSEWHERE: Final = load("riven.views", "waiting_elsewhere")
_POSITION: Final = load("riven.views", "waiting_position")
_NODES: Final = load("riven.views", "waiting_nodes")
_IN_USE: Final = """
SELECT w.id, (SELECT count(*) FROM workflow_executions e WHERE e.workspace_id = w.id AND e.status = 'RUNNING') AS in_use
FROM unnest($1::uuid[]) AS w (id)
"""
_HOLDERS: Final = """
SELECT id FROM workflow_executions WHERE workspace_id = $1 AND status = 'RUNNING' ORDER BY id LIMIT $2
"""

Facts: TypeAlias = Mapping[str, Any]
"""A row of sql/waiting_facts.sql."""

_CONTAINERS: Final = frozenset({"for_each", "repeat", "call"})
_OWN_ORDER: Final = ("approval", "signal", "timer", "retry")
_NODE_KINDS: Final = {"approval": "approval", "signal": "signal", "wait": "timer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    kind: str
    since: datetime | None
    until: datetime | None = None
    limit: int | None = None
    in_use: int | None = None
    holders: Sequence[UUID] | None = None
    position: int | None = None

    def shown(self) -> dict[str, Json]:
        """What does not apply is left out."""
        shown: dict[str, Json] = {"kind": self.kind, "since": show_time(milliseconds(self.since))}
        if self.until is not None:
            shown["until"] = show_time(milliseconds(self.until))
        if self.limit is not None:
            shown["limit"] = self.limit
        if self.in_use is not None:
            shown["inUse"] = self.in_use
        if self.holders is not None:
            shown["holders"] = [str(each) for each in self.holders]
        if self.position is not None:
            shown["position"] = self.position
        return shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Engines:
    """What the processes that claim say of themselves."""

    seen: bool
    """One was, within 30 s."""
    enabled: bool
    error: str | None
    """What all of them say is wrong with the engine."""


async def engine_trouble(connection: Connection) -> str | None:
    """What all processes that claim say is wrong with the engine; None also where there is none of them."""
    return (await _engines(connection)).error


async def why_waiting(connection: Connection, execution_id: UUID) -> Waiting | None:
    """None: it does not wait, or is not there. With who holds the slots, and the position in line."""
    found = await connection.fetch_row(_FACTS, [execution_id])
    if found is None:
        return None
    row = dict(found)
    if _is_driven(row):
        waiting = _of_nodes(await connection.fetch(_NODES, execution_id))
        return await _left_elsewhere(connection, row) if waiting is None and row["elsewhere"] else waiting
    engines = await _engines(connection)
    (in_use,) = (await _in_use(connection, [row["workspace_id"]])).values()
    waiting = reason(row, engines, in_use)
    if waiting is None or not is_due(row):
        return waiting
    holders = None
    if waiting.kind == "workspace_limit":
        holders = [each["id"] for each in await connection.fetch(_HOLDERS, row["workspace_id"], MOST_HOLDERS)]
    return Waiting(
        kind=waiting.kind,
        since=waiting.since,
        until=waiting.until,
        limit=waiting.limit,
        in_use=waiting.in_use,
        holders=holders,
        position=await _position(connection, row),
    )


async def why_all_waiting(connection: Connection, executions: Sequence[UUID]) -> dict[UUID, Waiting]:
    """For lists: without holders and positions, and nothing of what runs, whatever it waits for inside."""
    if not executions:
        return {}
    rows = [row for row in map(dict, await connection.fetch(_FACTS, list(executions))) if not _is_driven(row)]
    if not rows:
        return {}
    engines = await _engines(connection)
    in_use = await _in_use(connection, list({row["workspace_id"] for row in rows}))
    found = {row["id"]: reason(row, engines, in_use[row["workspace_id"]]) for row in rows}
    return {execution: waiting for execution, waiting in found.items() if waiting is not None}


# ---- the rules -----------------------------------------------------------------------------------------------------------


def reason(row: Facts, engines: Engines, in_use: int) -> Waiting | None:
    """Of an execution that nobody drives."""
    status = row["status"]
    if status == "PAUSED":
        return Waiting(kind="paused", since=row["waiting_since"])
    if status not in ("PENDING", "WAITING", "RUNNING"):
        return None
    if not is_due(row):
        return _not_due(row)
    since = _latest(row["available_at"], row["created_at"])
    if row["disabled"]:
        return Waiting(kind="workspace_disabled", since=since)
    if engines.seen and not engines.enabled:
        return Waiting(kind="engine_disabled", since=since)
    limit = row["running_limit"]
    if status != "RUNNING" and limit is not None and in_use >= limit:
        return Waiting(kind="workspace_limit", since=since, limit=limit, in_use=in_use)
    if engines.seen and engines.error is not None:
        return Waiting(kind="engine_down", since=since)
    return Waiting(kind="worker_busy" if engines.seen else "worker_absent", since=since)


def is_due(row: Facts) -> bool:
    """Whether a claim may take it, or would if it looked now. An item that is gone will be made anew."""
    return row["queue_status"] is None or bool(row["due"]) or bool(row["comes_due"])


def _not_due(row: Facts) -> Waiting:
    held_back = row["item_kind"]
    if held_back in ("dispatch_retry", "engine_down"):
        return Waiting(kind=held_back, since=row["waiting_since"], until=row["available_at"])
    kind = row["waiting_kind"]
    if kind in _OWN_ORDER:
        return Waiting(kind=kind, since=row["waiting_since"], until=row["waiting_until"])
    return Waiting(kind="timer", since=row["created_at"], until=row["available_at"])


def _of_nodes(rows: Sequence[Row]) -> Waiting | None:
    """A run that somebody drives waits when none of its nodes does anything, and some are waited for."""
    if any(row["status"] == "RUNNING" and row["type"] not in _CONTAINERS for row in rows):
        return None
    by_kind: dict[str, Row] = {}
    for row in rows:
        if row["status"] == "RUNNING":
            continue
        kind = "retry" if row["status"] == "FAILED" else _NODE_KINDS.get(row["type"], "timer")
        known = by_kind.get(kind)
        if known is None or _until(row) < _until(known):
            by_kind[kind] = row
    for kind in _OWN_ORDER:
        first = by_kind.get(kind)
        if first is not None:
            since = first["finished_at"] if kind == "retry" else first["started_at"]
            return Waiting(
                kind=kind, since=since, until=first["next_retry_at"] if kind == "retry" else first["due_at"]
            )
    return None


def _until(row: Row) -> float:
    moment = row["next_retry_at"] if row["status"] == "FAILED" else row["due_at"]
    return float("inf") if moment is None else float(moment.timestamp())


def _latest(*moments: datetime | None) -> datetime | None:
    return max((moment for moment in moments if moment is not None), default=None)


# ---- what they are asked of ----------------------------------------------------------------------------------------------


def _is_driven(row: Facts) -> bool:
    return bool(row["status"] == "RUNNING" and row["queue_status"] != "PENDING")


async def _left_elsewhere(connection: Connection, row: Facts) -> Waiting | None:
    """A run that an engine elsewhere has does not go on without that engine, nor without its workers."""
    workers = await connection.fetch_row(_ELSEWHERE)
    assert workers is not None  # noqa: S101  # an aggregate always has a row
    if workers["seen"] and workers["error"] is None:
        return None
    return Waiting(kind="engine_down" if workers["seen"] else "worker_absent", since=row["dispatched_at"])


async def _engines(connection: Connection) -> Engines:
    row = await connection.fetch_row(_ENGINES)
    assert row is not None  # noqa: S101  # an aggregate always has a row
    return Engines(seen=row["seen"], enabled=row["enabled"], error=row["error"])


async def _in_use(connection: Connection, workspaces: list[UUID]) -> dict[UUID, int]:
    return {row["id"]: row["in_use"] for row in await connection.fetch(_IN_USE, workspaces)}


async def _position(connection: Connection, row: Facts) -> int | None:
    if row["queue_status"] != "PENDING" or not row["due"]:
        return None
    ahead: int = await connection.fetch_value(
        _POSITION,
        row["workspace_id"],
        row["holds_slot"],
        row["priority"],
        row["aged_at"],
        row["queue_id"],
        MOST_AHEAD,
    )
    return ahead + 1 if ahead < MOST_AHEAD else None
