"""Lists, one execution, its nodes, why it waits, and its events, over HTTP."""

import asyncio
import json

import pytest
from tests.api.executions.steered import BASE, served
from tests.api.harness import assert_problem

from riven.db.identity import new_id

TWO = "nodes: {a: {type: noop}, b: {type: noop, needs: [a]}}\noutput: {done: true}\n"
HELD = "nodes: {a: {type: noop}, held: {type: python, needs: [a], with: {function: test.hold, args: {name: held}}}}\n"


async def test_an_execution_is_shown_to_those_who_may_see_it(database_url):
    async with served(database_url) as here:
        execution_id = await here.start(TWO, labels={"a": "b"}, correlationId="x", input={"n": 1})
        shown = await here.until(execution_id, "COMPLETED")
        assert (shown["executionId"], shown["workflow"]) == (execution_id, {"name": "w", "version": 1})
        assert (shown["status"], shown["output"], shown["input"]) == ("COMPLETED", {"done": True}, {"n": 1})
        assert (shown["labels"], shown["correlationId"], shown["error"]) == ({"a": "b"}, "x", None)
        stranger = await here.api.workspace("stranger")
        path = f"{BASE}/{execution_id}"
        for suffix in ("", "/nodes", "/waiting", "/events"):
            answer = await here.api.get(path + suffix, key=stranger.admin)
            assert_problem(answer, 403, "foreign_workspace")
        assert_problem(await here.api.get(path, key=None), 401, "unauthenticated")


@pytest.mark.parametrize("suffix", ["", "/nodes", "/waiting", "/events"])
async def test_what_is_not_there_is_not_found(database_url, suffix):
    async with served(database_url, at_work=False) as here:
        answer = await here.api.get(f"{BASE}/{new_id()}{suffix}", key=here.tenant.viewer)
        assert_problem(answer, 404, "execution_not_found")
        answer = await here.api.get(f"{BASE}/no-id{suffix}", key=here.tenant.viewer)
        assert_problem(answer, 404, "not_found")


async def test_lists_go_page_by_page_through_what_fits_the_filters(database_url):
    async with served(database_url, at_work=False) as here:
        await here.publish(TWO)
        made = [await here.start(labels={"n": str(n % 2), "k=v": "x"}) for n in range(5)]
        made.reverse()
        found, cursor = [], None
        while True:
            page = await here.get("?limit=2" + (f"&cursor={cursor}" if cursor else ""))
            found += [item["executionId"] for item in page["items"]]
            cursor = page["nextCursor"]
            if cursor is None:
                break
        assert found == made
        assert (await here.get("?label=n=1&label=n=0"))["items"] == []
        page = await here.get("?label=n=0&status=PENDING&status=RUNNING&workflow=w&version=1")
        assert [item["executionId"] for item in page["items"]] == made[0::2]
        assert "input" not in page["items"][0]
        assert page["items"][0]["waiting"]["kind"] == "worker_absent"
        assert (await here.get("?createdAfter=2999-01-01T00:00:00Z"))["items"] == []
        assert len((await here.get("?createdBefore=2999-01-01T00:00:00%2B02:00"))["items"]) == 5
        assert (await here.get("?correlationId=nobody"))["items"] == []
        ends = "?createdAfter=0001-01-01T00:00:00Z&createdBefore=9999-12-31T23:59:59.999999Z"
        assert len((await here.get(ends))["items"]) == 5


@pytest.mark.parametrize(
    ("query", "status", "code"),
    [
        ("status=DONE", 422, "invalid_request"),
        ("label=alone", 422, "invalid_request"),
        ("label==x", 422, "invalid_request"),
        ("version=0", 422, "invalid_request"),
        ("limit=201", 422, "invalid_request"),
        ("createdAfter=yesterday", 422, "invalid_request"),
        ("correlationId=a%00b", 422, "invalid_request"),
        ("colour=red", 422, "invalid_request"),
        ("cursor=nonsense", 400, "bad_cursor"),
    ],
)
async def test_filters_that_are_none_are_refused(database_url, query, status, code):
    async with served(database_url, at_work=False) as here:
        answer = await here.api.get(f"{BASE}?{query}", key=here.tenant.viewer)
        assert answer.status_code == status, answer.text
        assert answer.json()["type"] == f"/problems/{code}"


async def test_nodes_go_page_by_page_in_document_order(database_url):
    async with served(database_url) as here:
        execution_id = await here.start(TWO)
        await here.until(execution_id, "COMPLETED")
        whole = await here.get(f"/{execution_id}/nodes")
        assert [node["path"] for node in whole["items"]] == ["a", "b"]
        assert whole["nextCursor"] is None
        first = await here.get(f"/{execution_id}/nodes?limit=1")
        second = await here.get(f"/{execution_id}/nodes?limit=1&cursor={first['nextCursor']}")
        assert first["items"] + second["items"] == whole["items"]
        assert second["nextCursor"] is None
        broken = (
            "x",
            "",
            "nodes.",
            "nodes.a0",
            "nodes.a0.",
            "nodes..a",
            "nodes.a0.a~",
            "nodes.a0.a~x.b",
            "nodes.a0.a[0].b",
        )
        for cursor in (*broken, first["nextCursor"][:-1], f"executions.{'0' * 32}"):
            answer = await here.api.get(
                f"{BASE}/{execution_id}/nodes?cursor={cursor}", key=here.tenant.viewer
            )
            assert_problem(answer, 400, "bad_cursor")


async def test_why_it_waits_is_null_when_it_does_not(database_url):
    async with served(database_url, at_work=False) as here:
        execution_id = await here.start(TWO)
        waiting = await here.get(f"/{execution_id}/waiting")
        assert (waiting["kind"], waiting["position"]) == ("worker_absent", 1)
        assert (await here.get(f"/{execution_id}"))["waiting"] == waiting
        await here.post(f"/{execution_id}/cancel")
        assert await here.get(f"/{execution_id}/waiting") is None


# ---- events ------------------------------------------------------------------------------------------------------------


def parse(text: str) -> list[tuple[int, str, dict]]:
    events = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if not line.startswith(":"))
        if fields:
            events.append((int(fields["id"]), fields["event"], json.loads(fields["data"])))
    return events


async def follow(here, execution_id, last=None):
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    answer = await here.api.get(f"{BASE}/{execution_id}/events", key=here.tenant.viewer, headers=headers)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"] == "no-store"
    return parse(answer.text)


async def test_events_tell_a_run_to_its_end(database_url):
    async with served(database_url) as here:
        execution_id = await here.start(HELD)
        following = asyncio.create_task(follow(here, execution_id))
        await here.here.until_node(execution_id, "held")
        await asyncio.sleep(0.1)
        here.stage.gate.set()
        events = await following
        numbers = [number for number, _, _ in events]
        assert numbers == sorted(set(numbers))
        assert [name for _, name, _ in events].count("snapshot") == 1
        assert events[0][1] == "snapshot"
        assert [node["path"] for node in events[0][2]["nodes"]] == ["a", "held"]
        assert events[0][2]["nextCursor"] is None
        _, name, data = events[-1]
        assert (name, data["status"]) == ("execution", "COMPLETED")
        assert ("held", "COMPLETED") in [(d["path"], d["status"]) for _, name, d in events if name == "node"]


async def test_with_the_last_id_only_later_events_come(database_url):
    async with served(database_url) as here:
        execution_id = await here.start(TWO)
        await here.until(execution_id, "COMPLETED")
        events = await follow(here, execution_id, last=0)
        assert [name for _, name, _ in events] == ["node", "node", "execution"]
        later = await follow(here, execution_id, last=events[0][0])
        assert later == events[1:]
        assert await follow(here, execution_id, last=events[-1][0]) == []
        for unknown in ("10000000", "abc", "-1", "9" * 40):
            ((_, name, data),) = await follow(here, execution_id, last=unknown)
            assert (name, data["status"]) == ("snapshot", "COMPLETED")


async def test_a_platform_key_that_names_no_workspace_means_the_one_called_default(database_url):
    async with served(database_url, at_work=False) as here:
        execution_id = await here.start(TWO)
        assert_problem(await here.api.get(BASE), 404, "workspace_not_found", "workspaceId")
        await here.api.workspace("default")
        assert (await here.api.get(BASE)).json()["items"] == []
        (named,) = (await here.api.get(f"{BASE}?workspaceId={here.tenant.id}")).json()["items"]
        assert named["executionId"] == execution_id
