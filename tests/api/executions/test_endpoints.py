import asyncio
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import httpx
import orjson
import pytest
from tests.api.harness import Api, Tenant, assert_problem, serving

from riven.db.engine import Database
from riven.db.identity import new_id

START = "/workflow/executions/start"
BATCH = "/workflow/executions/start-batch"
DOCUMENT = """\
name: refund
input:
  type: object
  required: [amount]
  properties:
    amount: {type: number}
    currency: {type: string, default: EUR}
  additionalProperties: false
nodes:
  tell: {type: log, with: {message: "{{ input.amount }}"}}
"""


async def publish(api: Api, tenant: Tenant, name: str = "refund", text: str = DOCUMENT) -> str:
    path = f"/workspaces/{tenant.id}/workflows/{name}"
    saved = await api.put(path, key=tenant.editor, content=text.replace("name: refund", f"name: {name}"))
    assert saved.status_code == 200, saved.text
    done = await api.post(f"{path}/publish", key=tenant.editor)
    assert done.status_code == 200, done.text
    return str(saved.json()["workflowDefinitionId"])


async def shop(api: Api) -> Tenant:
    tenant = await api.workspace()
    await publish(api, tenant)
    return tenant


def body(tenant: Tenant, amount: object = 1.5, **more: object) -> dict[str, object]:
    """What is None is left out."""
    fields = {
        "workspaceId": str(tenant.id),
        "workflowName": "refund",
        "input": {"amount": amount},
        **more,
    }
    return {name: value for name, value in fields.items() if value is not None}


async def start(api: Api, tenant: Tenant, *, key: str | None = None, **more: object) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return await api.post(START, body(tenant, **more), key=tenant.operator, headers=headers)


async def batch(
    api: Api, tenant: Tenant, *starts: Mapping[str, object], key: str | None = None
) -> httpx.Response:
    headers = {} if key is None else {"Idempotency-Key": key}
    return await api.post(BATCH, {"executions": list(starts)}, key=tenant.operator, headers=headers)


async def rows(api: Api, statement: str, *values: object) -> list[dict[str, Any]]:
    async with api.database.read() as connection:
        return [dict(row) for row in await connection.fetch(statement, *values)]


async def stored(api: Api) -> int:
    """Rows of every kind that a start may leave."""
    (row,) = await rows(
        api,
        "SELECT (SELECT count(*) FROM workflow_executions) + (SELECT count(*) FROM execution_queue) "
        "+ (SELECT count(*) FROM activity WHERE action = 'execution.started') "
        "+ (SELECT count(*) FROM idempotency_keys) AS stored",
    )
    return int(row["stored"])


async def test_a_start_is_accepted_and_in_line(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        workflow = await publish(api, tenant)
        answer = await start(
            api, tenant, priority=7, correlationId="ticket-7", labels={"customer": "acme"}, version=1
        )
        assert answer.status_code == 202, answer.text
        started = answer.json()
        assert set(started) == {"executionId", "queueId", "status"}
        assert started["status"] == "PENDING"
        assert answer.headers["location"] == f"/api/v1/workflow/executions/{started['executionId']}"
        (execution,) = await rows(api, "SELECT * FROM workflow_executions")
        assert str(execution["id"]) == started["executionId"]
        assert execution["workspace_id"] == tenant.id
        assert execution["workflow_definition_id"] == UUID(workflow)
        assert (execution["workflow_name"], execution["version"]) == ("refund", 1)
        assert execution["input"] == {"amount": 1.5, "currency": "EUR"}
        assert execution["labels"] == {"customer": "acme"}
        assert (execution["correlation_id"], execution["priority"]) == ("ticket-7", 7)
        (item,) = await rows(api, "SELECT * FROM execution_queue")
        assert str(item["id"]) == started["queueId"]
        assert (item["execution_id"], item["status"]) == (execution["id"], "PENDING")
        (entry,) = await rows(api, "SELECT * FROM activity WHERE action = 'execution.started'")
        assert (entry["subject"], entry["actor"]) == (f"execution:{execution['id']}", execution["principal"])


async def test_a_workflow_is_started_by_its_id_too(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        workflow = await publish(api, tenant)
        answer = await start(api, tenant, workflowName=None, workflowDefinitionId=workflow)
        assert answer.status_code == 202, answer.text


async def test_what_is_null_is_as_if_it_were_not_given(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        await publish(api, tenant, text="{name: refund, nodes: {}}")
        nothing = dict.fromkeys(("version", "input", "priority", "scheduledFor", "correlationId", "labels"))
        answer = await start(api, tenant, **nothing)
        assert answer.status_code == 202, answer.text
        (execution,) = await rows(api, "SELECT * FROM workflow_executions")
        assert (execution["input"], execution["labels"], execution["priority"]) == ({}, {}, 0)


async def test_who_is_who(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant, other = await shop(api), await api.workspace("other")
        ask = body(tenant)
        assert_problem(await api.post(START, ask, key=None), 401, "unauthenticated")
        assert_problem(await api.post(START, ask, key="rvn_" + "x" * 43), 401, "unauthenticated")
        assert_problem(await api.post(START, ask, key=tenant.viewer), 403, "forbidden")
        assert_problem(await api.post(START, ask, key=other.admin), 403, "foreign_workspace")
        assert_problem(
            await api.post(BATCH, {"executions": [ask]}, key=other.admin),
            403,
            "foreign_workspace",
            "executions[0].workspaceId",
        )
        assert await stored(api) == 0
        for key in (tenant.operator, tenant.editor, tenant.admin, "platform"):
            assert (await api.post(START, ask, key=key)).status_code == 202


async def test_a_workspace_that_is_not_there_is_unknown(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        ask = {**body(tenant), "workspaceId": str(new_id())}
        assert_problem(await api.post(START, ask), 404, "workspace_not_found")
        assert_problem(await api.post(START, ask, key=tenant.operator), 404, "workspace_not_found")


async def test_unknown_and_foreign_workflows(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant, other = await shop(api), await api.workspace("other")
        theirs = await publish(api, other, "theirs")
        for wrong in (
            {"workflowName": "none"},
            {"workflowName": "theirs"},
            {"workflowName": "No name!"},
            {"workflowName": ""},
            {"workflowName": None, "workflowDefinitionId": str(new_id())},
        ):
            assert_problem(await start(api, tenant, **wrong), 404, "workflow_not_found")
        answer = await start(api, tenant, workflowName=None, workflowDefinitionId=theirs)
        assert_problem(answer, 403, "foreign_workflow")
        assert_problem(await start(api, tenant, version=2), 404, "version_not_found")
        assert_problem(await start(api, tenant, version=2**31 - 1), 404, "version_not_found")
        assert await stored(api) == 0


async def test_a_draft_and_an_archived_workflow_do_not_start(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        path = f"/workspaces/{tenant.id}/workflows/refund"
        await api.put(path, key=tenant.editor, content=DOCUMENT)
        assert_problem(await start(api, tenant), 409, "workflow_not_published")
        await api.post(f"{path}/publish", key=tenant.editor)
        assert (await start(api, tenant)).status_code == 202
        assert (await api.delete(path, key=tenant.editor)).status_code == 204
        assert_problem(await start(api, tenant), 404, "workflow_not_found")


async def test_a_disabled_workspace_starts_nothing(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        await api.patch(f"/workspaces/{tenant.id}", {"disabled": True})
        assert_problem(await start(api, tenant), 403, "workspace_disabled")
        await api.patch(f"/workspaces/{tenant.id}", {"disabled": False})
        assert (await start(api, tenant)).status_code == 202


async def test_an_input_that_does_not_fit_is_told_by_its_fields(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        assert_problem(
            await start(api, tenant, input={"amount": "x", "y": 1}),
            422,
            "invalid_input",
            "input.amount",
            "input.y",
        )
        assert_problem(await start(api, tenant, input=None), 422, "invalid_input", "input.amount")
        answer = await batch(api, tenant, body(tenant), body(tenant, "x"), body(tenant, input={}))
        assert_problem(
            answer, 422, "invalid_input", "executions[1].input.amount", "executions[2].input.amount"
        )
        assert await stored(api) == 0


@pytest.mark.parametrize(
    ("wrong", "path"),
    [
        ({"priority": 101}, "priority"),
        ({"priority": -101}, "priority"),
        ({"priority": "1"}, "priority"),
        ({"priority": 1.5}, "priority"),
        ({"version": 0}, "version"),
        ({"version": "1"}, "version"),
        ({"scheduledFor": "tomorrow"}, "scheduledFor"),
        ({"scheduledFor": "2026-11-19T08:00:00"}, "scheduledFor"),
        ({"scheduledFor": 5}, "scheduledFor"),
        ({"scheduledFor": "9999-12-31T23:59:59-14:00"}, "scheduledFor"),
        ({"correlationId": ""}, "correlationId"),
        ({"correlationId": "x" * 513}, "correlationId"),
        ({"correlationId": "a\0"}, "correlationId"),
        ({"labels": {"a": 1}}, "labels.a"),
        ({"labels": {"a": "\0"}}, "labels.a"),
        ({"labels": {str(n): "x" for n in range(33)}}, "labels"),
        ({"labels": ["a"]}, "labels"),
        ({"input": [1]}, "input"),
        ({"workspaceId": "x"}, "workspaceId"),
        ({"workflowDefinitionId": "x"}, "workflowDefinitionId"),
        ({"workflowDefinitionId": "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b11"}, "workflowName"),
        ({"workflowName": None}, "workflowName"),
        ({"workspaceId": None}, "workspaceId"),
        ({"priorty": 1}, "priorty"),
    ],
)
async def test_every_field_is_checked(database_url: str, wrong: dict[str, object], path: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        assert_problem(await start(api, tenant, **wrong), 422, "invalid_request", path)
        prefix = "executions[1]."
        answer = await batch(api, tenant, body(tenant), body(tenant, **wrong))
        assert_problem(answer, 422, "invalid_request", prefix + path)
        assert await stored(api) == 0


async def test_fields_at_their_ends_are_taken(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        for good in (
            {"priority": 100},
            {"priority": -100},
            {"correlationId": "é" * 512},
            {"labels": {str(n): "x" for n in range(32)}},
            {"labels": {}},
            {"scheduledFor": "2001-01-01T00:00:00Z"},
            {"scheduledFor": "2040-01-01T00:00:00.123456+05:30"},
        ):
            answer = await start(api, tenant, **good)
            assert answer.status_code == 202, (good, answer.text)


@pytest.mark.parametrize("path", [START, BATCH])
@pytest.mark.parametrize(
    ("content", "status", "code"),
    [
        (b"", 400, "malformed_json"),
        (b"{", 400, "malformed_json"),
        (b'{"a": NaN}', 400, "malformed_json"),
        (b'{"a": "\\ud800"}', 400, "malformed_json"),
        (b"\xff", 400, "malformed_json"),
        (b"[" * 100_000, 400, "malformed_json"),
        (b"[]", 422, "invalid_request"),
        (b"null", 422, "invalid_request"),
    ],
)
async def test_what_is_no_request(
    database_url: str, path: str, content: bytes, status: int, code: str
) -> None:
    async with serving(database_url) as api:
        answer = await api.request(
            "POST", path, content=content, headers={"Content-Type": "application/json"}
        )
        assert answer.status_code == status, answer.text
        assert answer.json()["type"] == f"/problems/{code}"


def nested(levels: int) -> bytes:
    return b"[" * levels + b"]" * levels


@pytest.mark.parametrize(
    ("value", "path"),
    [
        (b'"\\u0000"', "input.x"),
        (b"9223372036854775808", "input.x"),
        (b"1e400", ""),
        (nested(120), "input.x[0][0][0][0][0][0][0]"),
    ],
)
async def test_hostile_inputs_are_listed_problems(database_url: str, value: bytes, path: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        await publish(api, tenant, "any", "name: any\nnodes: {}\n")
        content = orjson.dumps(body(tenant, workflowName="any", input={"x": 0})).replace(
            b'"x":0', b'"x":' + value
        )
        answer = await api.request("POST", START, key=tenant.operator, content=content)
        assert answer.status_code in (400, 422), answer.text
        assert not path or [each["path"] for each in answer.json()["errors"]] == [path]
        assert await stored(api) == 0


async def test_a_body_of_a_mebibyte_is_taken_and_one_more_byte_is_not(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        await publish(api, tenant, "any", "name: any\nnodes: {}\n")
        empty = len(orjson.dumps(body(tenant, workflowName="any", input={"x": ""})))
        for length, status in ((1 << 20, 202), ((1 << 20) + 1, 413)):
            content = orjson.dumps(body(tenant, workflowName="any", input={"x": "a" * (length - empty)}))
            assert len(content) == length
            answer = await api.request("POST", START, key=tenant.operator, content=content)
            assert answer.status_code == status, answer.text[:200]
        (row,) = await rows(api, "SELECT input FROM workflow_executions")
        assert len(row["input"]["x"]) == (1 << 20) - empty


async def test_a_batch_is_answered_in_the_order_of_its_requests(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        answer = await batch(api, tenant, *(body(tenant, amount) for amount in range(1_000)))
        assert answer.status_code == 202, answer.text[:300]
        started = answer.json()["executions"]
        assert set(answer.json()) == {"executions"}
        assert all(set(each) == {"executionId", "queueId", "status"} for each in started)
        found = await rows(api, "SELECT id, input FROM workflow_executions")
        amounts = {str(row["id"]): row["input"]["amount"] for row in found}
        assert [amounts[each["executionId"]] for each in started] == list(range(1_000))
        items = await rows(api, "SELECT id, execution_id FROM execution_queue")
        assert {(each["queueId"], each["executionId"]) for each in started} == {
            (str(row["id"]), str(row["execution_id"])) for row in items
        }


async def test_a_batch_has_one_to_a_thousand_starts(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        assert_problem(await batch(api, tenant), 422, "invalid_request", "executions")
        answer = await batch(api, tenant, *(body(tenant) for _ in range(1_001)))
        assert_problem(answer, 422, "invalid_request", "executions")
        assert await stored(api) == 0


async def test_a_batch_that_names_something_unknown_starts_nothing(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant, other = await shop(api), await api.workspace("other")
        theirs = await publish(api, other, "theirs")
        unknown = body(tenant, workflowName="none")
        foreign = body(tenant, workflowName=None, workflowDefinitionId=theirs)
        assert_problem(
            await batch(api, tenant, body(tenant), unknown), 404, "workflow_not_found", "executions[1]"
        )
        assert_problem(
            await batch(api, tenant, foreign, body(tenant)), 403, "foreign_workflow", "executions[0]"
        )
        elsewhere = body(other, workflowName="theirs")
        answer = await batch(api, tenant, body(tenant), elsewhere)
        assert_problem(answer, 403, "foreign_workspace", "executions[1].workspaceId")
        assert await stored(api) == 0


async def test_the_platform_may_start_in_several_workspaces_at_once(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant, other = await shop(api), await shop(api)
        answer = await api.post(BATCH, {"executions": [body(tenant), body(other), body(tenant)]})
        assert answer.status_code == 202, answer.text
        counted = await rows(
            api, "SELECT workspace_id, count(*)::int AS n FROM workflow_executions GROUP BY 1"
        )
        assert {row["workspace_id"]: row["n"] for row in counted} == {tenant.id: 2, other.id: 1}


async def test_twenty_of_the_same_at_once_are_one_execution(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        answers = await asyncio.gather(*(start(api, tenant, key="k") for _ in range(20)))
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.text for answer in answers}) == 1
        assert {answer.headers["location"] for answer in answers} == {
            f"/api/v1/workflow/executions/{answers[0].json()['executionId']}"
        }
        assert await stored(api) == 4
        assert_problem(await start(api, tenant, amount=2, key="k"), 422, "idempotency_key_reused")
        assert (await start(api, tenant, amount=2, key="l")).json() != answers[0].json()


async def test_the_same_body_is_the_same_json(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        first = await start(api, tenant, amount=1, key="k")
        reordered = orjson.dumps(dict(reversed(body(tenant, amount=1.0).items())), option=orjson.OPT_INDENT_2)
        again = await api.request(
            "POST", START, key=tenant.operator, content=reordered, headers={"Idempotency-Key": "k"}
        )
        assert again.json() == first.json()


async def test_a_batch_has_a_key_too(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        starts = [body(tenant, amount) for amount in range(5)]
        answers = await asyncio.gather(*(batch(api, tenant, *starts, key="k") for _ in range(5)))
        assert {answer.status_code for answer in answers} == {202}
        assert len({answer.text for answer in answers}) == 1
        assert len(await rows(api, "SELECT 1 FROM workflow_executions")) == 5
        assert_problem(await batch(api, tenant, *starts[:4], key="k"), 422, "idempotency_key_reused")
        assert_problem(await start(api, tenant, key="k"), 422, "idempotency_key_reused")


async def test_a_key_is_a_printable_text(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        for wrong in ("", "x" * 256):
            assert_problem(await start(api, tenant, key=wrong), 422, "invalid_request", "Idempotency-Key")
        assert (await start(api, tenant, key="x" * 255)).status_code == 202


async def test_a_request_that_was_refused_may_come_again_with_its_key(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        assert (await start(api, tenant, amount="x", key="k")).status_code == 422
        assert (await start(api, tenant, amount=1, key="k")).status_code == 202


async def test_who_may_not_start_may_not_see_what_a_key_has_started(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        await start(api, tenant, key="k")
        answer = await api.post(START, body(tenant), key=tenant.viewer, headers={"Idempotency-Key": "k"})
        assert_problem(answer, 403, "forbidden")


async def test_the_line_has_a_limit(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace("small", limits={"queued": 3})
        await publish(api, tenant)
        for _ in range(3):
            assert (await start(api, tenant)).status_code == 202
        assert_problem(await start(api, tenant), 429, "queued_limit")
        await api.patch(f"/workspaces/{tenant.id}", {"limits": {"queued": 4}})
        assert_problem(await batch(api, tenant, body(tenant), body(tenant)), 429, "queued_limit")
        assert (await start(api, tenant)).status_code == 202
        assert len(await rows(api, "SELECT 1 FROM workflow_executions")) == 4


async def test_an_edit_after_the_start_does_not_change_what_runs(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        await start(api, tenant)
        path = f"/workspaces/{tenant.id}/workflows/refund"
        await api.put(path, key=tenant.editor, content=DOCUMENT.replace("tell", "shout"))
        await start(api, tenant)
        await api.post(f"{path}/publish", key=tenant.editor)
        await start(api, tenant)
        found = await rows(api, "SELECT version FROM workflow_executions ORDER BY id")
        assert [row["version"] for row in found] == [1, 1, 2]


async def test_a_row_that_a_constraint_refuses_is_a_conflict_and_leaves_nothing(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        async with api.database.transaction() as connection:
            await connection.execute(
                "ALTER TABLE workflow_executions ADD CONSTRAINT odd CHECK (priority <> 13)"
            )
        answers = await asyncio.gather(*(start(api, tenant, priority=12 + n % 3) for n in range(9)))
        assert sorted(answer.status_code for answer in answers) == [202] * 6 + [409] * 3
        assert_problem(answers[1], 409, "refused_by_constraint")
        assert await stored(api) == 18


async def test_without_its_database_it_says_so_and_stores_nothing(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await shop(api)
        assert (await start(api, tenant)).status_code == 202  # who asks is remembered for a while
        nowhere = Database("postgresql://nobody@127.0.0.1:1/none", connect_timeout=0.5)
        api.state.intake._database = nowhere
        assert_problem(await start(api, tenant), 503, "unavailable")
        assert_problem(await batch(api, tenant, body(tenant)), 503, "unavailable")
        assert await stored(api) == 3
