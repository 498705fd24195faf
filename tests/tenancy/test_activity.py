from uuid import uuid4

import pytest
from tests.tenancy.tenants import scope

from riven.db.engine import Database
from riven.db.errors import ConstraintError
from riven.tenancy.activity import Activity, list_activity, record_activity


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
