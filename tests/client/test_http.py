"""The client against the product on a real database, and against servers that fail in every way."""

import asyncio
import json
import socket

import pytest
from tests.client.scripted import HANG_UP, answer, event, problem, raw, scripted, stream
from tests.product import product

from riven.client.errors import ClientError, RefusedError, ServerAwayError
from riven.client.events import ServerEvent
from riven.client.http import Client

STARTED = {"executionId": "e", "queueId": "q", "status": "PENDING"}
GREET = """
name: greet
input:
  type: object
  properties: {who: {type: string, default: you}}
nodes:
  say:
    type: set
    with: {value: "hello {{ input.who }}"}
output: "{{ steps.say.output }}"
"""
ASKS = """
name: asks
nodes:
  ask: {type: approval, with: {title: Really}}
  paid: {type: signal, needs: [{node: ask, outcome: approved}], with: {name: paid}}
output: "{{ steps.?paid.?output.orValue(null) }}"
"""
FAILS = """
name: fails
nodes:
  first: {type: set, with: {value: 1}}
  then: {type: fail, needs: [first], with: {message: no}}
"""

slow = pytest.mark.slow


def nobody() -> str:
    """An address that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def waiting_nodes(event: ServerEvent) -> list[str]:
    """Those that an event shows to wait; the snapshot has all nodes."""
    nodes = event.data["nodes"] if event.kind == "snapshot" else [event.data] if event.kind == "node" else []
    return [node["path"] for node in nodes if node["status"] == "WAITING"]


# ---- against the product ---------------------------------------------------------------------------------------------


@slow
async def test_a_start_is_seen_through(database_url: str) -> None:
    async with product(database_url) as riven:
        await riven.publish(GREET)
        started = await riven.client.start(
            riven.workspace_id, "greet", {"who": "Ada"}, labels={"a": "b"}, correlation_id="c"
        )
        seen = [each async for each in riven.client.events(started.execution_id)]
        assert seen[0].kind == "snapshot"
        assert seen[-1].data["status"] == "COMPLETED"
        done = await riven.client.wait(started.execution_id)
        assert (done["status"], done["output"]) == ("COMPLETED", "hello Ada")
        assert [node["path"] for node in done["nodes"]] == ["say"]
        assert (done["labels"], done["correlationId"]) == ({"a": "b"}, "c")
        assert await riven.client.waiting(started.execution_id) is None
        found = await riven.client.executions(workspaceId=riven.workspace_id, status=["COMPLETED", "FAILED"])
        assert [each["executionId"] for each in found["items"]] == [started.execution_id]


@slow
async def test_a_start_with_the_same_key_happens_once(database_url: str) -> None:
    async with product(database_url) as riven:
        await riven.publish(GREET)
        first, second = await asyncio.gather(
            *(riven.client.start(riven.workspace_id, "greet", {}, idempotency_key="k") for _ in range(2))
        )
        other = await riven.client.start(riven.workspace_id, "greet", {})
        assert first == second
        assert other.execution_id != first.execution_id
        batch = [{"workspaceId": riven.workspace_id, "workflowName": "greet"}] * 3
        assert len(await riven.client.start_batch(batch)) == 3


@slow
async def test_approvals_and_signals_reach_it(database_url: str) -> None:
    async with product(database_url) as riven:
        await riven.publish(ASKS)
        id = (await riven.client.start(riven.workspace_id, "asks")).execution_id
        async for seen in riven.client.events(id):
            for node in waiting_nodes(seen):
                if node == "paid":
                    await riven.client.signal(id, "paid", None)
                    continue
                await riven.client.approve(id, "ask", "approved", comment="fine")
                with pytest.raises(RefusedError) as refused:
                    await riven.client.approve(id, "ask", "rejected")
                assert refused.value.status == 409
        assert (await riven.client.execution(id))["output"] is None


@slow
async def test_what_failed_is_tried_again(database_url: str) -> None:
    async with product(database_url) as riven:
        await riven.publish(FAILS)
        id = (await riven.client.start(riven.workspace_id, "fails")).execution_id
        assert (await riven.client.wait(id))["status"] == "FAILED"
        await riven.client.retry(id)
        assert (await riven.client.wait(id))["status"] == "FAILED"


@slow
async def test_executions_are_canceled_paused_and_resumed(database_url: str) -> None:
    async with product(database_url) as riven:
        await riven.publish(ASKS)
        id = (await riven.client.start(riven.workspace_id, "asks")).execution_id
        await riven.client.pause(id)
        async for seen in riven.client.events(id):
            if seen.kind != "node" and seen.data["status"] == "PAUSED":
                await riven.client.resume(id)
                await riven.client.cancel(id)
        assert (await riven.client.execution(id))["status"] == "CANCELED"


@slow
async def test_what_is_refused_says_all_that_is_wrong(database_url: str) -> None:
    async with product(database_url) as riven:
        await riven.publish(GREET)
        with pytest.raises(RefusedError) as refused:
            await riven.client.start(riven.workspace_id, "greet", {"who": 1})
        assert refused.value.status == 422
        assert [each.path for each in refused.value.errors] == ["input.who"]
        with pytest.raises(RefusedError) as refused:
            await riven.client.start(riven.workspace_id, "gone")
        assert refused.value.status == 404
        async with Client(riven.url, "rvn_nobody") as stranger:
            with pytest.raises(RefusedError) as refused:
                await stranger.workspaces()
        assert refused.value.status == 401


@slow
async def test_workspaces_keys_and_workflows_are_administered(database_url: str) -> None:
    async with product(database_url) as riven:
        client = riven.client
        made = await client.create_workspace("pro", "PRO", limits={"running": 7}, weight=2)
        id = made["workspaceId"]
        changed = await client.change_workspace(id, {"limits": {"running": None}, "disabled": True})
        assert (changed["limits"]["running"], changed["disabled"]) == (5, True)
        assert (await client.workspace(id))["weight"] == 2
        assert {each["name"] async for each in client.every("/workspaces", limit=1)} == {"acme", "pro"}
        assert (await client.capacity(id))["limit"] == 5

        key = await client.create_key(id, "k", "OPERATOR", expires_at="2100-01-01T00:00:00Z")
        assert [each["keyId"] for each in (await client.keys(id))["items"]] == [key["keyId"]]
        await client.revoke_key(key["keyId"])
        assert (await client.keys(id))["items"] == []
        platform = await client.create_key(None, "p")
        assert platform["keyId"] in [each["keyId"] for each in (await client.keys(None))["items"]]

        draft = await client.put_workflow(id, "greet", GREET)
        with pytest.raises(RefusedError) as refused:
            await client.put_workflow(id, "greet", GREET, if_match="other")
        assert refused.value.status == 412
        assert await client.publish(id, "greet") == {"version": 1, "published": True}
        assert (await client.version(id, "greet", 1))["source"] == GREET
        assert (await client.workflow(id, "greet"))["etag"] == draft["etag"]
        assert [each["name"] for each in (await client.workflows(id))["items"]] == ["greet"]


# ---- against servers that fail ---------------------------------------------------------------------------------------


async def test_nobody_there_is_told_apart_from_a_refusal() -> None:
    async with Client(nobody(), "k", tries=2) as client:
        with pytest.raises(ServerAwayError, match="does not answer"):
            await client.workspaces()


async def test_a_start_whose_answer_was_lost_is_sent_again_as_the_same() -> None:
    async with scripted([HANG_UP, answer(202, STARTED)]) as server, Client(server.url, "k") as client:
        await client.start("w", "greet")
        first, second = server.asked
        assert first == second
        assert first.headers["idempotency-key"]


async def test_each_start_has_a_key_of_its_own() -> None:
    async with scripted([answer(202, STARTED)] * 2) as server, Client(server.url, "k") as client:
        await client.start("w", "greet")
        await client.start("w", "greet")
        first, second = (asked.headers["idempotency-key"] for asked in server.asked)
        assert first != second


async def test_patience_is_given_where_it_is_asked_for() -> None:
    answers = [
        problem(503, "later", Retry_After="0"),
        problem(429, "later", Retry_After="0"),
        answer(200, {"items": []}),
    ]
    async with scripted(answers) as server, Client(server.url, "k") as client:
        assert await client.workspaces() == {"items": []}


async def test_what_must_not_happen_twice_is_sent_once() -> None:
    async with scripted([HANG_UP]) as server, Client(server.url, "k") as client:
        with pytest.raises(ServerAwayError):
            await client.signal("e", "paid")
    async with scripted([problem(503, "away", Retry_After="0")]) as server, Client(server.url, "k") as client:
        with pytest.raises(RefusedError) as refused:
            await client.cancel("e")
        assert (refused.value.status, refused.value.retry_after) == (503, 0.0)


async def test_a_stream_that_breaks_off_goes_on_where_it_was() -> None:
    begun = {"status": "RUNNING", "nodes": []}
    answers = [
        stream(event("snapshot", 1, begun), event("node", 2, {"path": "a"})),
        problem(503, "restarting"),
        HANG_UP,
        stream(": nothing yet\n\n", event("execution", 3, {"status": "COMPLETED"})),
    ]
    async with scripted(answers) as server, Client(server.url, "k") as client:
        seen = [each async for each in client.events("e")]
        assert [each.id for each in seen] == ["1", "2", "3"]
        assert [asked.headers.get("last-event-id") for asked in server.asked] == [None, "2", "2", "2"]


async def test_a_stream_is_not_taken_up_for_ever() -> None:
    async with Client(nobody(), "k", patience=0.1) as client:
        with pytest.raises(ServerAwayError):
            [each async for each in client.events("e")]


async def test_a_refused_stream_is_refused_at_once() -> None:
    async with scripted([problem(404, "no such execution")]) as server, Client(server.url, "k") as client:
        with pytest.raises(RefusedError, match="no such execution"):
            [each async for each in client.events("e")]


async def test_what_answers_may_be_no_riven_at_all() -> None:
    async with scripted([raw(200, b"<html>")]) as server, Client(server.url, "k") as client:
        with pytest.raises(ClientError, match="no riven server"):
            await client.workspaces()
    async with scripted([raw(404, b"<html>")]) as server, Client(server.url, "k") as client:
        with pytest.raises(RefusedError) as refused:
            await client.workspaces()
        assert (refused.value.status, refused.value.title) == (404, "Said")


@pytest.mark.parametrize(
    "url", ["", "localhost:8642", "ftp://x", "http://", "http://[", "http://a b", "http://a:x"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ClientError, match="is no address of a server"):
        Client(url, "k")


def test_a_key_that_is_none_is_refused() -> None:
    with pytest.raises(ClientError, match="API key"):
        Client("http://localhost", "schlüssel")


async def test_what_cannot_be_sent_is_said() -> None:
    async with scripted([]) as server, Client(server.url, "k") as client:
        with pytest.raises(ClientError, match="cannot be sent"):
            await client.start("w", "greet", idempotency_key="a\nb")


async def test_null_is_a_payload_and_names_are_quoted() -> None:
    async with scripted([answer(202, {})]) as server, Client(server.url, "k") as client:
        await client.signal("e", "a/b c")
        [asked] = server.asked
        assert (asked.path, asked.body) == ("/api/v1/workflow/executions/e/signal/a%2Fb%20c", b"null")


async def test_lists_are_read_page_by_page() -> None:
    pages = [
        answer(200, {"items": [1, 2], "nextCursor": "c"}),
        answer(200, {"items": [3], "nextCursor": None}),
    ]
    async with scripted(pages) as server, Client(server.url, "k") as client:
        assert [each async for each in client.every("/x", status=["A", "B"])] == [1, 2, 3]
        assert [asked.path for asked in server.asked] == [
            "/api/v1/x?status=A&status=B",
            "/api/v1/x?status=A&status=B&cursor=c",
        ]


async def test_what_is_not_given_is_not_sent() -> None:
    async with scripted([answer(202, STARTED)]) as server, Client(server.url, "k") as client:
        await client.start("w", "greet", {"a": None}, priority=0)
        assert json.loads(server.asked[0].body) == {
            "workspaceId": "w",
            "workflowName": "greet",
            "input": {"a": None},
            "priority": 0,
        }
