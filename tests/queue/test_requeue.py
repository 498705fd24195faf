"""Back in line, with or without the item that was there."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.engines.embedded.workers import installation

from riven.queue.requeue import requeue

NOOP = "name: n\nnodes: {a: {type: noop}}"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
LATER = datetime(2100, 1, 1, tzinfo=UTC)


async def back(here, execution_id, *, due_at=None, fresh=False):
    row = await here.execution(execution_id)
    async with here.database.transaction() as connection:
        queue_id = await requeue(
            connection,
            execution_id=execution_id,
            workspace_id=here.workspace_id,
            workflow_definition_id=row["workflow_definition_id"],
            priority=row["priority"],
            due_at=due_at,
            fresh=fresh,
        )
    item = await here.row("SELECT *, now() AS now FROM execution_queue")
    assert item["id"] == queue_id
    return item


@pytest.mark.parametrize("gone", [True, False])
@pytest.mark.parametrize(("due_at", "due"), [(None, True), (LONG_AGO, True), (LATER, False)])
async def test_it_is_due_at_its_time_or_now(database_url, gone, due_at, due):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        if gone:
            await here.row("DELETE FROM execution_queue RETURNING id")
        else:
            await here.row("UPDATE execution_queue SET due = false, available_at = NULL RETURNING id")
        item = await back(here, execution_id, due_at=due_at)
        assert (item["status"], item["due"], item["holds_slot"]) == ("PENDING", due, False)
        if due:
            assert item["now"] - item["available_at"] < timedelta(seconds=5)
        else:
            assert item["available_at"] == LATER


@pytest.mark.parametrize("fresh", [True, False])
async def test_earlier_starts_are_forgotten_where_it_begins_anew(database_url, fresh):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        await here.row(
            "UPDATE execution_queue SET status = 'FAILED', attempts = 3, last_error = 'no', failed_at = now(),"
            " waiting_kind = 'dispatch_retry' RETURNING id"
        )
        item = await back(here, execution_id, due_at=LATER, fresh=fresh)
        assert (item["status"], item["failed_at"]) == ("PENDING", None)
        assert (item["attempts"], item["last_error"], item["waiting_kind"]) == (
            (0, None, None) if fresh else (3, "no", "dispatch_retry")
        )
