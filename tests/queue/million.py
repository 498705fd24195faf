"""An installation with 10,000 workspaces and 1,000,000 items in line, and the plans of statements on it.

Most workspaces are at their limit of one, have 100 items due, some for later and some parked; a few have free slots. 20
workers drive 10,200 runs; 50,000 executions have finished, and 10,000 of them have left a dead letter.
"""

import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from riven.db.engine import Connection, Database

FULL = 10_000
FREE = 10
DUE = 90
LATER = 10
WORKERS = 20
LARGE = 10_000

# Ids as riven makes them, in the order of their numbers, so that the tables are as they would have grown.
_IDS = """
CREATE FUNCTION pg_temp.made(kind int, number int) RETURNS uuid LANGUAGE sql IMMUTABLE AS $$
    SELECT (lpad(to_hex(1700000000000 + number), 12, '0') || '7' || lpad(to_hex(kind), 3, '0') || '8'
            || substr(md5(kind || '.' || number), 1, 15))::uuid
$$
"""
_TABLES = (
    "workflow_executions",
    "execution_queue",
    "workflow_execution_nodes",
    "workflow_execution_scopes",
    "signals",
)
_SEED = f"""
INSERT INTO workspaces (id, name, tier, running_limit, idle, at_capacity)
SELECT pg_temp.made(1, n), 'w' || n, 'FREE', CASE WHEN n <= {FULL} THEN 1 ELSE 50 END, false, n <= {FULL}
FROM generate_series(1, {FULL + FREE}) n;

INSERT INTO processes (id, role, name, room)
SELECT pg_temp.made(2, n), 'worker', 'worker-' || n, 100 FROM generate_series(1, {WORKERS}) n;

-- {DUE + LATER} in line and one running for each workspace, then what waits and what has ended
INSERT INTO workflow_executions (id, workspace_id, workflow_definition_id, workflow_definition_version_id, workflow_name,
                                 version, principal, status, phase, run_started_at, started_at, owner_id, token, revision)
SELECT pg_temp.made(3, n), pg_temp.made(1, 1 + n % {FULL + FREE}), pg_temp.made(5, n % 7), pg_temp.made(6, n % 7), 'w' || n % 7, 1, 't',
       CASE WHEN n < {FULL + FREE} THEN 'RUNNING' ELSE 'PENDING' END, 'EXECUTING_NODES',
       CASE WHEN n < {FULL + FREE} THEN now() END, CASE WHEN n < {FULL + FREE} THEN now() END,
       CASE WHEN n < {FULL + FREE} THEN pg_temp.made(2, 1 + n % {WORKERS}) END, 1, 20
FROM generate_series(0, {(FULL + FREE) * (DUE + LATER + 1) - 1}) n;

INSERT INTO workflow_executions (id, workspace_id, workflow_definition_id, workflow_definition_version_id, workflow_name,
                                 version, principal, status, phase, waiting_kind, waiting_since, labels, correlation_id,
                                 finished_at, error_type, error_message, deadline_at)
SELECT pg_temp.made(4, n), pg_temp.made(1, 1 + n % {FULL + FREE}), pg_temp.made(5, n % 7), pg_temp.made(6, n % 7), 'w' || n % 7, 1, 't',
       s.status, CASE s.status WHEN 'WAITING' THEN 'EXECUTING_NODES' ELSE s.status END,
       CASE s.status WHEN 'WAITING' THEN 'signal' END, CASE s.status WHEN 'WAITING' THEN now() END,
       jsonb_build_object('n', (n % 1000)::text), 'c' || n % 10000,
       CASE WHEN s.status <> 'WAITING' THEN now() - make_interval(secs => n) END,
       CASE s.status WHEN 'FAILED' THEN 'TIMEOUT' END, CASE s.status WHEN 'FAILED' THEN 'late' END,
       CASE WHEN n % 10 = 0 THEN now() + make_interval(secs => n) END
FROM generate_series(0, 69999) n,
     LATERAL (SELECT (ARRAY['WAITING', 'WAITING', 'FAILED', 'COMPLETED', 'COMPLETED', 'COMPLETED', 'CANCELED'])[1 + n % 7] AS status) s;

INSERT INTO execution_queue (id, execution_id, workspace_id, workflow_definition_id, status, owner_id, claimed_at, dispatched_at,
                             due, available_at, failed_at)
SELECT pg_temp.made(7, row_number() OVER (ORDER BY id)::int), id, workspace_id, workflow_definition_id,
       CASE status WHEN 'RUNNING' THEN CASE owner_id WHEN pg_temp.made(2, 1) THEN 'CLAIMED' ELSE 'DISPATCHED' END WHEN 'FAILED' THEN 'FAILED' ELSE 'PENDING' END,
       owner_id, CASE status WHEN 'RUNNING' THEN now() END, CASE status WHEN 'RUNNING' THEN now() END,
       status IN ('RUNNING', 'FAILED') OR (status = 'PENDING' AND number % {DUE + LATER} < {DUE}),
       CASE WHEN status = 'WAITING' THEN NULL WHEN status = 'PENDING' AND number % {DUE + LATER} >= {DUE}
            THEN now() + make_interval(secs => 60 + number % 100000) ELSE now() END,
       CASE status WHEN 'FAILED' THEN now() END
FROM (SELECT *, row_number() OVER (ORDER BY id) / {FULL + FREE} AS number FROM workflow_executions
      WHERE status IN ('PENDING', 'RUNNING', 'WAITING', 'FAILED')) e;

INSERT INTO workflow_execution_nodes (execution_id, path, attempt, run, place, revision, type, status, started_at, finished_at, seq)
SELECT e.id, 'n' || n, 1, 1, 'b' || lpad(n::text, 2, '0'), n, 'python', CASE WHEN n < 20 THEN 'COMPLETED' ELSE 'RUNNING' END, now(),
       CASE WHEN n < 20 THEN now() END, CASE WHEN n < 20 THEN n END
FROM workflow_executions e, generate_series(1, 20) n WHERE e.status = 'RUNNING';

-- one of 10,000 nodes
INSERT INTO workflow_execution_nodes (execution_id, path, attempt, run, place, revision, type, status, started_at, finished_at, seq)
SELECT pg_temp.made(4, 2), 'n' || n, 1, 1, 'e' || lpad(n::text, 5, '0'), n, 'python', 'COMPLETED', now(), now(), n
FROM generate_series(1, {LARGE}) n;

INSERT INTO workflow_execution_scopes (execution_id, path, run, seq)
SELECT e.id, 'each[' || n || ']', 1, 100 + n FROM workflow_executions e, generate_series(1, 5) n WHERE e.status = 'RUNNING';

INSERT INTO signals (execution_id, kind, name, run, seq)
SELECT e.id, 'SIGNAL', 's', 1, CASE n WHEN 1 THEN 200 END
FROM workflow_executions e, generate_series(1, 2) n WHERE e.status IN ('RUNNING', 'WAITING');
"""
_numbers = itertools.count()
_BEFORE_GENERIC = 6
"""Executions of a prepared statement after which PostgreSQL may have one plan for all values."""
_INDEXES = """
SELECT indexdef, indexrelid::regclass::text AS name
FROM pg_index JOIN pg_indexes ON indexname = indexrelid::regclass::text
WHERE tablename = ANY ($1::text[]) AND NOT indisunique
"""


@dataclass(frozen=True, slots=True)
class Million:
    database: Database
    full: Sequence[UUID]
    """Some workspaces that are at their limit."""
    free: Sequence[UUID]
    """Those that are not."""
    running: Sequence[UUID]
    """Some executions that are driven, all by `worker`."""
    pending: Sequence[UUID]
    waiting: Sequence[UUID]
    finished: Sequence[UUID]
    large: UUID
    """An execution of 10,000 nodes."""
    items: Sequence[UUID]
    """Items of `pending`, all due, all in `free`."""
    worker: UUID
    now: datetime


@asynccontextmanager
async def million(url: str):
    database = Database(url, pool_size=2, statement_timeout=300.0)
    try:
        async with database.transaction() as connection:
            indexes = await connection.fetch(_INDEXES, list(_TABLES))
            for index in indexes:
                await connection.execute(f"DROP INDEX {index['name']}")
            await connection.execute(_IDS)
            await connection.execute(_SEED)
            for index in indexes:
                await connection.execute(index["indexdef"])
        async with database.read() as connection:
            await connection.execute("VACUUM ANALYZE")
            yield await _found(database, connection)
    finally:
        await database.close()


async def _found(database: Database, connection: Connection) -> Million:
    async def ids(statement: str, *values: object) -> list[UUID]:
        return [row["id"] for row in await connection.fetch(f"{statement} LIMIT 50", *values)]

    free = await ids("SELECT id FROM workspaces WHERE NOT at_capacity")
    worker = await connection.fetch_value("SELECT id FROM processes ORDER BY id LIMIT 1")
    items = await ids(
        "SELECT id FROM execution_queue WHERE workspace_id = ANY ($1) AND status = 'PENDING' AND due", free
    )
    return Million(
        database=database,
        full=(await ids("SELECT id FROM workspaces WHERE at_capacity"))[:16],
        free=free,
        running=await ids(
            "SELECT id FROM workflow_executions WHERE owner_id = $1 AND status = 'RUNNING'", worker
        ),
        pending=await ids("SELECT execution_id AS id FROM execution_queue WHERE id = ANY ($1)", items),
        waiting=await ids("SELECT id FROM workflow_executions WHERE status = 'WAITING'"),
        finished=await ids("SELECT id FROM workflow_executions WHERE status = 'FAILED'"),
        large=await connection.fetch_value(
            "SELECT execution_id FROM workflow_execution_nodes WHERE path = 'n9999'"
        ),
        items=items,
        worker=worker,
        now=await connection.fetch_value("SELECT now()"),
    )


# ---- plans ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    text: str
    scanned: frozenset[str]
    """Tables that were read from one end to the other."""
    pages: int
    """Of 8 KiB, read or found in memory."""


async def explain(connection: Connection, statement: str, values: Sequence[object], mode: str) -> Plan:
    """Carries the statement out; the caller takes it back.

    `mode`: `force_custom_plan`, as it is planned at first, or `auto`, as a connection plans it in the long run.
    """
    await connection.execute(f"SET LOCAL plan_cache_mode = {mode}")
    await connection.execute("SET LOCAL jit = off")
    name = f"asked_{next(_numbers)}"  # it stays when the transaction is taken back
    await connection.execute(f"PREPARE {name} AS {statement}")
    written = f"({', '.join(map(literal, values))})" if values else ""
    if mode == "auto":
        for _ in range(_BEFORE_GENERIC):
            await connection.execute(f"EXPLAIN EXECUTE {name}{written}")
    rows = await connection.fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE {name}{written}")
    plan = rows[0][0][0]["Plan"]
    nodes = list(_nodes(plan))
    return Plan(
        text=json.dumps(plan, indent=1),
        scanned=frozenset(node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"),
        pages=plan["Shared Hit Blocks"] + plan["Shared Read Blocks"],
    )


def _nodes(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for inner in plan.get("Plans", ()):
        yield from _nodes(inner)


def literal(value: object) -> str:
    """As PostgreSQL reads it, without a type: that of the parameter counts."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int() | float():
            return str(value)
        case list() | tuple() if any(isinstance(each, dict) for each in value):
            return _quoted(json.dumps(value, default=str))
        case list() | tuple():
            return _quoted("{" + ",".join(_element(each) for each in value) + "}")
        case datetime():
            return _quoted(value.isoformat())
        case dict():
            return _quoted(json.dumps(value, default=str))
        case _:
            return _quoted(str(value))


def _element(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int() | UUID():
            return str(value)
        case _:
            text = str(value).replace("\\", "\\\\").replace('"', '\\"')
            return f'"{text}"'


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
