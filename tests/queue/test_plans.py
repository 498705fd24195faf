"""What is asked all the time costs the same however long the line is: no table is read from end to end, few pages are.

Every file of SQL of the stages below has a case here; a new one without a case is told of by the first test.
"""

# ruff: noqa: ARG005 - all cases are asked alike

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib.resources import files
from typing import Any
from uuid import UUID

import pytest
from tests.fixtures_postgres import new_database
from tests.queue.million import FREE, FULL, LARGE, Million, explain, million

from riven.db.identity import new_id
from riven.db.statements import load
from riven.queue.claim import claim_executions
from riven.tenancy.activity import LAST_ID
from riven.views import executions as executions_view
from riven.views.executions import Filters

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

PACKAGES = ("riven.queue", "riven.completion", "riven.intake", "riven.views")
FIRST = UUID(int=0)
SMALL = frozenset(
    {
        "processes",
        "workspace_tiers",
        "locks",
        "outbox",
        "blobs",
        "workflow_definition_versions",
        "idempotency_keys",
    }
)
"""Tables that hold little here, or always."""
DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Case:
    values: Callable[[Million], Sequence[Any]]
    pages: int = 100
    """Read or written at most: some for each row of each index that is touched."""
    first: str | None = None
    """What has to be so, done in the same transaction."""


def nothing(at: Million) -> Sequence[Any]:
    del at
    return []


def write(at: Million, **more: str) -> list[dict[str, Any]]:
    return [{"id": each, "run": 1, "token": 1, "moves": True, "revision": 21, **more} for each in at.running]


def node_rows(at: Million) -> list[dict[str, Any]]:
    row = {"attempt": 1, "place": "b20", "revision": 21, "type": "python", "status": "COMPLETED", "seq": 300}
    return [
        {"execution_id": each, "path": "n20", "started_ms": 1, "finished_ms": 2, **row} for each in at.running
    ]


def flushed(at: Million) -> Sequence[Any]:
    timers = [
        {"execution_id": each, "name": "wake:x", "payload": {"at": 1}, "seq": 301} for each in at.running[:5]
    ]
    scopes = [{"execution_id": each, "path": "each[9]", "seq": 302} for each in at.running[:5]]
    read = [{"id": new_id(), "execution_id": each, "seq": 303} for each in at.running[:5]]
    return [write(at, status="COMPLETED", phase="COMPLETED"), node_rows(at), scopes, timers, read]


def accepted(at: Million) -> Sequence[Any]:
    count = len(at.free)
    new = [[new_id() for _ in at.free] for _ in range(3)]
    return [
        [], [], [], [], [], True,
        new[0], new[1], at.free, [FIRST] * count, [FIRST] * count, ["w"] * count, [1] * count, [0] * count, ["{}"] * count,
        [None] * count, [None] * count, ["{}"] * count, [None] * count, [None] * count, [None] * count, ["t"] * count,
        [None] * count, new[2], ["{}"] * count,
    ]  # fmt: skip


DUE_NOW = """
UPDATE execution_queue SET available_at = now() - interval '1 s'
WHERE id IN (SELECT id FROM execution_queue WHERE status = 'PENDING' AND NOT due AND available_at > now() LIMIT 500)
"""
FRESH = "UPDATE workflow_executions SET created_at = now(), token = 0 WHERE id = $1"

CASES: dict[str, Case] = {
    # ---- claim
    "queue/candidates": Case(lambda at: [16, []], 60),
    "queue/lock_workspaces": Case(lambda at: [at.full], 150),
    "queue/choose": Case(lambda at: [[*at.full, *at.free], 64], 500),
    "queue/claim": Case(lambda at: [at.items, at.worker, at.free, [50] * FREE], 6_000),
    "queue/mark_served": Case(lambda at: [at.full, [True] * 16, [False] * 16, [True] * 16], 500),
    "queue/recheck_hints": Case(lambda at: [at.full], 200),
    "queue/clear_hints": Case(lambda at: [at.full], 500),
    "queue/promote": Case(lambda at: [500, None], 15_000, DUE_NOW),
    "queue/next_due": Case(nothing),
    # ---- start
    "queue/enqueue": Case(
        lambda at: [
            [new_id() for _ in at.free],
            [new_id() for _ in at.free],
            at.free,
            at.free,
            [0] * 10,
            [None] * 10,
        ],
        300,
    ),
    "queue/settle": Case(lambda at: [at.running, [1] * 50, [1] * 50, at.worker], 3_000),
    "queue/release": Case(lambda at: [at.running[0], 1, 1, 1, 5.0, "no", "dispatch_retry"]),
    "queue/back_off": Case(lambda at: [at.items[0], 5.0, 300.0, "no"]),
    "queue/fail": Case(lambda at: [at.items[0], "no"]),
    "queue/postpone": Case(lambda at: [at.running[0], at.worker, 1.0, None, None]),
    # ---- rest and wake
    "queue/park": Case(lambda at: [at.running, [None] * 50], 3_000),
    "queue/wake": Case(lambda at: [at.waiting], 2_500),
    "queue/requeue": Case(lambda at: [at.waiting[0], at.free[0], FIRST, 0, None, True, new_id()]),
    # ---- owners
    "queue/register": Case(lambda at: [new_id(), "worker", "w", 1, "embedded", True]),
    "queue/beat": Case(lambda at: [at.worker, 1, None]),
    "queue/bury": Case(lambda at: [15.0]),
    # All that runs is looked at, and nothing that waits.
    "queue/recover": Case(lambda at: [300.0, 500, 2], 40_000),
    "queue/hand_back": Case(lambda at: [at.worker, at.running], 3_000),
    "queue/hand_back_forgotten": Case(lambda at: [at.worker, at.running], 20_000),
    "queue/hand_back_run": Case(lambda at: [at.running[0], 1, 1]),
    # ---- repair: by slices
    "queue/clear_wrong_hints": Case(nothing, 120_000),
    "queue/find_orphans": Case(lambda at: [FIRST, 200], 2_000),
    "queue/remove_finished": Case(lambda at: [at.items[0]]),
    "queue/restore_driven": Case(lambda at: [500], 2_000),
    "queue/restore_pending": Case(lambda at: [FIRST, FIRST, 200], 2_000),
    "queue/restore_parked": Case(lambda at: [FIRST, 200], 2_000),
    "queue/driven_elsewhere": Case(lambda at: [FIRST, 200, 20.0], 90_000),
    # ---- control: what was asked and not read is looked at, and nothing else
    "queue/unread_elsewhere": Case(lambda at: [at.running], 1_500),
    "queue/all_unread_elsewhere": Case(lambda at: [FIRST, 200], 90_000),
    "queue/left_behind": Case(lambda at: [200], 90_000),
    "queue/prune_dead_letters": Case(lambda at: [604_800.0, 1_000], 25_000),
    # ---- completion
    "completion/flush": Case(flushed, 6_000),
    "completion/rest": Case(lambda at: [at.running[0], "WAITING", "signal", None, 22]),
    "completion/hold": Case(lambda at: [at.waiting[0]]),
    "completion/history_nodes": Case(lambda at: [at.large], 4_000),
    "completion/history_scopes": Case(lambda at: [at.running[0]]),
    "completion/history_signals": Case(lambda at: [at.running[0], 1]),
    "completion/facts": Case(lambda at: [at.running[0]]),
    "completion/since_nodes": Case(lambda at: [at.large, 1, 0], 4_000),
    "completion/since_scopes": Case(lambda at: [at.running[0], 1, 0]),
    "completion/since_signals": Case(lambda at: [at.running[0], 1, 0]),
    "completion/cancel_nodes": Case(lambda at: [at.running[0], 20]),
    "completion/cancel_unstarted": Case(lambda at: [at.running[0], 1, 20, ["x"], ["c100"], ["noop"]]),
    "completion/end_undriven": Case(lambda at: [at.waiting[0], "CANCELED", None, None, 5]),
    "completion/overdue": Case(lambda at: [200]),
    "completion/prune": Case(lambda at: [49_000.0, 100], 3_000),
    # ---- intake
    "intake/accept": Case(accepted, 300),
    "intake/count_pending": Case(lambda at: [at.full, 100], 1_000),
    "intake/ask": Case(lambda at: [new_id(), at.waiting[0], "SIGNAL", "s", None, None, 1, False, "t"]),
    "intake/retry": Case(lambda at: [at.finished[0]]),
    "intake/keep_nodes": Case(
        lambda at: [at.running[0], at.pending[0], ["n1"], ["n1"], ["b01"], [FIRST], [FIRST]], 300, FRESH
    ),
    # ---- views
    "views/execution": Case(lambda at: [at.finished[0], at.free[0]]),
    "views/queue_item": Case(lambda at: [at.items[0]]),
    "views/dead_letters": Case(lambda at: [at.full[0], LAST_ID, 51]),
    "views/node_page": Case(lambda at: [at.large, None, 1_001], 8_000),
    "views/node_changes": Case(lambda at: [at.large, LARGE - 100, 100], 5_000),
    "views/node_values": Case(lambda at: [at.running[0], ["n1", "n2"], [1, 1]]),
    "views/waiting_facts": Case(lambda at: [at.pending], 1_500),
    "views/waiting_nodes": Case(lambda at: [at.running[0]]),
    "views/waiting_engines": Case(nothing),
    "views/waiting_elsewhere": Case(nothing),
    "views/waiting_position": Case(lambda at: [at.full[0], False, 0, at.now + DAY, LAST_ID, 100_000]),
}

FILTERS = {
    "all": Filters(),
    "workflow": Filters(workflow="w3"),
    "failed": Filters(statuses=["FAILED"]),
    "waiting": Filters(statuses=["WAITING"]),
    "running": Filters(statuses=["RUNNING"]),
    "pending": Filters(statuses=["PENDING"]),
    "completed": Filters(statuses=["COMPLETED"]),
    "two statuses": Filters(statuses=["FAILED", "CANCELED"]),
    "label": Filters(labels={"n": "17"}),
    "correlation": Filters(correlation_id="c17"),
}


@pytest.fixture(scope="module")
def seeded(postgres_server, migrated_template):
    """One event loop for the module, as one database serves all of it."""
    with new_database(postgres_server.url, template=migrated_template) as url, asyncio.Runner() as runner:
        opened = million(url)
        at = runner.run(opened.__aenter__())
        yield runner, at
        runner.run(opened.__aexit__(None, None, None))


def statements() -> set[str]:
    return {
        f"{package.removeprefix('riven.')}/{file.name.removesuffix('.sql')}"
        for package in PACKAGES
        for file in files(package).joinpath("sql").iterdir()
        if file.name.endswith(".sql")
    }


def test_every_statement_has_a_case():
    assert statements() == set(CASES)


class UndoneError(Exception):
    """Takes back what a statement did."""


def plan_of(seeded, statement: str, values: Sequence[object], mode: str, first: str | None = None):
    runner, at = seeded

    async def look():
        plan = None
        try:
            async with at.database.transaction() as connection:
                if first is not None:
                    await connection.execute(first, *([at.pending[0]] if "$1" in first else []))
                plan = await explain(connection, statement, values, mode)
                raise UndoneError  # noqa: TRY301 - that is how a transaction is taken back
        except UndoneError:
            return plan

    return runner.run(look())


@pytest.mark.parametrize("mode", ["auto", "force_custom_plan"])
@pytest.mark.parametrize("name", CASES)
def test_no_table_is_read_from_end_to_end(seeded, name, mode):
    package, _, file = name.partition("/")
    case = CASES[name]
    plan = plan_of(seeded, load(f"riven.{package}", file), case.values(seeded[1]), mode, case.first)
    assert not plan.scanned - SMALL, plan.text
    assert plan.pages <= case.pages, plan.text


@pytest.mark.parametrize("name", [*FILTERS, "time"])
def test_lists_are_read_from_indexes(seeded, name):
    at = seeded[1]
    filters = FILTERS.get(name, Filters(created_after=at.now - DAY, created_before=at.now))
    statement, values = executions_view._query(at.full[3], filters, None, 51)
    plan = plan_of(seeded, statement, values, "force_custom_plan")
    assert not plan.scanned, plan.text
    assert plan.pages <= 1_000, plan.text


def test_a_claim_takes_no_longer_for_ten_thousand_workspaces_that_are_full(seeded):
    runner, at = seeded

    async def claim(room: int) -> tuple[float, int]:
        begun = time.perf_counter()
        claim = await claim_executions(at.database, at.worker, room)
        return time.perf_counter() - begun, len(claim.claimed)

    found = sorted(runner.run(claim(10)) for _ in range(9))
    assert [count for _, count in found] == [10] * 9
    assert found[4][0] < 0.15


def test_hints_that_are_gone_are_back_after_one_claim(seeded):
    """After an upgrade, say. The claim that looks at all workspaces takes long, once."""
    runner, at = seeded

    async def forget() -> None:
        async with at.database.transaction() as connection:
            await connection.execute("UPDATE workspaces SET at_capacity = false")

    runner.run(forget())
    claim = runner.run(claim_executions(at.database, at.worker, 1_000))
    assert not claim.skipped

    async def hinted() -> int:
        async with at.database.read() as connection:
            return await connection.fetch_value("SELECT count(*) FROM workspaces WHERE at_capacity OR idle")

    assert runner.run(hinted()) >= FULL
