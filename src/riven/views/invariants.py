"""What must hold at every moment, checked on the rows as they are: each invariant counts its violations in one statement.

A count above zero is a defect of riven, or somebody has changed rows by hand. Each description names the tolerance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from riven.db.engine import Connection

GRACE: Final = 60.0
"""Seconds after the death of an owner within which what it held is back in line."""
_RECENT: Final = 2_000
"""Finished executions whose journals are looked at."""


@dataclass(frozen=True, slots=True)
class Invariant:
    name: str
    description: str
    statement: str
    """$1: seconds after which a process that gives no sign of life is dead, its grace included."""


@dataclass(frozen=True, slots=True)
class Checked:
    name: str
    violations: int
    description: str


# Admissions of a workspace come one after another, and each has left its time and the limit under which it was counted.
# Of the executions that run now, those admitted up to and including any of them were all counted then.
_ADMISSION = """
SELECT count(*)
FROM (
    SELECT admitted_limit,
           count(*) OVER (PARTITION BY workspace_id ORDER BY admitted_at NULLS FIRST) AS running
    FROM workflow_executions
    WHERE status = 'RUNNING'
) r
WHERE running > admitted_limit AND $1::float8 >= 0
"""

_ACCOUNTED = """
SELECT (SELECT count(*) FROM workflow_executions e
        WHERE e.status = 'PENDING' AND NOT EXISTS (SELECT FROM execution_queue q WHERE q.execution_id = e.id))
     + (SELECT count(*) FROM workflow_executions e
        WHERE e.status IN ('WAITING', 'PAUSED')
          AND NOT EXISTS (SELECT FROM execution_queue q WHERE q.execution_id = e.id))
     + (SELECT count(*) FROM execution_queue q
        WHERE q.status <> 'FAILED' AND NOT EXISTS (SELECT FROM workflow_executions e WHERE e.id = q.execution_id))
WHERE $1::float8 >= 0
"""

_DRIVEN = """
SELECT count(*)
FROM workflow_executions e
LEFT JOIN execution_queue q ON q.execution_id = e.id
LEFT JOIN processes p ON p.id = e.owner_id
WHERE e.status = 'RUNNING'
  AND q.status IS DISTINCT FROM 'PENDING'
  AND (q.status = 'DISPATCHED' AND q.owner_id IS NULL) IS NOT TRUE
  AND coalesce(p.seen_at, q.claimed_at, '-infinity') < now() - make_interval(secs => $1)
"""

_FINISHED = """
SELECT count(*)
FROM execution_queue q
JOIN workflow_executions e ON e.id = q.execution_id
WHERE q.status <> 'FAILED' AND e.finished_at IS NOT NULL AND $1::float8 >= 0
"""

_OWNED = """
SELECT count(*)
FROM execution_queue q
LEFT JOIN processes p ON p.id = q.owner_id
WHERE q.status = 'CLAIMED'
  AND (q.owner_id IS NULL OR coalesce(p.seen_at, q.claimed_at, '-infinity') < now() - make_interval(secs => $1))
"""

# Every answer has a place of its own in the journal of its execution: two at one place were recorded by two drivers.
_OUTCOMES = f"""
WITH looked_at AS (
    SELECT id FROM workflow_executions WHERE status = 'RUNNING'
    UNION ALL
    (SELECT id FROM workflow_executions WHERE finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT {_RECENT})
), answers AS (
    SELECT n.execution_id, s.seq
    FROM workflow_execution_nodes n
    JOIN looked_at l ON l.id = n.execution_id
    CROSS JOIN LATERAL (VALUES (n.seq), (n.expanded_seq)) AS s (seq)
    UNION ALL
    SELECT c.execution_id, s.seq
    FROM workflow_execution_scopes c
    JOIN looked_at l ON l.id = c.execution_id
    CROSS JOIN LATERAL (VALUES (c.seq), (c.checked_seq)) AS s (seq)
    UNION ALL
    SELECT g.execution_id, g.seq FROM signals g JOIN looked_at l ON l.id = g.execution_id
)
SELECT count(*)
FROM (SELECT execution_id, seq FROM answers WHERE seq IS NOT NULL GROUP BY execution_id, seq HAVING count(*) > 1) doubled
WHERE $1::float8 >= 0
"""  # noqa: S608 - a constant

INVARIANTS: Final = (
    Invariant(
        "admissions_within_limit",
        "No execution was admitted above the limit that was in force then. A limit that was lowered since stops nothing "
        "that runs. No tolerance.",
        _ADMISSION,
    ),
    Invariant(
        "accepted_is_accounted_for",
        "Accepted executions are pending, running, waiting, paused or finished, and none of them is lost: what is "
        "unfinished and driven by nobody has a queue item, and every item has its execution. No tolerance; rows that "
        "somebody deletes by hand are mended within a minute.",
        _ACCOUNTED,
    ),
    Invariant(
        "running_is_driven",
        "Whatever is RUNNING has a live owner, an item in line, or a workflow in Temporal (which the reconciler asks for), "
        "or its owner died less than a minute ago.",
        _DRIVEN,
    ),
    Invariant(
        "finished_has_left_the_line",
        "No finished execution has a queue item, but for the dead letters (FAILED). No tolerance.",
        _FINISHED,
    ),
    Invariant(
        "claimed_has_an_owner",
        "Every CLAIMED item has an owner that lives, or that died less than a minute ago.",
        _OWNED,
    ),
    Invariant(
        "one_outcome_per_attempt",
        f"Each attempt of a node has one outcome, and each place of a journal one answer: looked at in what runs and in "
        f"the {_RECENT:,} executions that finished last. No tolerance.",
        _OUTCOMES,
    ),
)


async def check_invariants(connection: Connection, lease_ttl: float) -> Sequence[Checked]:
    """`lease_ttl` in seconds, as the processes have it."""
    return [
        Checked(each.name, await connection.fetch_value(each.statement, lease_ttl + GRACE), each.description)
        for each in INVARIANTS
    ]
