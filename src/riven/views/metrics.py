"""What rows tell operators, as metrics: of the whole installation, no tenant's own view."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from riven.db.engine import Connection, Row
from riven.telemetry import names
from riven.telemetry.names import Metric

SHOWN = 50
"""Workspaces that have a value of their own because they wait longest, and as many for the length of their line."""
OTHER = "other"

# One pass over the queue, which holds only what is unfinished, and failed items of some days.
_LINES = """
SELECT q.workspace_id,
       count(*) FILTER (WHERE q.status = 'PENDING' AND q.due) AS due,
       count(*) FILTER (WHERE q.status = 'PENDING' AND NOT q.due AND q.available_at IS NOT NULL) AS scheduled,
       count(*) FILTER (WHERE q.status = 'PENDING' AND NOT q.due AND q.available_at IS NULL) AS parked,
       count(*) FILTER (WHERE q.status = 'CLAIMED') AS claimed,
       count(*) FILTER (WHERE q.status = 'DISPATCHED') AS dispatched,
       count(*) FILTER (WHERE q.status = 'FAILED') AS failed,
       coalesce(extract(epoch FROM now() - min(q.available_at) FILTER (WHERE q.status = 'PENDING' AND q.due)), 0)::float8
           AS oldest
FROM execution_queue q
GROUP BY q.workspace_id
"""
_RUNNING = """
SELECT r.workspace_id, r.running, r.running >= coalesce(w.running_limit, t.running_limit) AS full
FROM (SELECT workspace_id, count(*) AS running FROM workflow_executions WHERE status = 'RUNNING' GROUP BY 1) r
JOIN workspaces w ON w.id = r.workspace_id
JOIN workspace_tiers t ON t.name = w.tier
"""
_PROCESSES = """
SELECT id, role, name, metrics FROM processes
WHERE NOT dead AND seen_at > now() - interval '1 minute' ORDER BY started_at, id
"""
_NEEDED = ("worker", "maintenance")
"""Of these none is worth a zero: it can be asked for, where a value that is not there cannot."""
_STATUSES = ("due", "scheduled", "parked", "claimed", "dispatched", "failed")


@dataclass(frozen=True, slots=True)
class Readings:
    values: Mapping[Metric, Sequence[tuple[tuple[str, ...], float]]]
    processes: Mapping[str, Mapping[str, Any]]
    """What each process has counted, by a name of its own."""


async def read_metrics(connection: Connection, own: str) -> Readings:
    """`own`: the process that asks, as it reports itself."""
    lines = await connection.fetch(_LINES)
    running = await connection.fetch(_RUNNING)
    processes = await connection.fetch(_PROCESSES)
    waiting = [row for row in lines if row["due"]]
    shown = {row["workspace_id"] for row in _first(waiting, "oldest") + _first(waiting, "due")}
    full = {row["workspace_id"] for row in running if row["full"]}
    depth: list[tuple[tuple[str, ...], float]] = []
    oldest: list[tuple[tuple[str, ...], float]] = []
    others = [row for row in waiting if row["workspace_id"] not in shown]
    for row in waiting:
        if row["workspace_id"] in shown:
            depth.append(((str(row["workspace_id"]),), row["due"]))
            oldest.append(((str(row["workspace_id"]),), row["oldest"]))
    depth.append(((OTHER,), sum(row["due"] for row in others)))
    oldest.append(((OTHER,), max((row["oldest"] for row in others), default=0)))
    roles = [row["role"] for row in processes]
    return Readings(
        values={
            names.QUEUE_DEPTH: depth,
            names.QUEUE_OLDEST: oldest,
            names.QUEUE_ITEMS: [((status,), sum(row[status] for row in lines)) for status in _STATUSES],
            names.WAITING_FOR_CAPACITY: [
                ((), sum(row["due"] for row in waiting if row["workspace_id"] in full))
            ],
            names.RUNNING: [((), sum(row["running"] for row in running))],
            names.PROCESSES: [((role,), roles.count(role)) for role in dict.fromkeys((*_NEEDED, *roles))],
        },
        processes=_by_name(processes, own),
    )


def _first(rows: Sequence[Row], column: str) -> list[Row]:
    def value(row: Row) -> Any:  # noqa: ANN401 - a number
        return row[column]

    return sorted(rows, key=value, reverse=True)[:SHOWN]


def _by_name(rows: Sequence[Row], own: str) -> dict[str, Mapping[str, Any]]:
    """Once for every process, under its first name; `own` asks, and knows better what it has counted."""
    found: dict[str, Mapping[str, Any]] = {}
    seen = {own}
    for row in rows:
        reported = row["metrics"]
        if reported is not None and reported["process"] not in seen:
            seen.add(reported["process"])
            name = row["name"] if row["name"] not in found else f"{row['name']} {row['id']}"
            found[name] = reported["counted"]
    return found
