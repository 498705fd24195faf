import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import asyncpg
import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.pool import NullPool
from tests.intake.kit import Counter, serving

from riven.db.adopt import NotInTransactionError
from riven.db.identity import new_id
from riven.intake.enqueue import enqueue
from riven.intake.errors import InvalidInputError, KeyReusedError
from riven.queue.claim import claim_executions
from riven.queue.wake import WakeListener
from riven.tenancy.errors import InvalidRequestError, WorkspaceNotFoundError


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(url)
    try:
        yield connection
    finally:
        await connection.close()


@asynccontextmanager
async def engine_on(url: str) -> AsyncIterator[Any]:
    engine = create_async_engine(make_url(url).set(drivername="postgresql+asyncpg"), poolclass=NullPool)
    try:
        yield engine
    finally:
        await engine.dispose()


def order(counter: Counter, **more: object) -> dict[str, Any]:
    return {"workspace_id": counter.shop.workspace_id, "workflow": "refund", "input": {"amount": 1}, **more}


async def test_it_happens_with_the_callers_own_rows(database_url: str) -> None:
    async with serving(database_url) as counter, connected(database_url) as connection:
        await connection.execute("CREATE TABLE orders (id int)")
        async with connection.transaction():
            await connection.execute("INSERT INTO orders VALUES (1)")
            accepted = await enqueue(connection, **order(counter, labels={"a": "b"}, actor="billing"))
            assert await counter.shop.counts() == (0, 0, 0, 0)
        assert await counter.shop.counts() == (1, 1, 1, 0)
        (execution,) = await counter.shop.rows("SELECT * FROM workflow_executions")
        assert execution["id"] == accepted.execution_id
        assert execution["principal"] == "library:billing"
        assert execution["input"] == {"amount": 1, "currency": "EUR"}
        assert execution["labels"] == {"a": "b"}


async def test_a_rollback_leaves_nothing(database_url: str) -> None:
    async with serving(database_url) as counter, connected(database_url) as connection:
        with suppress(ZeroDivisionError):
            async with connection.transaction():
                await enqueue(connection, **order(counter, idempotency_key="k"))
                raise ZeroDivisionError
        assert await counter.shop.counts() == (0, 0, 0, 0)


async def test_a_transaction_may_be_begun_by_a_statement(database_url: str) -> None:
    async with serving(database_url) as counter, connected(database_url) as connection:
        await connection.execute("BEGIN")
        await enqueue(connection, **order(counter))
        await connection.execute("COMMIT")
        assert await counter.shop.counts() == (1, 1, 1, 0)


async def test_without_a_transaction_nothing_is_done(database_url: str) -> None:
    async with serving(database_url) as counter, connected(database_url) as connection:
        with pytest.raises(NotInTransactionError, match="begin one"):
            await enqueue(connection, **order(counter))
        with pytest.raises(TypeError, match="no connection"):
            await enqueue(object(), **order(counter))
        assert await counter.shop.counts() == (0, 0, 0, 0)


async def test_connections_of_a_pool_will_do(database_url: str) -> None:
    async with (
        serving(database_url) as counter,
        asyncpg.create_pool(database_url, min_size=1, max_size=1) as pool,
    ):
        async with pool.acquire() as connection, connection.transaction():
            await enqueue(connection, **order(counter))
        assert (await counter.shop.counts())[0] == 1


async def test_so_will_those_of_sqlalchemy(database_url: str) -> None:
    async with serving(database_url) as counter, engine_on(database_url) as engine:
        async with engine.begin() as connection:  # the first statement in it
            await enqueue(connection, **order(counter))
        async with engine.begin() as connection:
            await connection.execute(text("SELECT 1"))
            await enqueue(connection, **order(counter))
            assert (await connection.execute(text("SELECT count(*) FROM workflow_executions"))).scalar() == 2
        async with AsyncSession(engine) as session:
            await enqueue(session, **order(counter))
            await session.commit()
        assert (await counter.shop.counts())[0] == 3
        async with engine.connect() as connection:
            await enqueue(connection, **order(counter))
            await connection.rollback()
        async with AsyncSession(engine) as session:
            await enqueue(session, **order(counter))
        assert (await counter.shop.counts())[0] == 3


async def test_what_is_refused_is_refused_as_over_http_and_the_transaction_goes_on(database_url: str) -> None:
    async with serving(database_url) as counter, connected(database_url) as connection:
        await counter.shop.execute(
            "ALTER TABLE workflow_executions ADD CONSTRAINT poison CHECK (correlation_id IS DISTINCT FROM 'poison')"
        )
        async with connection.transaction():
            with pytest.raises(InvalidInputError):
                await enqueue(connection, **order(counter, input={"amount": "x"}))
            with pytest.raises(WorkspaceNotFoundError):
                await enqueue(connection, **order(counter, workspace_id=str(new_id())))
            with pytest.raises(InvalidRequestError):
                await enqueue(connection, **order(counter, idempotency_key="k", input={"amount": object()}))
            with pytest.raises(Exception, match="poison"):
                await enqueue(connection, **order(counter, correlation_id="poison"))
            await enqueue(connection, **order(counter))
        assert await counter.shop.counts() == (1, 1, 1, 0)


async def test_the_same_key_is_one_execution(database_url: str) -> None:
    async with serving(database_url) as counter, connected(database_url) as connection:
        answers = []
        for _ in range(2):
            async with connection.transaction():
                answers.append(await enqueue(connection, **order(counter, idempotency_key="k")))
        assert answers[0] == answers[1]
        assert [answer.repeated for answer in answers] == [False, True]
        async with connection.transaction():
            with pytest.raises(KeyReusedError):
                await enqueue(connection, **order(counter, idempotency_key="k", priority=1))
        assert await counter.shop.counts() == (1, 1, 1, 1)


async def test_a_workflow_may_be_named_by_its_id(database_url: str) -> None:
    async with serving(database_url) as counter, connected(database_url) as connection:
        workflow_id = await counter.shop.value("SELECT id FROM workflow_definitions")
        async with connection.transaction():
            await enqueue(connection, **order(counter, workflow=workflow_id))
        assert (await counter.shop.counts())[0] == 1


async def test_the_commit_wakes_who_claims_and_a_rollback_does_not(database_url: str) -> None:
    async with serving(database_url) as counter, connected(database_url) as connection:
        shop = counter.shop
        woken: asyncio.Queue[None] = asyncio.Queue()
        listener = WakeListener(shop.database, new_id(), lambda: woken.put_nowait(None))
        listener.start()
        await asyncio.wait_for(woken.get(), 5)  # it listens
        with suppress(ZeroDivisionError):
            async with connection.transaction():
                await enqueue(connection, **order(counter))
                raise ZeroDivisionError
        async with connection.transaction():
            await enqueue(connection, **order(counter))
            # A claim that finds nothing says so on the workspace, and nobody is left to take that back but the listener.
            await shop.execute("UPDATE workspaces SET idle = true")
            assert (await claim_executions(shop.database, new_id(), 10)).claimed == []
            assert woken.empty()
        await asyncio.wait_for(woken.get(), 5)
        assert len((await claim_executions(shop.database, new_id(), 10)).claimed) == 1
        await listener.stop()


async def test_who_begins_to_listen_takes_back_what_was_said_wrongly(database_url: str) -> None:
    async with serving(database_url) as counter, connected(database_url) as connection:
        shop = counter.shop
        async with connection.transaction():
            await enqueue(connection, **order(counter))
        await shop.execute("UPDATE workspaces SET idle = true")
        woken: asyncio.Queue[None] = asyncio.Queue()
        listener = WakeListener(shop.database, new_id(), lambda: woken.put_nowait(None))
        listener.start()
        while await shop.value("SELECT idle FROM workspaces"):
            await asyncio.wait_for(woken.get(), 5)
        assert len((await claim_executions(shop.database, new_id(), 10)).claimed) == 1
        await listener.stop()


async def test_anybody_may_notify_nonsense(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        woken: asyncio.Queue[None] = asyncio.Queue()
        listener = WakeListener(shop.database, new_id(), lambda: woken.put_nowait(None))
        listener.start()
        await asyncio.wait_for(woken.get(), 5)
        for payload in ("", "enqueue:", "enqueue:no-id,", "x"):
            await shop.execute("SELECT pg_notify('riven_wake', $1)", payload)
        await shop.execute("SELECT pg_notify('riven_wake', $1)", f"enqueue:{shop.workspace_id}")
        for _ in range(3):
            await asyncio.wait_for(woken.get(), 5)
        await listener.stop()
