import asyncpg
import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from riven.db.adopt import NotInTransactionError, adopt


async def test_only_a_connection_in_a_transaction_is_adopted(database_url: str) -> None:
    connection = await asyncpg.connect(database_url)
    try:
        with pytest.raises(NotInTransactionError):
            await adopt(connection)
        async with connection.transaction():
            assert await (await adopt(connection)).fetch_value("SELECT 1") == 1
    finally:
        await connection.close()


async def test_what_is_done_on_one_of_sqlalchemy_is_a_part_of_its_transaction(database_url: str) -> None:
    engine = create_async_engine(
        make_url(database_url).set(drivername="postgresql+asyncpg"), poolclass=NullPool
    )
    async with engine.connect() as connection:
        await (await adopt(connection)).execute("CREATE TABLE theirs (id int)")
        await connection.rollback()
    async with engine.connect() as connection:
        found = await (await adopt(connection)).fetch_value("SELECT to_regclass('theirs')")
        assert found is None
    await engine.dispose()


@pytest.mark.parametrize("other", [None, object(), "postgresql://"])
async def test_nothing_else_is_adopted(other: object) -> None:
    with pytest.raises(TypeError):
        await adopt(other)
