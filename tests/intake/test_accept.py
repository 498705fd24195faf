from contextlib import suppress
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from tests.catalog.kit import Shop
from tests.intake.kit import REFUND, Counter, new, serving

from riven.catalog.errors import WorkflowNotFoundError
from riven.catalog.workflows import archive_workflow
from riven.db.errors import ConstraintError
from riven.db.identity import new_id
from riven.intake.accept import accept_execution, accept_executions
from riven.intake.errors import InvalidInputError, KeyReusedError, QueuedLimitError
from riven.intake.wish import NewExecution
from riven.tenancy.errors import InvalidRequestError

LATER = datetime.now(UTC) + timedelta(hours=1)  # noqa: TID251 - a test of times
EARLIER = datetime.now(UTC) - timedelta(hours=1)  # noqa: TID251


async def accept(
    counter: Counter, *starts: NewExecution, key: str | None = None, body: object = None, **more
):
    made = None if key is None else counter.key(key, body)
    async with counter.shop.database.transaction() as connection:
        return await accept_executions(connection, counter.shop.scope, starts, key=made, **more)


async def one(shop: Shop, table: str) -> dict:
    (row,) = await shop.rows(f"SELECT * FROM {table}")
    return row


async def test_an_execution_its_item_and_its_audit_row_are_written(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        rerun_of = new_id()
        async with shop.database.transaction() as connection:
            accepted = await accept_execution(
                connection,
                shop.scope,
                new(
                    2.5,
                    priority=-3,
                    correlation_id="c",
                    labels={"a": "b"},
                    scheduled_for=LATER,
                    trigger={"kind": "test"},
                    rerun_of=rerun_of,
                    rerun_from="tell",
                ),
            )
        execution = await one(shop, "workflow_executions")
        assert execution["id"] == accepted.execution_id
        assert execution["status"] == "PENDING"
        assert execution["phase"] == "INITIALIZING"
        assert (execution["run"], execution["token"], execution["priority"]) == (1, 0, -3)
        assert execution["input"] == {"amount": 2.5, "currency": "EUR"}
        assert (execution["correlation_id"], execution["labels"]) == ("c", {"a": "b"})
        assert (execution["trigger"], execution["scheduled_for"]) == ({"kind": "test"}, LATER)
        assert (execution["rerun_of"], execution["rerun_from"]) == (rerun_of, "tell")
        assert execution["principal"] == "key:k"
        item = await one(shop, "execution_queue")
        assert item["id"] == accepted.queue_id
        assert item["execution_id"] == accepted.execution_id
        assert (item["status"], item["attempts"], item["priority"]) == ("PENDING", 0, -3)
        assert (item["due"], item["available_at"], item["aged_at"]) == (False, LATER, LATER)
        (entry,) = await shop.rows("SELECT * FROM activity WHERE action = 'execution.started'")
        assert entry["workspace_id"] == shop.workspace_id
        assert entry["subject"] == f"execution:{accepted.execution_id}"
        assert entry["details"] == {"workflow": "refund", "version": 1, "rerunOf": str(rerun_of)}
        assert await shop.value(
            "SELECT every(created_at = now_) FROM (SELECT created_at, min(created_at) OVER () AS now_ FROM workflow_executions) t"
        )


async def test_a_time_in_the_past_means_now(database_url: str) -> None:
    async with serving(database_url) as counter:
        await accept(counter, new(scheduled_for=EARLIER))
        item = await one(counter.shop, "execution_queue")
        assert item["due"]
        assert item["available_at"] == item["created_at"] == item["aged_at"]


async def test_a_time_at_the_end_of_the_calendar_is_kept_as_a_time(database_url: str) -> None:
    async with serving(database_url) as counter:
        await accept(counter, new(scheduled_for=datetime.max.replace(tzinfo=UTC)))
        execution = await one(counter.shop, "workflow_executions")
        assert execution["scheduled_for"] == datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)


async def test_many_are_in_line_in_the_order_in_which_they_were_asked_for(database_url: str) -> None:
    async with serving(database_url) as counter:
        accepted = await accept(counter, *(new(amount) for amount in range(300)))
        by_id = await counter.shop.rows("SELECT id, input FROM workflow_executions ORDER BY id")
        assert [row["input"]["amount"] for row in by_id] == list(range(300))
        assert [row["id"] for row in by_id] == [each.execution_id for each in accepted]
        line = await counter.shop.rows(
            "SELECT execution_id FROM execution_queue ORDER BY priority DESC, aged_at, id"
        )
        assert [row["execution_id"] for row in line] == [each.execution_id for each in accepted]


async def test_all_or_nothing(database_url: str) -> None:
    async with serving(database_url) as counter:
        starts = [new(amount) for amount in range(10)]
        starts[7] = new("seven")
        with pytest.raises(InvalidInputError) as refused:
            await accept(counter, *starts, batch=True)
        assert [(each.path, each.code) for each in refused.value.problems] == [
            ("executions[7].input.amount", "wrong_type")
        ]
        assert await counter.shop.counts() == (0, 0, 0, 0)


async def test_everything_that_is_wrong_with_a_batch_is_told(database_url: str) -> None:
    async with serving(database_url) as counter:
        starts = [new(), new("x", priority=0), new(priority=500), new(input={}), new(workflow_name="none")]
        with pytest.raises(InvalidInputError) as refused:
            await accept(counter, *starts, batch=True)
        assert [(each.path, each.code) for each in refused.value.problems] == [
            ("executions[1].input.amount", "wrong_type"),
            ("executions[2].priority", "invalid_value"),
            ("executions[3].input.amount", "missing_field"),
            ("executions[4]", "workflow_not_found"),
        ]
        with pytest.raises(WorkflowNotFoundError) as unknown:
            await accept(counter, new(), new(workflow_name="none"), new("x"), batch=True)
        assert [each.path for each in unknown.value.problems] == [
            "executions[1]",
            "executions[2].input.amount",
        ]


async def test_a_thousand_wrong_starts_are_told_of_within_bounds(database_url: str) -> None:
    async with serving(database_url) as counter:
        starts = [new(input={f"x{n}": 1 for n in range(50)}) for _ in range(1_000)]
        with pytest.raises(InvalidInputError) as refused:
            await accept(counter, *starts, batch=True)
        assert len(refused.value.problems) <= 1_000


async def test_a_refusal_leaves_the_callers_transaction_usable(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        await shop.execute(
            "ALTER TABLE workflow_executions ADD CONSTRAINT poison CHECK (correlation_id IS DISTINCT FROM 'poison')"
        )
        async with shop.database.transaction() as connection:
            with pytest.raises(ConstraintError) as refused:
                await accept_execution(
                    connection, shop.scope, new(correlation_id="poison"), key=counter.key("k")
                )
            assert refused.value.constraint == "poison"
            with pytest.raises(WorkflowNotFoundError):
                await accept_execution(connection, shop.scope, new(workflow_name="none"))
            await accept_execution(connection, shop.scope, new())
        assert await shop.counts() == (1, 1, 1, 0)


async def test_a_rollback_leaves_nothing(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        with suppress(ZeroDivisionError):
            async with shop.database.transaction() as connection:
                await accept_execution(connection, shop.scope, new(), key=counter.key("k"))
                raise ZeroDivisionError
        assert await shop.counts() == (0, 0, 0, 0)


async def test_the_same_key_again_gives_the_same_answer_whatever_has_changed(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        first = await accept(counter, new(), new(2), key="k", body={"a": 1})
        await archive_workflow(shop.database, shop.scope, "refund")
        await shop.execute("UPDATE workspaces SET disabled = true")
        assert await accept(counter, new(), new(2), key="k", body={"a": 1}) == first
        with pytest.raises(KeyReusedError):
            await accept(counter, new(), key="k", body={"a": 2})
        assert (await shop.counts())[3] == 1


async def test_a_key_may_be_used_twice_in_one_transaction(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        async with shop.database.transaction() as connection:
            answers = [
                await accept_execution(connection, shop.scope, new(), key=counter.key("k")) for _ in range(2)
            ]
        assert answers[0] == answers[1]
        assert await shop.counts() == (1, 1, 1, 1)


async def test_a_refused_request_uses_no_key(database_url: str) -> None:
    async with serving(database_url) as counter:
        with pytest.raises(InvalidInputError):
            await accept(counter, new("x"), key="k", body={"a": 1})
        assert await accept(counter, new(), key="k", body={"a": 2})


async def test_a_batch_goes_over_the_limit_as_a_whole_or_not_at_all(database_url: str) -> None:
    async with serving(database_url, queued=5) as counter:
        await accept(counter, new(), new(), new())
        with pytest.raises(QueuedLimitError) as refused:
            await accept(counter, new(), new(), new())
        assert refused.value.retry_after
        await accept(counter, new(), new())
        assert (await counter.shop.counts())[0] == 5


async def test_a_later_publish_does_not_change_the_version_of_what_was_started(database_url: str) -> None:
    async with serving(database_url) as counter:
        shop = counter.shop
        await accept(counter, new())
        await shop.publish("refund", REFUND.replace("hello", "goodbye"))
        await accept(counter, new())
        rows = await shop.rows(
            "SELECT e.version, v.version AS of_row FROM workflow_executions e "
            "JOIN workflow_definition_versions v ON v.id = e.workflow_definition_version_id ORDER BY e.id"
        )
        assert [(row["version"], row["of_row"]) for row in rows] == [(1, 1), (2, 2)]


async def test_the_schema_that_counts_is_that_of_the_version_that_is_started(database_url: str) -> None:
    async with serving(database_url) as counter:
        await counter.shop.publish("refund", REFUND.replace("type: number", "type: string"))
        await accept(counter, new(1, version=1), new("1", version=2), new("1"))
        with pytest.raises(InvalidInputError):
            await accept(counter, new(1))


async def test_without_a_schema_any_mapping_will_do(database_url: str) -> None:
    async with serving(database_url) as counter:
        await counter.shop.publish("any")
        await accept(counter, new(workflow_name="any", input={"é": [None, True, 1.5, "x"]}))
        assert (await one(counter.shop, "workflow_executions"))["input"] == {"é": [None, True, 1.5, "x"]}


def deep(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "path", "code"),
    [
        ({"x": "\0"}, "input.x", "nul_character"),
        ({"x\0": 1}, 'input["x\ufffd"]', "nul_character"),
        ({"x": "\ud800"}, "input.x", "lone_surrogate"),
        ({"x": 2**63}, "input.x", "integer_range"),
        ({"x": -(2**63) - 1}, "input.x", "integer_range"),
        ({"x": float("nan")}, "input.x", "not_finite"),
        ({"x": float("inf")}, "input.x", "not_finite"),
        ({"x": deep(200)}, "input.x[0][0][0][0][0][0][0]", "too_deep"),
        ([1], "input", "wrong_type"),
        (None, "input", "wrong_type"),
        ({"x": object()}, "input.x", "wrong_type"),
        ({1: 1}, "input", "invalid_key"),
    ],
)
async def test_a_hostile_input_is_a_listed_problem(database_url: str, value, path: str, code: str) -> None:
    async with serving(database_url) as counter:
        await counter.shop.publish("any")
        with pytest.raises(InvalidRequestError) as refused:
            await accept(counter, new(workflow_name="any", input=value))
        assert [(each.path, each.code) for each in refused.value.problems] == [(path, code)]
        assert await counter.shop.counts() == (0, 0, 0, 0)


async def test_extreme_but_legal_inputs_are_kept_as_they_are(database_url: str) -> None:
    value = {
        "max": 2**63 - 1,
        "min": -(2**63),
        "deep": deep(98),
        "text": "\x01\u2028\U0001f600é'\"\\",
        "": {},
    }
    async with serving(database_url) as counter:
        await counter.shop.publish("any")
        await accept(counter, new(workflow_name="any", input=value))
        assert (await one(counter.shop, "workflow_executions"))["input"] == value


async def test_ids_are_uuids_of_version_seven(database_url: str) -> None:
    async with serving(database_url) as counter:
        (accepted,) = await accept(counter, new())
        assert {UUID(str(each)).version for each in (accepted.execution_id, accepted.queue_id)} == {7}
