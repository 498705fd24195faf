"""Lists of executions, with every filter and by keyset, and one execution with all that is known of it."""

from datetime import timedelta
from uuid import UUID

import pytest
from tests.engines.embedded.workers import installation, worker
from tests.intake.steering import operator

from riven.db.identity import new_id
from riven.nodes.function import function
from riven.nodes.functions import Functions
from riven.tenancy.principals import Role
from riven.views.errors import ExecutionNotFoundError
from riven.views.executions import STATUSES, Filters, find_execution, get_execution, list_executions

NOOP = "name: n\nnodes: {a: {type: noop}}\noutput: {done: true}"


async def listed(here, limit=50, before=None, scope=None, **filters) -> list[UUID]:
    async with here.database.read() as connection:
        found = await list_executions(
            connection,
            scope or operator(here.workspace_id, Role.VIEWER),
            Filters(**filters),
            before=before,
            limit=limit,
        )
    return [each.id for each in found]


async def got(here, execution_id, scope=None):
    async with here.database.read() as connection:
        view = await get_execution(connection, scope or operator(here.workspace_id), execution_id)
    return view.shown


async def change(here, execution_id, assignments: str, *values) -> None:
    async with here.database.transaction() as connection:
        await connection.execute(
            f"UPDATE workflow_executions SET {assignments} WHERE id = $1", execution_id, *values
        )


async def test_the_newest_come_first_page_by_page(database_url):
    async with installation(database_url) as here:
        made = [await here.start(NOOP) for _ in range(5)]
        made.reverse()
        assert await listed(here) == made
        assert await listed(here, limit=2) == made[:2]
        assert await listed(here, limit=2, before=made[1]) == made[2:4]
        assert await listed(here, before=made[-1]) == []


async def test_filters_leave_only_what_has_all_of_it(database_url):
    async with installation(database_url) as here:
        one, two, three = [await here.start(NOOP) for _ in range(3)]
        await change(here, one, "workflow_name = 'refund', version = 3, labels = $2", {"a": "b", "c": "d"})
        await change(here, two, "workflow_name = 'refund', correlation_id = 'x', labels = $2", {"a": "b"})
        await change(here, three, "status = 'FAILED', phase = 'FAILED', finished_at = now()")
        assert await listed(here, workflow="refund") == [two, one]
        assert await listed(here, workflow="refund", version=3) == [one]
        assert await listed(here, correlation_id="x") == [two]
        assert await listed(here, labels={"a": "b"}) == [two, one]
        assert await listed(here, labels={"a": "b", "c": "d"}) == [one]
        assert await listed(here, labels={"a": "c"}) == []
        assert await listed(here, statuses=["FAILED"]) == [three]
        assert await listed(here, statuses=["PENDING"]) == [two, one]
        assert await listed(here, statuses=["PENDING", "FAILED"]) == [three, two, one]
        assert await listed(here, statuses=["PENDING"], labels={"a": "b"}, correlation_id="x") == [two]


@pytest.mark.parametrize("status", STATUSES)
async def test_every_status_can_be_asked_for(database_url, status):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        ended = status in ("COMPLETED", "FAILED", "CANCELED")
        await change(here, execution_id, f"status = $2, finished_at = {'now()' if ended else 'NULL'}", status)
        assert await listed(here, statuses=[status]) == [execution_id]
        assert await listed(here, statuses=[each for each in STATUSES if each != status]) == []


async def test_times_bound_the_list_on_both_sides(database_url):
    async with installation(database_url) as here:
        one, two, three = [await here.start(NOOP) for _ in range(3)]
        at = [(await here.execution(each))["created_at"] for each in (one, two, three)]
        assert await listed(here, created_after=at[0]) == [three, two]
        assert await listed(here, created_before=at[2]) == [two, one]
        assert await listed(here, created_after=at[0], created_before=at[2]) == [two]
        assert await listed(here, created_after=at[0] - timedelta(days=900), created_before=at[0]) == []


async def test_others_have_lists_of_their_own(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        assert await listed(here, scope=operator(new_id())) == []
        with pytest.raises(ExecutionNotFoundError):
            await got(here, execution_id, scope=operator(new_id()))
        async with here.database.read() as connection:
            assert (await find_execution(connection, execution_id)).workspace_id == here.workspace_id
            with pytest.raises(ExecutionNotFoundError):
                await find_execution(connection, new_id())


async def test_a_finished_execution_is_shown_with_what_it_took_and_gave(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(NOOP, input={"a": 1})
        row = await here.until(execution_id, "COMPLETED")
        shown = await got(here, execution_id)
        assert set(shown) >= {
            "executionId", "workspaceId", "workflow", "status", "phase", "input", "output", "error", "createdAt",
            "startedAt", "finishedAt", "durationMs", "labels", "correlationId", "waiting",
        }  # fmt: skip
        assert shown["executionId"] == str(execution_id)
        assert shown["workspaceId"] == str(here.workspace_id)
        assert shown["workflow"] == {"name": "w", "version": 1}
        assert (shown["status"], shown["phase"], shown["error"]) == ("COMPLETED", "COMPLETED", None)
        assert (shown["input"], shown["output"], shown["waiting"]) == ({"a": 1}, {"done": True}, None)
        assert (shown["run"], shown["rerunOf"], shown["durationMs"]) == (1, None, row["duration_ms"])
        assert shown["createdAt"] <= shown["startedAt"] <= shown["finishedAt"]
        assert all(shown[key].endswith("Z") for key in ("createdAt", "startedAt", "finishedAt"))


async def test_a_failed_execution_says_where_and_why(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start("name: f\nnodes: {a: {type: fail, with: {message: no}}}")
        await here.until(execution_id, "FAILED")
        assert (await got(here, execution_id))["error"] == {
            "node": "a", "type": "EXECUTION_ERROR", "message": "no",
        }  # fmt: skip


async def test_one_that_waits_says_for_what(database_url):
    async with installation(database_url) as here:
        execution_id = await here.start(NOOP)
        shown = await got(here, execution_id)
        assert (shown["status"], shown["startedAt"], shown["durationMs"]) == ("PENDING", None, None)
        assert (shown["waiting"]["kind"], shown["waiting"]["position"]) == ("worker_absent", 1)


async def test_a_large_output_is_shown_whole(database_url):
    @function(name="test.large")
    async def large() -> str:
        return "x" * 1_000_000

    text = "name: l\nnodes: {a: {type: python, with: {function: test.large}}}\noutput: '{{ steps.a.output }}'"
    async with installation(database_url, functions=Functions(large)) as here, worker(here):
        execution_id = await here.start(text)
        row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert row["output_blob_id"] is not None
        assert (await got(here, execution_id))["output"] == "x" * 1_000_000
