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
