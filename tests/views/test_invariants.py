"""Each invariant sees what breaks it, and nothing else."""

import pytest
from tests.maintenance.kit import place
from tests.queue.lines import line_up, workspace

from riven.db.identity import new_id
from riven.views.invariants import INVARIANTS, check_invariants

TTL = 15.0


async def violations(here) -> dict[str, int]:
    """Those that are not zero."""
    async with here.database.read() as connection:
        checked = await check_invariants(connection, TTL)
    assert [each.name for each in checked] == [each.name for each in INVARIANTS]
    return {each.name: each.violations for each in checked if each.violations}


async def lined_up(here, count=1, **options):
    at = await workspace(here.database, **{"limit": 5, **options})
    return at, await line_up(here.database, at, count)


async def test_an_empty_installation_violates_nothing(database_url):
    async with place(database_url) as here:
        assert await violations(here) == {}


async def test_what_ordinary_moves_leave_violates_nothing(database_url):
    async with place(database_url) as here:
        await lined_up(here, 9)
        worker = await here.worker()
        await here.claim(worker, 3)
        await here.claim(worker, 2, settled=False)
        await lined_up(here, 3, limit=0)
        assert await violations(here) == {}


async def test_one_admission_too_many_is_seen(database_url):
    async with place(database_url) as here:
        _, executions = await lined_up(here, 7)
        await here.claim(await here.worker(), 7)
        waiting = await here.value("SELECT id FROM workflow_executions WHERE status = 'PENDING' LIMIT 1")
        assert waiting in executions
        await here.execute(
            "UPDATE workflow_executions SET status = 'RUNNING', admitted_at = now(), admitted_limit = 5,"
            " owner_id = (SELECT id FROM processes) WHERE id = $1",
            waiting,
        )
        assert await violations(here) == {"admissions_within_limit": 1}


async def test_a_lowered_limit_excuses_who_runs_and_nobody_else(database_url):
    async with place(database_url) as here:
        at, _ = await lined_up(here, 7)
        worker = await here.worker()
        await here.claim(worker, 7)
        await here.execute("UPDATE workspaces SET running_limit = 2 WHERE id = $1", at)
        assert await violations(here) == {}
        await here.execute(
            "UPDATE workflow_executions SET status = 'RUNNING', admitted_at = now(), admitted_limit = 2, owner_id = $1"
            " WHERE id = (SELECT id FROM workflow_executions WHERE status = 'PENDING' LIMIT 1)",
            worker.id,
        )
        assert await violations(here) == {"admissions_within_limit": 1}


async def test_a_raised_limit_and_a_recovered_run_count_as_they_were_admitted(database_url):
    async with place(database_url) as here:
        at, _ = await lined_up(here, 3, limit=1)
        worker = await here.worker()
        await here.claim(worker, 3)
        await here.execute("UPDATE workspaces SET running_limit = 3, at_capacity = false WHERE id = $1", at)
        await here.claim(worker, 3)
        await here.execute(
            "UPDATE execution_queue SET status = 'PENDING', owner_id = NULL, holds_slot = true WHERE id ="
            " (SELECT q.id FROM execution_queue q JOIN workflow_executions e ON e.id = q.execution_id"
            "  ORDER BY e.admitted_limit DESC LIMIT 1)"
        )
        await here.execute("UPDATE workspaces SET idle = false")
        assert len(await here.claim(worker, 3)) == 1
        assert await here.value("SELECT count(*) FROM workflow_executions WHERE status = 'RUNNING'") == 3
        assert await violations(here) == {}


@pytest.mark.parametrize("status", ["PENDING", "WAITING", "PAUSED"])
async def test_an_execution_that_nobody_will_take_up_is_lost(database_url, status):
    async with place(database_url) as here:
        await lined_up(here)
        await here.execute("UPDATE workflow_executions SET status = $1", status)
        assert await violations(here) == {}
        await here.execute("DELETE FROM execution_queue")
        assert await violations(here) == {"accepted_is_accounted_for": 1}


async def test_an_item_without_execution_is_seen_and_a_dead_letter_is_none(database_url):
    async with place(database_url) as here:
        await lined_up(here)
        await here.execute("DELETE FROM workflow_executions")
        assert await violations(here) == {"accepted_is_accounted_for": 1}
        await here.execute("UPDATE execution_queue SET status = 'FAILED', failed_at = now()")
        assert await violations(here) == {}


async def test_a_run_whose_owner_died_is_excused_for_a_minute(database_url):
    async with place(database_url) as here:
        await lined_up(here)
        worker = await here.worker()
        await here.claim(worker)
        await here.silence(worker, TTL + 50)
        assert await violations(here) == {}
        await here.silence(worker, TTL + 70)
        assert await violations(here) == {"running_is_driven": 1}
        await here.execute(
            "UPDATE execution_queue SET status = 'PENDING', owner_id = NULL, holds_slot = true"
        )
        assert await violations(here) == {}


async def test_a_run_without_item_is_driven_as_long_as_its_owner_lives(database_url):
    async with place(database_url) as here:
        await lined_up(here)
        worker = await here.worker()
        await here.claim(worker)
        await here.execute("DELETE FROM execution_queue")
        assert await violations(here) == {}
        await here.execute("DELETE FROM processes")
        assert await violations(here) == {"running_is_driven": 1}


async def test_a_finished_execution_that_is_still_in_line_is_seen(database_url):
    async with place(database_url) as here:
        await lined_up(here)
        await here.execute("UPDATE workflow_executions SET status = 'COMPLETED', finished_at = now()")
        assert await violations(here) == {"finished_has_left_the_line": 1}


async def test_a_claim_without_a_living_owner_is_seen(database_url):
    async with place(database_url) as here:
        await lined_up(here)
        await here.claim(await here.worker(), settled=False)
        await here.execute("DELETE FROM processes")
        assert await violations(here) == {}  # it was claimed less than a minute ago
        await here.execute("UPDATE execution_queue SET claimed_at = now() - interval '2 minutes'")
        assert await violations(here) == {"running_is_driven": 1, "claimed_has_an_owner": 1}


async def test_two_answers_at_one_place_of_a_journal_are_seen(database_url):
    async with place(database_url) as here:
        _, (execution_id,) = await lined_up(here)
        await here.claim(await here.worker())
        node = (
            "INSERT INTO workflow_execution_nodes (execution_id, path, attempt, run, type, status, seq)"
            " VALUES ($1, $2, 1, 1, 'noop', 'COMPLETED', $3)"
        )
        await here.execute(node, execution_id, "a", 2)
        await here.execute(node, execution_id, "b", 3)
        await here.execute(node, new_id(), "a", 2)
        assert await violations(here) == {}
        await here.execute(node, execution_id, "c", 3)
        assert await violations(here) == {"one_outcome_per_attempt": 1}
