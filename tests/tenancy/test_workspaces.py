import asyncio
from uuid import uuid4

import pytest
from tests.tenancy.tenants import PLATFORM, make_workspace, scope

from riven.db.engine import Database
from riven.tenancy.activity import list_activity
from riven.tenancy.errors import ForbiddenError, InvalidRequestError, WorkspaceNotFoundError
from riven.tenancy.principals import Principal, Role
from riven.tenancy.tiers import Tier, list_tiers, save_tier
from riven.tenancy.workspaces import (
    Limits,
    WorkspaceChange,
    change_workspace,
    create_workspace,
    get_workspace,
    list_workspaces,
    workspace_exists,
)


@pytest.mark.parametrize(
    ("tier", "running", "queued"), [("FREE", 1, 100_000), ("PRO", 5, 1_000_000), ("ENTERPRISE", 20, None)]
)
async def test_a_tier_says_what_the_workspace_does_not(
    database_url: str, tier: str, running: int, queued: int | None
) -> None:
    database = Database(database_url)
    async with database.transaction() as connection:
        made = await create_workspace(connection, PLATFORM, name="a", tier=tier, limits=Limits())
        own = await create_workspace(
            connection, PLATFORM, name="b", tier=tier, limits=Limits(running=7, queued=0, max_attempts=9)
        )
    await database.close()
    assert (made.running_limit, made.queued_limit, made.limits) == (running, queued, Limits())
    assert (own.running_limit, own.queued_limit) == (7, 0)
    assert own.limits == Limits(running=7, queued=0, max_attempts=9)


async def test_an_unknown_tier_is_refused_with_those_that_exist(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    async with database.transaction() as connection:
        with pytest.raises(InvalidRequestError, match="FREE, PRO, ENTERPRISE") as refused:
            await create_workspace(connection, PLATFORM, name="a", tier="GOLD", limits=Limits())
        assert refused.value.problems[0].path == "tier"
        with pytest.raises(InvalidRequestError, match="no tier 'gold'"):
            await change_workspace(connection, PLATFORM, workspace, WorkspaceChange(tier="gold"))
    await database.close()


async def test_a_change_touches_what_it_names_alone_and_is_audited(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    async with database.transaction() as connection:
        first = await change_workspace(
            connection, PLATFORM, workspace, WorkspaceChange(running=8, weight=3, disabled=True)
        )
    async with database.transaction() as connection:
        second = await change_workspace(
            connection, PLATFORM, workspace, WorkspaceChange(running=None, name="b")
        )
    async with database.transaction() as connection:
        same = await change_workspace(connection, PLATFORM, workspace, WorkspaceChange(name="b"))
        trail = await list_activity(connection, scope(workspace), before=None, limit=10)
    await database.close()
    assert (first.running_limit, first.weight, first.disabled, first.name) == (8, 3, True, "acme")
    assert (second.running_limit, second.weight, second.disabled, second.name) == (5, 3, True, "b")
    assert second.updated_at > first.updated_at
    assert same == second
    assert [(each.action, each.details) for each in trail] == [
        ("workspace.changed", {"name": "b", "limits": {"running": None}}),
        ("workspace.changed", {"weight": 3, "disabled": True, "limits": {"running": 8}}),
        ("workspace.created", {"name": "acme", "tier": "PRO"}),
    ]


async def test_tenants_change_nothing(database_url: str) -> None:
    database = Database(database_url)
    workspace = await make_workspace(database)
    admin = scope(workspace).principal
    async with database.transaction() as connection:
        with pytest.raises(ForbiddenError):
            await change_workspace(connection, admin, workspace, WorkspaceChange(running=1_000))
        with pytest.raises(ForbiddenError):
            await create_workspace(connection, admin, name="mine", tier="FREE", limits=Limits())
        with pytest.raises(ForbiddenError):
            await save_tier(connection, admin, Tier("FREE", 1_000, None))
    await database.close()


async def test_a_change_of_limits_waits_for_the_claim_that_is_counting(database_url: str) -> None:
    """The claim holds the workspace's lock from before it reads the limit until its rows are written."""
    database = Database(database_url)
    workspace = await make_workspace(database)
    order: list[str] = []
    counting = asyncio.Event()
    asked = asyncio.Event()

    async def claim() -> None:
        async with database.transaction() as connection:
            await connection.fetch("SELECT id FROM workspaces WHERE id = $1 FOR NO KEY UPDATE", workspace)
            counting.set()
            await asked.wait()
            while not await connection.fetch_value(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            ):
                pass
            order.append("claimed")

    async def change() -> None:
        await counting.wait()
        async with database.transaction() as connection:
            asked.set()
            await change_workspace(connection, PLATFORM, workspace, WorkspaceChange(running=1))
            order.append("changed")

    async with asyncio.TaskGroup() as group:
        group.create_task(claim())
        group.create_task(change())
    await database.close()
    assert order == ["claimed", "changed"]


async def test_an_accept_does_not_wait_for_a_change_of_limits(database_url: str) -> None:
    """FOR NO KEY UPDATE lets the foreign-key checks of inserts pass."""
    database = Database(database_url)
    workspace = await make_workspace(database)
    async with database.transaction() as changing:
        await change_workspace(changing, PLATFORM, workspace, WorkspaceChange(running=1))
        async with database.transaction() as accepting:
            await accepting.execute("SET LOCAL lock_timeout = '2s'")
            await accepting.execute(
                "INSERT INTO members (workspace_id, subject, role) VALUES ($1, 's', 'VIEWER')", workspace
            )
    await database.close()


async def test_a_tier_is_data_and_holds_for_its_workspaces_at_once(database_url: str) -> None:
    database = Database(database_url)
    plain = await make_workspace(database)
    async with database.transaction() as connection:
        own = await create_workspace(connection, PLATFORM, name="b", tier="PRO", limits=Limits(running=2))
        changed = await save_tier(connection, PLATFORM, Tier("PRO", 6, None))
        await save_tier(connection, PLATFORM, Tier("SMALL", 2, 10))
    async with database.read() as connection:
        assert (await get_workspace(connection, plain)).running_limit == 6
        assert (await get_workspace(connection, plain)).queued_limit is None
        assert (await get_workspace(connection, own.id)).running_limit == 2
        tiers = await list_tiers(connection)
    await database.close()
    assert set(changed) == {plain, own.id}
    assert [tier.name for tier in tiers] == ["FREE", "SMALL", "PRO", "ENTERPRISE"]


async def test_lists_show_what_the_caller_may_see(database_url: str) -> None:
    database = Database(database_url)
    ids = [await make_workspace(database, str(number)) for number in range(4)]
    member = Principal(kind="user", id="u", name="u", memberships={ids[0]: Role.VIEWER, ids[2]: Role.ADMIN})
    nobody = Principal(kind="user", id="n", name="n")
    async with database.read() as connection:

        async def seen(principal: Principal, before=None, limit=10) -> list[str]:
            found = await list_workspaces(connection, principal, before=before, limit=limit)
            return [each.name for each in found]

        assert await seen(PLATFORM) == ["3", "2", "1", "0"]
        assert await seen(PLATFORM, before=ids[2], limit=1) == ["1"]
        assert await seen(scope(ids[1], Role.VIEWER).principal) == ["1"]
        assert await seen(member) == ["2", "0"]
        assert await seen(nobody) == []
    await database.close()


async def test_a_workspace_that_is_not_there_is_not_found(database_url: str) -> None:
    database = Database(database_url)
    async with database.transaction() as connection:
        assert not await workspace_exists(connection, uuid4())
        with pytest.raises(WorkspaceNotFoundError):
            await get_workspace(connection, uuid4())
        with pytest.raises(WorkspaceNotFoundError):
            await change_workspace(connection, PLATFORM, uuid4(), WorkspaceChange(name="x"))
    await database.close()
