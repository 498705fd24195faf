"""Rows that somebody deleted by hand, hints that a crash left: found, mended, told of; and nothing else is touched."""

import pytest
from tests.maintenance.kit import place, refuse
from tests.queue.lines import line_up, workspace

from riven.db.identity import new_id
from riven.maintenance.reconcile import Reconciler

VERSION = """
WITH d AS (INSERT INTO workflow_definitions (workspace_id, name, source, etag) VALUES ($1, 'w', '', '') RETURNING id),
     v AS (INSERT INTO workflow_definition_versions (workflow_definition_id, workspace_id, version, source, document, created_by)
           SELECT id, $1, 1, '', '{}', 'test' FROM d RETURNING id)
UPDATE workflow_executions SET workflow_definition_version_id = v.id FROM v WHERE workspace_id = $1
"""
"""The executions of a workspace get a version that exists."""


def events(caplog, name):
    return [record for record in caplog.records if record.message == name]


async def lined_up(here, count=1, **options):
    """Executions in line, everything that they name being there."""
    at = await workspace(here.database, **{"limit": 10, **options})
    executions = await line_up(here.database, at, count)
    await here.execute(VERSION, at)
    return at, executions


async def test_where_all_is_well_nothing_changes(database_url, caplog):
    async with place(database_url) as here:
        _, executions = await lined_up(here, 6)
        await here.claim(await here.worker(), 2)
        await here.execute("UPDATE workflow_executions SET status = 'WAITING' WHERE id = $1", executions[5])
        await here.execute("UPDATE execution_queue SET due = false WHERE execution_id = $1", executions[5])
        states = (
            "SELECT json_agg(q ORDER BY id)::text FROM execution_queue q",
            "SELECT json_agg(e ORDER BY id)::text FROM workflow_executions e",
        )
        before = [await here.value(state) for state in states]
        reconciler = Reconciler(here.database, here.announcer)
        for _ in range(2):
            await reconciler.perform()
        assert [await here.value(state) for state in states] == before
        assert not [record for record in caplog.records if record.name == "riven.maintenance"]


async def test_an_accepted_execution_whose_item_was_deleted_is_in_line_again(database_url, caplog):
    async with place(database_url) as here:
        at, (execution_id, _) = await lined_up(here, 2)
        await here.execute("DELETE FROM execution_queue WHERE execution_id = $1", execution_id)
        await here.execute("UPDATE workflow_executions SET priority = 7 WHERE id = $1", execution_id)
        await Reconciler(here.database, here.announcer).perform()
        item = await here.item(execution_id)
        assert (item["workspace_id"], item["status"], item["due"], item["priority"]) == (
            at,
            "PENDING",
            True,
            7,
        )
        assert not item["holds_slot"]
        (told,) = events(caplog, "item_restored")
        assert (told.executionId, told.status) == (str(execution_id), "PENDING")


async def test_one_that_is_scheduled_keeps_its_time(database_url):
    async with place(database_url) as here:
        _, (execution_id,) = await lined_up(here)
        await here.execute(
            "UPDATE workflow_executions SET scheduled_for = now() + interval '1 hour' WHERE id = $1",
            execution_id,
        )
        await here.execute("DELETE FROM execution_queue")
        await Reconciler(here.database, here.announcer).perform()
        item = await here.item(execution_id)
        assert (item["due"], item["available_at"]) == (
            False,
            (await here.execution(execution_id))["scheduled_for"],
        )


@pytest.mark.parametrize(
    ("status", "until", "asked", "due", "timed"),
    [
        ("WAITING", "now() + interval '1 hour'", False, False, True),
        ("WAITING", "now() - interval '1 hour'", False, True, True),
        ("WAITING", "NULL", False, False, False),
        ("WAITING", "NULL", True, True, True),
        ("PAUSED", "now() - interval '1 hour'", True, False, False),
    ],
)
async def test_one_that_waits_comes_due_when_it_would_have(database_url, status, until, asked, due, timed):
    async with place(database_url) as here:
        _, (execution_id,) = await lined_up(here)
        await here.execute(
            f"UPDATE workflow_executions SET status = $2, waiting_kind = 'signal', waiting_until = {until} WHERE id = $1",
            execution_id, status,
        )  # fmt: skip
        if asked:
            await here.execute(
                "INSERT INTO signals (execution_id, kind, name, run) VALUES ($1, 'SIGNAL', 'paid', 1)",
                execution_id,
            )
        await here.execute("DELETE FROM execution_queue")
        await Reconciler(here.database, here.announcer).perform()
        item = await here.item(execution_id)
        assert (item["status"], item["due"], item["available_at"] is not None) == ("PENDING", due, timed)


async def test_a_run_without_item_goes_on_while_its_owner_lives_and_is_taken_up_when_it_is_dead(database_url):
    async with place(database_url) as here:
        _, (execution_id,) = await lined_up(here)
        await here.claim(await here.worker())
        await here.execute("DELETE FROM execution_queue")
        reconciler = Reconciler(here.database, here.announcer)
        await reconciler.perform()
        assert await here.item(execution_id) is None
        await here.execute("UPDATE processes SET dead = true")
        await reconciler.perform()
        item = await here.item(execution_id)
        assert (item["status"], item["due"], item["holds_slot"]) == ("PENDING", True, True)
        (claimed,) = await here.claim(await here.worker())
        assert (claimed.execution_id, claimed.token) == (execution_id, 2)


async def test_an_item_whose_execution_is_gone_fails_with_the_reason(database_url, caplog):
    async with place(database_url) as here:
        _, (gone, stays) = await lined_up(here, 2)
        await here.execute("DELETE FROM workflow_executions WHERE id = $1", gone)
        await Reconciler(here.database, here.announcer).perform()
        item = await here.item(gone)
        assert (item["status"], item["last_error"]) == ("FAILED", "the execution is gone")
        assert (await here.item(stays))["status"] == "PENDING"
        (told,) = events(caplog, "execution_not_found_for_retry")
        assert (told.executionId, told.queueId) == (str(gone), str(item["id"]))
        (failed,) = events(caplog, "queue_item_failed")
        assert failed.queueId == str(item["id"])


async def test_an_item_whose_workspace_is_gone_fails_with_the_reason(database_url, caplog):
    """A claim cannot see it: it looks for workspaces first."""
    async with place(database_url) as here:
        at, (execution_id,) = await lined_up(here)
        for statement in (
            "DELETE FROM workflow_executions",
            "DELETE FROM workflow_definition_versions",
            "DELETE FROM workflow_definitions",
            "DELETE FROM workspaces",
        ):
            await here.execute(statement)
        assert await here.claim(await here.worker()) == []
        await Reconciler(here.database, here.announcer).perform()
        item = await here.item(execution_id)
        assert (item["status"], item["last_error"]) == ("FAILED", "workspace_not_found")
        (told,) = events(caplog, "workspace_not_found")
        assert (told.workspaceId, told.queueId) == (str(at), str(item["id"]))


async def test_an_execution_whose_version_is_gone_has_failed(database_url, caplog):
    async with place(database_url) as here:
        _, (execution_id,) = await lined_up(here, limit=0)
        await here.execute("DELETE FROM workflow_definition_versions")
        await Reconciler(here.database, here.announcer).perform()
        execution = await here.execution(execution_id)
        assert (execution["status"], execution["error_type"]) == ("FAILED", "DISPATCH_FAILED")
        assert (await here.item(execution_id))["status"] == "FAILED"
        assert events(caplog, "version_not_found")


async def test_a_run_that_is_driven_is_its_drivers_also_when_its_version_is_gone(database_url):
    async with place(database_url) as here:
        _, (execution_id,) = await lined_up(here)
        await here.claim(await here.worker())
        await here.execute("DELETE FROM workflow_definition_versions")
        await Reconciler(here.database, here.announcer).perform()
        assert (await here.execution(execution_id))["status"] == "RUNNING"


@pytest.mark.parametrize(("status", "left"), [("COMPLETED", None), ("CANCELED", None), ("FAILED", "FAILED")])
async def test_the_item_of_a_finished_execution_leaves_the_line(database_url, status, left):
    async with place(database_url) as here:
        _, (execution_id,) = await lined_up(here)
        await here.execute(
            "UPDATE workflow_executions SET status = $2, finished_at = now(), error_type = 'X', error_message = 'y'"
            " WHERE id = $1",
            execution_id, status,
        )  # fmt: skip
        await Reconciler(here.database, here.announcer).perform()
        item = await here.item(execution_id)
        assert (None if item is None else item["status"]) == left


async def test_small_slices_reach_everything_and_begin_anew(database_url):
    async with place(database_url) as here:
        _, first = await lined_up(here, 7)
        _, second = await lined_up(here, 6)
        await here.execute(
            "UPDATE workflow_executions SET status = 'PAUSED' WHERE id = ANY ($1::uuid[])", first[:4]
        )
        reconciler = Reconciler(here.database, here.announcer, slice_size=3)
        for lost in (first + second, [first[0], second[-1]]):
            await here.execute("DELETE FROM execution_queue WHERE execution_id = ANY ($1::uuid[])", lost)
            orphan = new_id()
            await here.execute(
                "INSERT INTO execution_queue (execution_id, workspace_id, workflow_definition_id) VALUES ($1, $2, $2)",
                orphan, new_id(),
            )  # fmt: skip
            for _ in range(12):
                await reconciler.perform()
            assert await here.value("SELECT count(*) FROM execution_queue WHERE status = 'PENDING'") == 13
            assert (await here.item(orphan))["status"] == "FAILED"


async def test_hints_that_are_wrong_are_cleared_and_those_that_are_right_stay(database_url, caplog):
    async with place(database_url) as here:
        idle, _ = await lined_up(here)
        full, _ = await lined_up(here, 2, limit=1)
        stuck, _ = await lined_up(here, 2, limit=2)
        await here.execute("UPDATE workspaces SET idle = true WHERE id = $1", idle)
        await here.execute(
            "UPDATE workspaces SET at_capacity = true WHERE id = ANY ($1::uuid[])", [full, stuck]
        )
        await here.execute(
            "UPDATE workflow_executions SET status = 'RUNNING' WHERE id = (SELECT id FROM workflow_executions WHERE"
            " workspace_id = $1 LIMIT 1)",
            full,
        )
        await Reconciler(here.database, here.announcer).clear_hints()
        await here.announcer.close()
        rows = {
            each: await here.row("SELECT idle, at_capacity FROM workspaces WHERE id = $1", each)
            for each in (idle, full, stuck)
        }
        assert tuple(rows[idle]) == (False, False)
        assert tuple(rows[stuck]) == (False, False)
        assert rows[full]["at_capacity"]
        assert [record.count for record in events(caplog, "hints_cleared")] == [2]


async def test_what_cannot_be_mended_keeps_nothing_else_from_being_mended(database_url, caplog):
    async with place(database_url) as here:
        at, executions = await lined_up(here, 3)
        items = [(await here.item(each))["id"] for each in executions]
        await here.execute("DELETE FROM workflow_executions WHERE id = ANY ($1::uuid[])", executions[:2])
        await here.execute("UPDATE workspaces SET at_capacity = true")
        await refuse(here.database, "execution_queue", f"NEW.id = '{min(items[:2])}'")
        await Reconciler(here.database, here.announcer).perform()
        told = events(caplog, "repair_failed")
        assert [record.executionId in map(str, executions[:2]) for record in told] == [True]
        assert await here.value("SELECT count(*) FROM execution_queue WHERE status = 'FAILED'") == 1
        assert not await here.value("SELECT at_capacity FROM workspaces WHERE id = $1", at)
