from uuid import uuid4

import pytest
from tests.tenancy.tenants import scope

from riven.db.engine import Database
from riven.db.errors import ConstraintError
from riven.tenancy.activity import _LIST, Activity, RecordedActivity, list_activity, record_activity


async def test_many_entries_are_written_at_once_and_read_newest_first_by_pages(database_url: str) -> None:
    database = Database(database_url)
    here, there = uuid4(), uuid4()
    entries = [
        Activity(
            workspace_id=here,
            actor="key:1",
            action="execution.started",
            subject=f"execution:{number}",
            details={"n": number, "nested": ["\0", {"ü": None}]},
        )
        for number in range(5)
    ]
    foreign = Activity(workspace_id=there, actor="user:x", action="a", subject="s")
    platform = Activity(workspace_id=None, actor="key:0", action="tier.saved", subject="tier:PRO")
    async with database.transaction() as connection:
        await record_activity(connection, *entries, foreign, platform)
        first = await list_activity(connection, scope(here), before=None, limit=3)
        rest = await list_activity(connection, scope(here), before=first[-1].id, limit=3)
        other = await list_activity(connection, scope(there), before=None, limit=3)
    await database.close()
    assert [each.details["n"] for each in (*first, *rest)] == [4, 3, 2, 1, 0]
    assert first[0].details == {"n": 4, "nested": ["\0", {"ü": None}]}
    assert (first[0].actor, first[0].action, first[0].subject) == (
        "key:1",
        "execution.started",
        "execution:4",
    )
    assert [each.subject for each in other] == ["s"]


async def test_what_is_rolled_back_was_not_done(database_url: str) -> None:
    database = Database(database_url)
    here = uuid4()

    async def fail_after_recording() -> None:
        async with database.transaction() as connection:
            await record_activity(connection, Activity(workspace_id=here, actor="a", action="b", subject="c"))
            await connection.execute("INSERT INTO workspaces (name, tier) VALUES ('a', 'NO SUCH TIER')")

    with pytest.raises(ConstraintError):
        await fail_after_recording()
    async with database.read() as connection:
        assert await list_activity(connection, scope(here), before=None, limit=1) == []
    await database.close()


async def test_a_page_is_found_by_its_index_however_much_others_did_since(database_url: str) -> None:
    database = Database(database_url)
    old, busy = uuid4(), uuid4()
    async with database.transaction() as connection:
        for workspace, count in ((old, 2_000), (busy, 20_000)):
            entry = Activity(workspace_id=workspace, actor="a", action="b", subject="c")
            await record_activity(connection, *[entry] * count)
    async with database.transaction() as connection:
        await connection.execute("ANALYZE activity")
        seen: list[RecordedActivity] = []
        while page := await list_activity(
            connection, scope(old), before=seen[-1].id if seen else None, limit=700
        ):
            seen += page
        plan = await connection.fetch(f"EXPLAIN (ANALYZE, COSTS OFF) {_LIST}", old, seen[1_000].id, 50)
    await database.close()
    assert len({each.id for each in seen}) == 2_000
    text = "\n".join(row[0] for row in plan)
    assert "activity_workspace_id_id_idx" in text
    assert "Rows Removed" not in text
    assert "Sort" not in text
