import asyncio
from collections import Counter
from random import Random

import pytest
from tests.queue.lines import connected, finish, line_up, workspace

from riven.db.identity import new_id
from riven.queue.claim import claim_executions


async def statuses(database, table):
    async with database.read() as connection:
        rows = await connection.fetch(f"SELECT status, count(*) AS n FROM {table} GROUP BY status")
    return {row["status"]: row["n"] for row in rows}


async def test_a_claim_moves_both_rows_and_hands_out_a_new_token(database_url):
    async with connected(database_url) as database:
        here = await workspace(database, tier="PRO")
        await line_up(database, here, 1)
        owner = new_id()
        claim = await claim_executions(database, owner, 10)
        assert [(each.workspace_id, each.run, each.token) for each in claim.claimed] == [(here, 1, 1)]
        async with database.read() as connection:
            item = await connection.fetch_row("SELECT * FROM execution_queue")
            execution = await connection.fetch_row("SELECT * FROM workflow_executions")
        assert (item["status"], item["owner_id"], item["status_before"]) == ("CLAIMED", owner, "PENDING")
        assert item["claimed_at"] is not None
        assert (execution["status"], execution["owner_id"]) == ("RUNNING", owner)
        assert execution["started_at"] is not None


async def test_what_waits_for_a_slot_is_never_written_to(database_url):
    async with connected(database_url) as database:
        here = await workspace(database, tier="FREE")
        await line_up(database, here, 20)
        async with database.read() as connection:
            before = await connection.fetch(
                "SELECT id, xmin::text, attempts FROM execution_queue ORDER BY id"
            )
        claim = await claim_executions(database, new_id(), 10)
        assert len(claim.claimed) == 1
        assert [(each.active, each.running_limit) for each in claim.full] == [(1, 1)]
        async with database.read() as connection:
            after = await connection.fetch("SELECT id, xmin::text, attempts FROM execution_queue ORDER BY id")
        touched = [new for old, new in zip(before, after, strict=True) if old != new]
        assert [row["id"] for row in touched] == [claim.claimed[0].queue_id]


async def test_priority_then_age_decide_inside_a_workspace(database_url):
    async with connected(database_url) as database:
        here = await workspace(database, limit=3)
        first = await line_up(database, here, 1)
        urgent = await line_up(database, here, 1, priority=5)
        second = await line_up(database, here, 1)
        await line_up(database, here, 1, priority=-1)
        claim = await claim_executions(database, new_id(), 10)
        assert {each.execution_id for each in claim.claimed} == {*first, *urgent, *second}


async def test_a_long_line_does_not_delay_another_workspaces_first(database_url):
    async with connected(database_url) as database:
        busy = await workspace(database, limit=1_000)
        await line_up(database, busy, 500)
        small = await workspace(database, limit=5)
        await line_up(database, small, 2)
        claim = await claim_executions(database, new_id(), 4)
        assert Counter(each.workspace_id for each in claim.claimed) == {busy: 2, small: 2}


async def test_a_full_workspace_makes_room_for_the_next(database_url):
    async with connected(database_url) as database:
        for _ in range(40):
            full = await workspace(database, limit=0)
            await line_up(database, full, 3)
        free = await workspace(database, limit=1)
        await line_up(database, free, 1)
        claim = await claim_executions(database, new_id(), 1)
        assert [each.workspace_id for each in claim.claimed] == [free]


async def test_a_disabled_workspace_is_held_back(database_url):
    async with connected(database_url) as database:
        here = await workspace(database)
        await line_up(database, here, 1)
        async with database.transaction() as connection:
            await connection.execute("UPDATE workspaces SET disabled = true")
        assert (await claim_executions(database, new_id(), 10)).claimed == []


async def test_an_item_without_its_execution_comes_back_as_a_stray(database_url):
    async with connected(database_url) as database:
        here = await workspace(database, tier="PRO")
        gone, stays = await line_up(database, here, 2)
        async with database.transaction() as connection:
            await connection.execute("DELETE FROM workflow_executions WHERE id = $1", gone)
        claim = await claim_executions(database, new_id(), 10)
        assert [each.execution_id for each in claim.claimed] == [stays]
        assert [(each.execution_id, each.status) for each in claim.strays] == [(gone, None)]


async def test_a_workspace_that_somebody_serves_is_skipped_not_waited_for(database_url):
    async with connected(database_url) as database:
        here = await workspace(database)
        await line_up(database, here, 1)
        async with database.transaction() as connection:
            await connection.fetch("SELECT 1 FROM workspaces FOR NO KEY UPDATE")
            claim = await asyncio.wait_for(claim_executions(database, new_id(), 1), 5)
        assert (claim.claimed, claim.skipped) == ([], True)


@pytest.mark.slow
@pytest.mark.parametrize("dispatchers", [2, 4])
async def test_racing_dispatchers_never_admit_one_too_many(database_url, dispatchers):
    limits = [1, 1, 5, 5, 20, 20]
    each_has = 60
    dice = Random(dispatchers)
    async with connected(database_url, pool_size=20) as database:
        workspaces = [await workspace(database, limit=limit) for limit in limits]
        for here in workspaces:
            await line_up(database, here, each_has)
        left = each_has * len(limits)
        most = Counter()

        async def run(claimed):
            nonlocal left
            await asyncio.sleep(dice.random() * 0.01)
            await finish(database, claimed)
            left -= 1

        async def dispatch():
            owner = new_id()
            while left:
                claim = await claim_executions(database, owner, dice.randint(1, 30))
                await asyncio.gather(*[run(claimed) for claimed in claim.claimed])
                if not claim.claimed:
                    await asyncio.sleep(0.002)

        async def observe():
            while left:
                async with database.read() as connection:
                    rows = await connection.fetch(
                        "SELECT workspace_id, count(*) AS n FROM workflow_executions WHERE status = 'RUNNING' GROUP BY 1"
                    )
                for row in rows:
                    most[row["workspace_id"]] = max(most[row["workspace_id"]], row["n"])

        await asyncio.gather(observe(), *[dispatch() for _ in range(dispatchers)])
        for here, limit in zip(workspaces, limits, strict=True):
            assert 1 <= most[here] <= limit
        assert await statuses(database, "workflow_executions") == {"COMPLETED": each_has * len(limits)}
        assert await statuses(database, "execution_queue") == {}
