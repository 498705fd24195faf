"""Who drives no more gives back, or is given up; the slot is kept until the next owner finds out how far a run came."""

from tests.queue.lines import connected, line_up, workspace

from riven.db.identity import new_id
from riven.queue.claim import claim_executions
from riven.queue.lease import Process, bury_dead, bury_predecessors, register, renew
from riven.queue.recover import (
    LAST_RECOVERY,
    hand_back,
    hand_back_forgotten,
    hand_back_run,
    postpone,
    recover_stale_items,
)
from riven.queue.settle import Drive, settle_dispatched

STALE = 300


async def claimed_by(database, count=1, *, settled=True):
    """A registered process that drives `count` runs of a workspace of its own."""
    owner = Process(new_id(), "worker", "w")
    await register(database, owner, 10)
    here = await workspace(database, limit=count)
    await line_up(database, here, count)
    claim = await claim_executions(database, owner.id, count)
    if settled:
        await settle(database, claim.claimed, owner)
    return owner, list(claim.claimed)


async def settle(database, claimed, owner):
    drives = [Drive(each.execution_id, each.run, each.token) for each in claimed]
    async with database.transaction() as connection:
        assert len(await settle_dispatched(connection, drives, owner.id)) == len(claimed)


async def recover(database, stale_after=STALE):
    async with database.transaction() as connection:
        return await recover_stale_items(connection, stale_after=stale_after)


async def execute(database, statement, *values):
    async with database.transaction() as connection:
        return await connection.execute(statement, *values)


async def row(database, statement, *values):
    async with database.read() as connection:
        return await connection.fetch_row(statement, *values)


async def die(database, process):
    await execute(
        database, "UPDATE processes SET seen_at = now() - interval '1 hour' WHERE id = $1", process.id
    )
    return await bury_dead(database, 15)


async def test_what_a_dead_process_held_is_in_line_again_with_its_slot(database_url):
    async with connected(database_url) as database:
        owner, claimed = await claimed_by(database, 2)
        assert await recover(database) == []
        assert [each.id for each in await die(database, owner)] == [owner.id]
        recovered = await recover(database)
        assert {each.execution_id for each in recovered} == {each.execution_id for each in claimed}
        assert [(each.stale, each.recoveries) for each in recovered] == [(False, 1)] * 2
        item = await row(database, "SELECT * FROM execution_queue LIMIT 1")
        assert (item["status"], item["due"], item["holds_slot"], item["owner_id"]) == (
            "PENDING", True, True, None,
        )  # fmt: skip
        execution = await row(database, "SELECT * FROM workflow_executions LIMIT 1")
        assert (execution["status"], execution["token"]) == ("RUNNING", 1)
        assert await recover(database) == []


async def test_a_successor_waits_for_no_lease_of_its_predecessor_and_touches_nobody_else(database_url):
    async with connected(database_url) as database:
        owner, (claimed,) = await claimed_by(database)
        others = [
            Process(new_id(), "worker", "of another name"),
            Process(new_id(), "maintenance", owner.name),
        ]
        successor = Process(new_id(), owner.role, owner.name)
        for process in (*others, successor):
            await register(database, process, 1)
        assert [each.id for each in await bury_predecessors(database, successor)] == [owner.id]
        assert await bury_predecessors(database, successor) == []
        assert [each.execution_id for each in await recover(database)] == [claimed.execution_id]
        assert [await renew(database, each, 0) for each in (*others, successor, owner)] == [
            *[True] * 3,
            False,
        ]


async def test_a_process_that_was_not_judged_keeps_what_it_has_however_long_it_was_silent(database_url):
    async with connected(database_url) as database:
        owner, _ = await claimed_by(database)
        await execute(database, "UPDATE processes SET seen_at = now() - interval '1 hour'")
        assert await recover(database) == []
        assert await renew(database, owner, 0)
        assert await bury_dead(database, 15) == []


async def test_an_owner_that_nobody_knows_is_dead(database_url):
    async with connected(database_url) as database:
        await claimed_by(database)
        await execute(database, "DELETE FROM processes")
        assert [each.stale for each in await recover(database)] == [False]


async def test_a_claim_that_is_never_settled_comes_back_without_counting_against_the_run(database_url):
    async with connected(database_url) as database:
        _, (claimed,) = await claimed_by(database, settled=False)
        assert await recover(database) == []
        await execute(database, "UPDATE execution_queue SET claimed_at = now() - interval '6 minutes'")
        assert [(each.queue_id, each.stale, each.recoveries) for each in await recover(database)] == [
            (claimed.queue_id, True, 0)
        ]
        assert (await row(database, "SELECT recoveries FROM workflow_executions"))["recoveries"] == 0


async def test_a_dispatched_item_is_never_stale(database_url):
    async with connected(database_url) as database:
        await claimed_by(database)
        await execute(database, "UPDATE execution_queue SET claimed_at = now() - interval '6 minutes'")
        assert await recover(database) == []


async def test_a_run_that_is_recovered_twice_is_a_suspect_and_then_only_its_own_turn_counts(database_url):
    async with connected(database_url) as database:
        owner, claimed = await claimed_by(database)
        counts = []
        for turn in [True, True, False, True, False, True, True]:
            await die(database, owner)
            counts.append((await recover(database))[0].recoveries)
            suspect = (await row(database, "SELECT suspect FROM workflow_executions"))["suspect"]
            assert suspect is (max(counts) >= 2)
            owner = Process(new_id(), "worker", "w")
            await register(database, owner, 10)
            claimed = (await claim_executions(database, owner.id, 1)).claimed
            assert claimed[0].row["suspect"] is suspect
            if turn:  # a suspect is settled before it is driven; otherwise it still waits for its turn
                await settle(database, claimed, owner)
        # Deaths while it was only claimed do not count once it is a suspect; before, nobody can tell them apart.
        assert counts == [1, 2, 3, 0, 4, 0, LAST_RECOVERY]


async def test_a_suspect_whose_turn_has_not_come_is_back_in_line_for_a_moment(database_url):
    async with connected(database_url) as database:
        owner, (claimed,) = await claimed_by(database, settled=False)
        await postpone(database, claimed.execution_id, new_id(), 1)
        assert (await row(database, "SELECT status FROM execution_queue"))["status"] == "CLAIMED"
        await postpone(database, claimed.execution_id, owner.id, 1)
        item = await row(database, "SELECT * FROM execution_queue")
        assert (item["status"], item["due"], item["holds_slot"]) == ("PENDING", False, True)
        assert (await row(database, "SELECT status FROM workflow_executions"))["status"] == "RUNNING"


async def test_what_a_process_holds_without_driving_it_goes_back(database_url):
    async with connected(database_url) as database:
        owner, (driven, forgotten) = await claimed_by(database, 2)
        found = await hand_back_forgotten(database, owner.id, [driven.execution_id])
        assert found == [(forgotten.execution_id, forgotten.workspace_id)]
        assert await hand_back_forgotten(database, owner.id, [driven.execution_id]) == []


async def test_a_process_that_stops_gives_everything_back_and_no_death_is_counted(database_url):
    async with connected(database_url) as database:
        owner, claimed = await claimed_by(database, 2)
        async with database.transaction() as connection:
            assert len(await hand_back(connection, owner.id)) == 2
        again = (await claim_executions(database, new_id(), 10)).claimed
        assert {each.execution_id for each in again} == {each.execution_id for each in claimed}
        assert [(each.token, each.row["recoveries"]) for each in again] == [(2, 0)] * 2


async def test_one_run_can_be_handed_back_by_whoever_drives_it_alone(database_url):
    async with connected(database_url) as database:
        _, (claimed,) = await claimed_by(database)
        async with database.transaction() as connection:
            key = (claimed.execution_id, claimed.run)
            assert await hand_back_run(connection, *key, claimed.token + 1) is None
            assert await hand_back_run(connection, *key, claimed.token) == claimed.workspace_id
            assert await hand_back_run(connection, *key, claimed.token) is None
        item = await row(database, "SELECT * FROM execution_queue")
        assert (item["id"], item["status"], item["holds_slot"]) == (claimed.queue_id, "PENDING", True)


async def test_handing_back_makes_an_item_that_somebody_deleted_anew(database_url):
    async with connected(database_url) as database:
        _, (claimed,) = await claimed_by(database)
        await execute(database, "DELETE FROM execution_queue")
        async with database.transaction() as connection:
            await hand_back_run(connection, claimed.execution_id, claimed.run, claimed.token)
        again = (await claim_executions(database, new_id(), 1)).claimed
        assert [each.execution_id for each in again] == [claimed.execution_id]
