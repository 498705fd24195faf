"""A database with claimed executions, and the announcer that maintenance tells."""

from contextlib import asynccontextmanager
from uuid import UUID

from tests.queue.lines import connected

from riven.db.engine import Database
from riven.db.identity import new_id
from riven.queue.claim import claim_executions
from riven.queue.lease import Process, register
from riven.queue.settle import Drive, settle_dispatched
from riven.queue.wake import Announcer


class Place:
    def __init__(self, database: Database, announcer: Announcer) -> None:
        self.database = database
        self.announcer = announcer

    async def execute(self, statement: str, *values) -> int:
        async with self.database.transaction() as connection:
            return await connection.execute(statement, *values)

    async def row(self, statement: str, *values):
        async with self.database.read() as connection:
            return await connection.fetch_row(statement, *values)

    async def value(self, statement: str, *values):
        async with self.database.read() as connection:
            return await connection.fetch_value(statement, *values)

    async def item(self, execution_id: UUID):
        return await self.row("SELECT * FROM execution_queue WHERE execution_id = $1", execution_id)

    async def execution(self, execution_id: UUID):
        return await self.row("SELECT * FROM workflow_executions WHERE id = $1", execution_id)

    async def worker(self) -> Process:
        process = Process(new_id(), "worker", "w")
        await register(self.database, process, 10)
        return process

    async def claim(self, owner: Process, count: int = 1, *, settled: bool = True):
        claimed = (await claim_executions(self.database, owner.id, count)).claimed
        if settled:
            drives = [Drive(each.execution_id, each.run, each.token) for each in claimed]
            async with self.database.transaction() as connection:
                await settle_dispatched(connection, drives, owner.id)
        return claimed

    async def silence(self, process: Process, seconds: float = 3_600) -> None:
        """As if it had given no sign of life for so long."""
        await self.execute(
            "UPDATE processes SET seen_at = now() - make_interval(secs => $2) WHERE id = $1",
            process.id,
            seconds,
        )


@asynccontextmanager
async def place(url: str):
    async with connected(url) as database:
        announcer = Announcer(database, new_id())
        try:
            yield Place(database, announcer)
        finally:
            await announcer.close()


async def refuse(database: Database, table: str, when: str) -> None:
    """From now on PostgreSQL refuses to change rows of the table for which this holds."""
    async with database.transaction() as connection:
        await connection.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'refused by a test'; END $$"
        )
        await connection.execute(
            f"CREATE TRIGGER refuse BEFORE UPDATE ON {table} FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refuse()"
        )
