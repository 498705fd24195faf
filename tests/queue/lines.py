"""Workspaces with executions in line, made directly in the tables."""

from contextlib import asynccontextmanager
from uuid import UUID

from riven.db.engine import Database
from riven.db.identity import new_id
from riven.queue.enqueue import NewItem, enqueue_executions

_WORKSPACE = """
INSERT INTO workspaces (name, tier, running_limit, weight, idle) VALUES ($1, $2, $3, $4, false) RETURNING id
"""
_EXECUTIONS = """
INSERT INTO workflow_executions (id, workspace_id, workflow_definition_id, workflow_definition_version_id,
                                 workflow_name, version, principal)
SELECT unnest($1::uuid[]), $2, $3, $3, 'w', 1, 'test'
"""
_FINISH = """
UPDATE workflow_executions SET status = 'COMPLETED', finished_at = now(), owner_id = NULL
WHERE id = $1 AND token = $2 AND status = 'RUNNING'
"""


@asynccontextmanager
async def connected(url: str, **options):
    database = Database(url, **options)
    try:
        yield database
    finally:
        await database.close()


async def workspace(database: Database, *, tier="FREE", limit=None, weight=1, name="w") -> UUID:
    async with database.transaction() as connection:
        return await connection.fetch_value(_WORKSPACE, name, tier, limit, weight)


async def line_up(database: Database, workspace_id: UUID, count: int, **item) -> list[UUID]:
    """`count` executions of the workspace, all in line; answers their ids."""
    executions = [new_id() for _ in range(count)]
    definition = new_id()
    async with database.transaction() as connection:
        await connection.execute(_EXECUTIONS, executions, workspace_id, definition)
        await enqueue_executions(
            connection,
            [
                NewItem(
                    queue_id=new_id(),
                    execution_id=execution_id,
                    workspace_id=workspace_id,
                    workflow_definition_id=definition,
                    **item,
                )
                for execution_id in executions
            ],
        )
    return executions


async def finish(database: Database, claimed, *, hinted: bool = False) -> None:
    """End a claimed execution as completion does, without its rows; then clear the hint of its workspace, or leave it."""
    async with database.transaction() as connection:
        await connection.execute("DELETE FROM execution_queue WHERE id = $1", claimed.queue_id)
        assert await connection.execute(_FINISH, claimed.execution_id, claimed.token) == 1
    if hinted:
        return
    async with database.read() as connection:
        await connection.execute(
            "UPDATE workspaces SET idle = false, at_capacity = false WHERE id = $1", claimed.workspace_id
        )
