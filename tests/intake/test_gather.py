import asyncio
from contextlib import suppress
from uuid import uuid4

import pytest
from tests.catalog.kit import scope_of
from tests.intake.kit import REFUND, new, serving
from tests.intake.proxy import proxied

from riven.catalog.errors import WorkflowNotFoundError
from riven.db.engine import Database
from riven.db.errors import DatabaseUnavailableError
from riven.intake.accept import accept_execution
from riven.intake.errors import (
    InvalidInputError,
    KeyBusyError,
    KeyReusedError,
    QueuedLimitError,
    RefusedRowError,
)
from riven.intake.gather import Intake
from riven.intake.wish import Wish
from riven.tenancy.errors import InvalidRequestError

POISON = (
    "ALTER TABLE workflow_executions ADD CONSTRAINT poison CHECK (correlation_id IS DISTINCT FROM 'poison')"
)


async def together(*starts):
    return await asyncio.gather(*starts, return_exceptions=True)


async def test_starts_that_come_at_once_share_a_commit(database_url: str) -> None:
    async with serving(database_url) as counter:
        answers = await asyncio.gather(*(counter.start(new(n)) for n in range(100)))
        assert len({answer[0].execution_id for answer in answers}) == 100
        assert await counter.shop.counts() == (100, 100, 100, 0)
        assert await counter.shop.value("SELECT count(DISTINCT xmin::text) FROM workflow_executions") == 1
        assert counter.intake.flushes == 1
        rows = await counter.shop.rows("SELECT id, input FROM workflow_executions")
        inputs = {row["id"]: row["input"]["amount"] for row in rows}
        assert [inputs[answer[0].execution_id] for answer in answers] == list(range(100))


async def test_what_comes_while_a_flush_is_under_way_goes_with_the_next(database_url: str) -> None:
    async with serving(database_url) as counter:
        await asyncio.gather(*(lane(counter, 20) for _ in range(20)))
        assert (await counter.shop.counts())[0] == 400
        assert counter.intake.flushes < 200


async def lane(counter, times: int) -> None:
    for _ in range(times):
        await counter.start()


async def test_the_workspace_is_announced_after_the_commit(database_url: str) -> None:
    async with serving(database_url) as counter:
        seen = []

        async def look() -> None:
            seen.append(await counter.shop.counts())

        tasks = []
        counter.intake._announce = lambda workspaces: tasks.append(
            (set(workspaces), asyncio.ensure_future(look()))
        )
        await counter.start()
        ((workspaces, task),) = tasks
        await task
        assert workspaces == {counter.shop.workspace_id}
        assert seen == [(1, 1, 1, 0)]
        with pytest.raises(InvalidInputError):
            await counter.start(new("x"))
        assert len(tasks) == 1


async def test_one_poisoned_start_among_ten_fails_alone(database_url: str) -> None:
    async with serving(database_url) as counter:
        await counter.shop.execute(POISON)
        starts = [counter.start(new(n, correlation_id="poison" if n == 6 else "c")) for n in range(10)]
        answers = await together(*starts)
        assert [type(answer) for answer in answers] == [
            RefusedRowError if n == 6 else tuple for n in range(10)
        ]
        assert "poison" in str(answers[6])
        assert await counter.shop.counts() == (9, 9, 9, 0)
        given = {answer[0].execution_id for answer in answers if isinstance(answer, tuple)}
        assert {row["id"] for row in await counter.shop.rows("SELECT id FROM workflow_executions")} == given
        assert set().union(*counter.announced) == {counter.shop.workspace_id}


async def test_one_wrong_start_among_ten_fails_alone(database_url: str) -> None:
    async with serving(database_url) as counter:
        starts = [
            counter.start(new("x" if n == 3 else n), new(workflow_name="none" if n == 4 else "refund"))
            for n in range(10)
        ]
        answers = await together(*starts)
        assert type(answers[3]) is InvalidInputError
        assert type(answers[4]) is WorkflowNotFoundError
        assert (await counter.shop.counts())[0] == 16
        assert counter.intake.flushes == 1


async def test_what_the_database_cannot_hold_fails_alone(database_url: str) -> None:
    async with serving(database_url) as counter:
        starts = [
            counter.start(new(n, trigger="\0" if n == 2 else None, rerun_from="\0" if n == 5 else None))
            for n in range(9)
        ]
        answers = await together(*starts)
        assert type(answers[5]) is InvalidRequestError
        assert (await counter.shop.counts())[0] == 8


async def test_a_mistake_of_ours_is_told_to_the_one_who_met_it(database_url: str) -> None:
    async with serving(database_url) as counter:
        answers = await together(
            *(counter.start(new(n, trigger={"x": object()} if n == 2 else None)) for n in range(5))
        )
        assert [type(answer) for answer in answers] == [tuple, tuple, TypeError, tuple, tuple]
        assert (await counter.shop.counts())[0] == 4


async def test_twenty_with_one_key_at_once_start_one_execution(database_url: str) -> None:
    async with serving(database_url) as counter:
        answers = await asyncio.gather(*(counter.start(key="k", body={"a": 1}) for _ in range(20)))
        assert len(set(answers)) == 1
        assert await counter.shop.counts() == (1, 1, 1, 1)
        assert await counter.start(key="k", body={"a": 1}) == answers[0]
        with pytest.raises(KeyReusedError):
            await counter.start(key="k", body={"a": 2})


async def test_twenty_with_one_key_in_several_processes_start_one_execution(database_url: str) -> None:
    async with serving(database_url) as counter:
        databases = [Database(database_url, pool_size=2) for _ in range(5)]
        intakes = [Intake(database, lambda _: None) for database in databases]
        for round_ in range(5):
            wishes = [counter.wish(key=f"k{round_}", body={"a": 1}) for _ in range(20)]
            answers = await asyncio.gather(*(intakes[n % 5].accept(wish) for n, wish in enumerate(wishes)))
            assert len(set(answers)) == 1
        assert await counter.shop.counts() == (5, 5, 5, 5)
        for database in databases:
            await database.close()


async def test_two_bodies_with_one_key_at_once_start_one_of_them(database_url: str) -> None:
    async with serving(database_url) as counter:
        answers = await together(*(counter.start(new(n % 2), key="k", body={"a": n % 2}) for n in range(20)))
        started = [answer for answer in answers if isinstance(answer, tuple)]
        assert len(started) == 10
        assert len(set(started)) == 1
        assert {type(answer) for answer in answers} == {tuple, KeyReusedError}
        assert (await counter.shop.counts())[0] == 1


async def test_when_the_first_with_a_key_is_refused_the_next_one_is_the_first(database_url: str) -> None:
    async with serving(database_url) as counter:
        answers = await together(
            counter.start(new("x"), key="k", body={"a": "x"}), counter.start(key="k", body={"a": 1})
        )
        assert type(answers[0]) is InvalidInputError
        assert isinstance(answers[1], tuple)
        assert (await counter.shop.counts())[0] == 1


async def test_keys_are_of_their_workspace(database_url: str) -> None:
    async with serving(database_url) as counter:
        other = await counter.shop.workspace()
        await other.publish("refund", REFUND)
        await counter.start(key="k", body={"a": 1})
        mine = counter.key("k", {"a": 2})
        theirs = type(mine)(other.workspace_id, "k", mine.request_hash)
        await counter.intake.accept(Wish(starts=[(other.scope, new())], key=theirs))
        assert (await counter.shop.counts())[0] == 2


async def test_a_callers_long_transaction_holds_up_nobody_but_its_own_key(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        async with shop.database.transaction() as connection:
            first = await accept_execution(connection, shop.scope, new(), key=counter.key("k", {"a": 1}))
            same = [asyncio.ensure_future(counter.start(key="k", body={"a": 1})) for _ in range(3)]
            another = Intake(shop.database, lambda _: None)
            same += [asyncio.ensure_future(another.accept(counter.wish(key="k", body={"a": 1})))]
            for turn in range(5):
                others = [counter.start(key=f"other{turn}-{n}", body={}) for n in range(5)]
                assert len(await asyncio.wait_for(asyncio.gather(*others), 3)) == 5
            assert not any(waiting.done() for waiting in same)
        assert await asyncio.gather(*same) == [(first,)] * 4
        assert (await shop.counts())[0] == 26
        await another.close()


async def test_several_keys_that_are_held_hold_up_no_other_start(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        async with shop.database.transaction() as connection:
            for n in range(4):
                await accept_execution(connection, shop.scope, new(), key=counter.key(f"k{n}"))
            waiting = []
            for n in range(4):  # each in a flush of its own
                waiting.append(asyncio.ensure_future(counter.start(key=f"k{n}")))
                await asyncio.wait_for(counter.start(), 3)
            await asyncio.wait_for(asyncio.gather(*(counter.start() for _ in range(10))), 3)
            assert not any(each.done() for each in waiting)
        await asyncio.gather(*waiting)
        assert (await shop.counts())[0] == 18


async def test_when_the_long_transaction_is_rolled_back_the_waiting_one_starts(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        with suppress(ZeroDivisionError):
            async with shop.database.transaction() as connection:
                first = await accept_execution(connection, shop.scope, new(), key=counter.key("k", {"a": 1}))
                waiting = asyncio.ensure_future(counter.start(key="k", body={"a": 1}))
                await counter.start()
                raise ZeroDivisionError
        assert await waiting != (first,)
        assert (await shop.counts())[0] == 2


@pytest.mark.slow
async def test_a_key_that_is_held_for_too_long_is_busy(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        async with shop.database.transaction() as connection:
            await accept_execution(connection, shop.scope, new(), key=counter.key("k"))
            with pytest.raises(KeyBusyError):
                await counter.start(key="k")


async def test_a_publish_holds_at_once_for_the_next_start(database_url: str) -> None:
    async with serving(database_url) as counter:
        for version in range(1, 6):
            await counter.shop.publish("refund", REFUND.replace("hello", f"hello {version}"))
            await counter.start()
        rows = await counter.shop.rows("SELECT version FROM workflow_executions ORDER BY id")
        assert [row["version"] for row in rows] == [2, 3, 4, 5, 6]


async def test_a_disabled_workspace_starts_nothing_from_then_on(database_url: str) -> None:
    async with serving(database_url) as counter:
        await counter.start()
        await counter.shop.execute("UPDATE workspaces SET disabled = true")
        with pytest.raises(Exception, match="is disabled"):
            await counter.start()
        await counter.shop.execute("UPDATE workspaces SET disabled = false")
        await counter.start()


async def test_no_more_than_the_limit_come_in_line_of_many_at_once(database_url: str) -> None:
    async with serving(database_url, queued=7) as counter:
        answers = await together(*(counter.start() for _ in range(20)))
        assert sum(isinstance(answer, tuple) for answer in answers) == 7
        assert sum(isinstance(answer, QueuedLimitError) for answer in answers) == 13
        assert (await counter.shop.counts())[0] == 7
        await counter.shop.execute("UPDATE workflow_executions SET status = 'RUNNING'")
        assert await counter.start()


async def test_large_requests_go_by_themselves(database_url: str) -> None:
    async with serving(database_url) as counter:
        await counter.shop.publish("any")
        large = new(workflow_name="any", input={"x": ["y" * 100] * 3_000})
        answers = await asyncio.gather(
            counter.intake.accept(counter.wish(large, size=300_000)),
            counter.start(*(new(n) for n in range(1_000)), batch=True),
            *(counter.start() for _ in range(10)),
        )
        assert [len(answer) for answer in answers] == [1, 1_000] + [1] * 10
        assert (await counter.shop.counts())[0] == 1_011


async def test_a_batch_that_is_refused_leaves_nothing(database_url: str) -> None:
    async with serving(database_url) as counter:
        await counter.shop.execute(POISON)
        starts = [new(n, correlation_id="poison" if n == 999 else None) for n in range(1_000)]
        with pytest.raises(RefusedRowError):
            await counter.start(*starts, key="k", batch=True)
        assert await counter.shop.counts() == (0, 0, 0, 0)


async def test_without_a_database_nothing_is_accepted() -> None:
    database = Database("postgresql://nobody@127.0.0.1:1/none", connect_timeout=0.5)
    intake = Intake(database, lambda _: None)
    scope = scope_of(uuid4())
    answers = await together(*(intake.accept(Wish(starts=[(scope, new())])) for _ in range(5)))
    assert {type(answer) for answer in answers} == {DatabaseUnavailableError}
    await intake.close()
    await database.close()


async def test_an_answer_that_was_lost_is_found_again(database_url: str) -> None:
    async with serving(database_url) as counter, proxied(database_url) as (proxy, url):
        database = Database(url, pool_size=3)
        intake = Intake(database, lambda _: None)
        for number in range(3):  # the statements are known to the connection
            await intake.accept(counter.wish(new(number)))
        proxy.swallow(b"lost-answer")
        wishes = [counter.wish(new(n, correlation_id="lost-answer" if n == 4 else None)) for n in range(9)]
        answers = await asyncio.gather(*map(intake.accept, wishes))
        assert proxy.swallowed == 1
        assert await counter.shop.counts() == (12, 12, 12, 0)
        rows = await counter.shop.rows("SELECT id FROM workflow_executions")
        assert {answer[0].execution_id for answer in answers} <= {row["id"] for row in rows}
        await intake.close()
        await database.close()


async def test_a_lost_answer_to_a_request_with_a_key_is_found_again(database_url: str) -> None:
    async with serving(database_url) as counter, proxied(database_url) as (proxy, url):
        database = Database(url, pool_size=3)
        intake = Intake(database, lambda _: None)
        await intake.accept(counter.wish(key="first"))
        proxy.swallow(b"lost-answer")
        wish = counter.wish(new(correlation_id="lost-answer"), key="k")
        answer = await intake.accept(wish)
        assert proxy.swallowed == 1
        assert await counter.shop.counts() == (2, 2, 2, 2)
        assert await counter.start(new(correlation_id="lost-answer"), key="k") == answer
        await intake.close()
        await database.close()


async def test_connections_that_broke_since_their_last_use_are_no_reason_to_refuse(database_url: str) -> None:
    async with serving(database_url) as counter:
        await counter.start()
        await counter.shop.value(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
        await asyncio.gather(*(counter.start() for _ in range(10)))
        assert (await counter.shop.counts())[0] == 11
