"""Control calls over HTTP: what they answer, in which state, to whom."""

from urllib.parse import quote

import pytest
from tests.api.executions.steered import BASE, served
from tests.api.harness import assert_problem

from riven.db.identity import new_id

NOOP = "nodes: {a: {type: noop}}\n"
SIGNAL = "nodes: {s: {type: signal, with: {name: paid in full}}}\noutput: '{{ steps.s.output }}'\n"
LOOP = """
nodes:
  each:
    type: for_each
    with: {items: [1, 2]}
    body:
      nodes:
        ask: {type: approval, with: {form: {type: object, required: [amount], properties: {amount: {type: number}}}}}
      output: "{{ steps.ask.output.data }}"
output: "{{ steps.each.output }}"
"""
CALLS = ("cancel", "pause", "resume", "retry", "rerun", "signal/go", "approvals/a")


def body_of(call: str):
    return {"decision": "approved"} if call.startswith("approvals") else None


@pytest.mark.parametrize("call", CALLS)
async def test_only_operators_of_the_workspace_steer(database_url, call):
    async with served(database_url, at_work=False) as here:
        execution_id = await here.start(NOOP)
        stranger = await here.api.workspace("stranger")
        path, body = f"{BASE}/{execution_id}/{call}", body_of(call)
        assert_problem(await here.api.post(path, body, key=here.tenant.viewer), 403, "forbidden")
        assert_problem(await here.api.post(path, body, key=stranger.admin), 403, "foreign_workspace")
        assert_problem(await here.api.post(path, body, key=None), 401, "unauthenticated")
        missing = f"{BASE}/{new_id()}/{call}"
        assert_problem(
            await here.api.post(missing, body, key=here.tenant.operator), 404, "execution_not_found"
        )
        assert (await here.get(f"/{execution_id}"))["status"] == "PENDING"


async def test_the_first_call_is_accepted_and_a_repeated_one_is_so_already(database_url):
    async with served(database_url, at_work=False) as here:
        execution_id = await here.start(NOOP)
        for call, status in (("pause", "PAUSED"), ("resume", "PENDING"), ("cancel", "CANCELED")):
            answers = [await here.post(f"/{execution_id}/{call}") for _ in range(2)]
            assert [each.status_code for each in answers] == [202, 200]
            assert {each.text for each in answers} == {answers[0].text}
            assert answers[0].json() == {"executionId": execution_id, "status": status}
        for call in ("pause", "resume", "signal/go"):
            assert_problem(await here.post(f"/{execution_id}/{call}"), 409, "conflict")
        assert (await here.post(f"/{execution_id}/retry")).json()["status"] == "PENDING"
        assert_problem(await here.post(f"/{execution_id}/retry"), 409, "conflict")


async def test_every_call_leaves_its_trace(database_url):
    async with served(database_url, at_work=False) as here:
        execution_id = await here.start(NOOP)
        for call in ("pause", "resume", "signal/go", "cancel", "cancel", "retry"):
            await here.post(f"/{execution_id}/{call}")
        answer = await here.api.get(f"/workspaces/{here.tenant.id}/activity", key=here.tenant.viewer)
        told = [
            each["action"]
            for each in answer.json()["items"]
            if each["subject"] == f"execution:{execution_id}"
        ]
        assert told == [
            "execution.retried", "execution.canceled", "execution.signaled", "execution.resumed", "execution.paused",
            "execution.started",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("sent", "payload"),
    [({"json": {"a": [1]}}, {"a": [1]}), ({}, None), ({"content": b"3"}, 3), ({"content": b' "x" '}, "x")],
)
async def test_a_signal_carries_any_json_or_nothing(database_url, sent, payload):
    async with served(database_url) as here:
        execution_id = await here.start(SIGNAL)
        answer = await here.post(f"/{execution_id}/signal/{quote('paid in full')}", **sent)
        assert answer.status_code == 202, answer.text
        assert (await here.until(execution_id, "COMPLETED"))["output"] == payload


async def test_what_is_no_json_is_no_payload(database_url):
    async with served(database_url, at_work=False) as here:
        execution_id = await here.start(SIGNAL)
        path = f"/{execution_id}/signal/go"
        assert_problem(await here.post(path, content=b"{"), 400, "malformed_json")
        answer = await here.post(path, content=b"a=b", headers={"Content-Type": "text/plain"})
        assert_problem(answer, 415, "unsupported_media_type")
        assert_problem(await here.post(path, content=b'"' + b"x" * (1 << 20) + b'"'), 413, "too_large")
        assert_problem(await here.post(path + "x" * 256), 422, "invalid_request", "name")


async def test_a_name_may_have_a_slash_in_it(database_url):
    async with served(database_url) as here:
        execution_id = await here.start(SIGNAL.replace("paid in full", "a/b"))
        answer = await here.post(f"/{execution_id}/signal/{quote('a/b', safe='')}", {"x": 1})
        assert answer.status_code == 202, answer.text
        assert (await here.until(execution_id, "COMPLETED"))["output"] == {"x": 1}


async def test_an_approval_is_decided_by_its_path(database_url):
    async with served(database_url) as here:
        execution_id = await here.start(LOOP)
        await here.until(execution_id, "WAITING")
        for index in (1, 0):
            path = f"/{execution_id}/approvals/{quote(f'each[{index}].ask', safe='')}"
            refused = await here.post(path, {"decision": "approved", "data": {"amount": "much"}})
            assert_problem(refused, 422, "invalid_request", "data.amount")
            answer = await here.post(
                path, {"decision": "approved", "data": {"amount": index}, "comment": "ok"}
            )
            assert answer.status_code == 202, answer.text
            assert_problem(await here.post(path, {"decision": "rejected"}), 409, "conflict")
        shown = await here.until(execution_id, "COMPLETED")
        assert shown["output"] == [{"amount": 0}, {"amount": 1}]


async def test_a_decision_is_one_of_two_and_for_an_approval(database_url):
    async with served(database_url) as here:
        execution_id = await here.start(LOOP)
        await here.until(execution_id, "WAITING")
        path = f"/{execution_id}/approvals"
        assert_problem(await here.post(f"{path}/each", {"decision": "rejected"}), 404, "approval_not_found")
        assert_problem(
            await here.post(f"{path}/x", {"decision": "perhaps"}), 422, "invalid_request", "decision"
        )
        assert_problem(await here.post(f"{path}/x", {}), 422, "invalid_request", "decision")


# ---- rerun -------------------------------------------------------------------------------------------------------------

CHAIN = """
input: {type: object, properties: {n: {type: integer, default: 1}, who: {type: string}}}
nodes:
  a: {type: python, retry: {maxAttempts: 1}, with: {function: test.do, args: {name: a}}}
  b: {type: python, needs: [a], retry: {maxAttempts: 1}, with: {function: test.do, args: {name: b}}}
  c: {type: set, needs: [b], with: {value: "{{ steps.a.output + steps.b.output + string(input.n) }}"}}
output: "{{ steps.c.output }}"
"""


async def test_a_rerun_is_a_new_execution_of_the_same(database_url):
    async with served(database_url) as here:
        first = await here.start(
            CHAIN, input={"n": 2, "who": "x"}, labels={"k": "v"}, correlationId="c", priority=3
        )
        await here.until(first, "COMPLETED")
        await here.publish(CHAIN.replace("string(input.n)", "'new'"))
        answer = await here.post(f"/{first}/rerun")
        assert answer.status_code == 202, answer.text
        second = answer.json()["executionId"]
        assert answer.headers["location"] == f"/api/v1{BASE}/{second}"
        assert set(answer.json()) == {"executionId", "queueId", "status"}
        shown = await here.until(second, "COMPLETED")
        assert (shown["output"], shown["rerunOf"], shown["workflow"]["version"]) == ("ab2", first, 1)
        assert (shown["labels"], shown["correlationId"], shown["priority"]) == ({"k": "v"}, "c", 3)
        assert shown["input"] == {"n": 2, "who": "x"}
        assert here.stage.calls == ["a", "b", "a", "b"]
        assert (await here.get(f"/{first}"))["output"] == "ab2"


async def test_from_a_node_on_everything_before_it_is_kept(database_url):
    async with served(database_url) as here:
        first = await here.start(CHAIN, input={"n": 2, "who": "x"})
        await here.until(first, "COMPLETED")
        wrong = await here.post(f"/{first}/rerun", {"dryRun": True}, headers={"Idempotency-Key": b"\xe9"})
        assert_problem(wrong, 422, "invalid_request", "Idempotency-Key")
        planned = await here.post(f"/{first}/rerun", {"fromNode": "b", "dryRun": True})
        assert (planned.status_code, planned.json()) == (200, {"willRun": ["b", "c"], "kept": ["a"]})
        assert len((await here.get(""))["items"]) == 1
        answer = await here.post(f"/{first}/rerun", {"fromNode": "b", "input": {"n": 7, "who": None}})
        second = answer.json()["executionId"]
        shown = await here.until(second, "COMPLETED")
        assert (shown["output"], shown["input"]) == ("ab7", {"n": 7})
        assert here.stage.calls == ["a", "b", "b"]
        nodes = (await here.get(f"/{second}/nodes"))["items"]
        assert [(node["path"], node["status"], node["attempt"]) for node in nodes] == [
            ("a", "COMPLETED", 1), ("b", "COMPLETED", 1), ("c", "COMPLETED", 1),
        ]  # fmt: skip


async def test_another_version_runs_anew_what_it_changed(database_url):
    async with served(database_url) as here:
        first = await here.start(CHAIN)
        await here.until(first, "COMPLETED")
        await here.publish(
            CHAIN.replace("name: b}", "name: b2}").replace("  a: {", "  zero: {type: noop}\n  a: {")
        )
        planned = await here.post(f"/{first}/rerun", {"fromNode": "c", "version": 2, "dryRun": True})
        assert planned.json() == {"willRun": ["zero", "b", "c"], "kept": ["a"]}
        answer = await here.post(f"/{first}/rerun", {"fromNode": "c", "version": 2})
        second = answer.json()["executionId"]
        shown = await here.until(second, "COMPLETED")
        assert (shown["output"], shown["workflow"]["version"]) == ("ab21", 2)
        assert here.stage.calls == ["a", "b", "b2"]
        nodes = (await here.get(f"/{second}/nodes"))["items"]
        assert [node["path"] for node in nodes] == ["zero", "a", "b", "c"]


async def test_a_failed_execution_can_be_rerun_from_its_failure(database_url):
    async with served(database_url) as here:
        here.stage.failing = {"b"}
        first = await here.start(CHAIN)
        await here.until(first, "FAILED")
        here.stage.failing = set()
        second = (await here.post(f"/{first}/rerun", {"fromNode": "b"})).json()["executionId"]
        assert (await here.until(second, "COMPLETED"))["output"] == "ab1"
        assert here.stage.calls == ["a", "b", "b"]
        assert (await here.get(f"/{first}"))["status"] == "FAILED"


async def test_loops_and_large_outputs_are_kept_whole(database_url):
    text = """
    nodes:
      each:
        type: for_each
        with: {items: [0, 1, 2]}
        body: {nodes: {x: {type: python, with: {function: test.do, args: {name: "{{ string(item) }}"}}}}, output: "{{ steps.x.output }}"}
      large: {type: set, with: {value: "{{ 'x' }}"}}
      last: {type: python, needs: [each, large], with: {function: test.do, args: {name: last}}}
    output: "{{ [steps.each.output, size(steps.large.output)] }}"
    """.replace("\n    ", "\n").replace(
        "'x' }}", "'" + "x" * 3_000 + "'.replace('x', 'yyyyyyyyyy').replace('y', 'zzzzzzzzzzzz') }}"
    )
    async with served(database_url) as here:
        first = await here.start(text)
        done = await here.until(first, "COMPLETED", "FAILED")
        assert done["output"] == [["0", "1", "2"], 360_000], done["error"]
        here.stage.calls.clear()
        second = (await here.post(f"/{first}/rerun", {"fromNode": "last"})).json()["executionId"]
        shown = await here.until(second, "COMPLETED", "FAILED")
        assert (shown["output"], here.stage.calls) == ([["0", "1", "2"], 360_000], ["last"])
        was, now = [(await here.get(f"/{each}/nodes"))["items"] for each in (first, second)]
        assert now[:-1] == was[:-1]
        third = (await here.post(f"/{second}/rerun", {"fromNode": "last"})).json()["executionId"]
        assert (await here.until(third, "COMPLETED", "FAILED"))["output"] == shown["output"]


async def test_the_same_key_starts_one_rerun(database_url):
    async with served(database_url) as here:
        first = await here.start(CHAIN)
        await here.until(first, "COMPLETED")
        headers = {"Idempotency-Key": "k1"}
        answers = [await here.post(f"/{first}/rerun", {"fromNode": "c"}, headers=headers) for _ in range(3)]
        assert {each.text for each in answers} == {answers[0].text}
        await here.until(answers[0].json()["executionId"], "COMPLETED")
        again = await here.post(f"/{first}/rerun", {"fromNode": "c"}, headers=headers)
        assert again.text == answers[0].text
        other = await here.post(f"/{first}/rerun", {"fromNode": "b"}, headers=headers)
        assert_problem(other, 422, "idempotency_key_reused")
        assert len((await here.get(""))["items"]) == 2


@pytest.mark.parametrize(
    ("body", "status", "code", "paths"),
    [
        ({"fromNode": "nobody"}, 422, "invalid_request", ["fromNode"]),
        ({"version": 9}, 404, "version_not_found", []),
        ({"input": {"n": "many"}}, 422, "invalid_input", ["input.n"]),
        ({"input": []}, 422, "invalid_request", ["input"]),
        ({"from": "a"}, 422, "invalid_request", ["from"]),
    ],
)
async def test_a_rerun_that_cannot_be_starts_nothing(database_url, body, status, code, paths):
    async with served(database_url) as here:
        first = await here.start(CHAIN)
        await here.until(first, "COMPLETED")
        assert_problem(await here.post(f"/{first}/rerun", body), status, code, *paths)
        assert len((await here.get(""))["items"]) == 1


async def test_what_is_under_way_is_rerun_from_the_beginning_alone(database_url):
    async with served(database_url) as here:
        first = await here.start(SIGNAL)
        await here.until(first, "WAITING")
        assert_problem(await here.post(f"/{first}/rerun", {"fromNode": "s"}), 409, "conflict")
        assert (await here.post(f"/{first}/rerun")).status_code == 202
