from uuid import uuid4

from tests.tenancy.tenants import make_workspace

from riven.db.engine import Database
from riven.tenancy.directory import WorkspaceDirectory


async def test_that_a_workspace_exists_is_remembered_that_it_does_not_is_asked_again(
    database_url: str,
) -> None:
    database = Database(database_url)
    at = [100.0]
    directory = WorkspaceDirectory(database, now=lambda: at[0])
    workspace, other = await make_workspace(database), uuid4()
    assert await directory.has(workspace)
    assert not await directory.has(other)
    async with database.transaction() as connection:
        await connection.execute("DELETE FROM workspaces")
        await connection.execute("INSERT INTO workspaces (id, name, tier) VALUES ($1, 'b', 'PRO')", other)
    assert await directory.has(other)
    assert await directory.has(workspace)
    at[0] += 10.1
    assert not await directory.has(workspace)
    await database.close()


async def test_the_default_is_the_oldest_of_its_name(database_url: str) -> None:
    database = Database(database_url)
    directory = WorkspaceDirectory(database)
    await make_workspace(database)
    assert await directory.default() is None
    first, second = uuid4(), uuid4()
    async with database.transaction() as connection:
        for workspace, day in ((second, 2), (first, 1)):
            await connection.execute(
                "INSERT INTO workspaces (id, name, tier, created_at) "
                "VALUES ($1, 'default', 'PRO', make_date(2026, 1, $2))",
                workspace,
                day,
            )
    assert await directory.default() == first
    await database.close()
