"""Lists, filters, cursors and streams show what is one's own, whatever is asked for."""

import asyncio
import json

import pytest
from tests.engines.embedded.workers import eventually
from tests.isolation.scene import FLOW, MARK, Held, Scene, publish, scene, start
from tests.tenancy.issuer import EC, token

EXECUTIONS = "/workflow/executions"


async def twins(here: Scene) -> str:
    """The other tenant has an execution that is called and labelled like those of acme; its id."""
    await publish(here.api, here.other, f"{MARK}-flow", FLOW)
    given = {"input": {MARK: "ours"}, "labels": {MARK: MARK}, "correlationId": MARK}
    return (await start(here.api, here.other, f"{MARK}-flow", **given))["executionId"]


async def listed(here: Scene, path: str, who: Held) -> list[str]:
    """Ids of all pages."""
    found: list[str] = []
    cursor = ""
    while True:
        glue = "&" if "?" in path else "?"
        answer = await here.api.get(f"{path}{glue}limit=1{cursor}", key=who.tenant.admin)
        assert answer.status_code == 200, answer.text
        found += [
            next(value for name, value in each.items() if name.endswith("d"))
            for each in answer.json()["items"]
        ]
        if answer.json()["nextCursor"] is None:
            return found
        cursor = f"&cursor={answer.json()['nextCursor']}"


@pytest.mark.parametrize(
    "query",
    [
        "",
        f"?workflow={MARK}-flow",
        f"?workflow={MARK}-flow&version=1",
        f"?label={MARK}={MARK}",
        f"?correlationId={MARK}",
        "?createdAfter=2000-01-01T00:00:00Z",
        "?createdBefore=2200-01-01T00:00:00Z",
        "?status=PENDING&status=COMPLETED&status=FAILED&status=WAITING",
    ],
)
async def test_filters_find_among_ones_own(database_url, query):
    async with scene(database_url) as here:
        twin = await twins(here)
        ours = {twin} if MARK in query else {twin, here.other.executions["own"]}
        assert set(await listed(here, f"{EXECUTIONS}{query}", here.other)) == ours
        theirs = set(await listed(here, f"{EXECUTIONS}{query}", here.acme))
        assert theirs <= set(here.acme.executions.values())
        assert here.acme.executions["done"] in theirs
        named = await here.api.get(
            f"{EXECUTIONS}{query}{'&' if query else '?'}workspaceId={here.acme.id}",
            key=here.other.tenant.admin,
        )
        assert named.status_code == 403


async def test_cursors_of_others_lead_to_ones_own(database_url, subtests):
    async with scene(database_url) as here:
        twin = await twins(here)
        lists = {
            EXECUTIONS: {twin, here.other.executions["own"]},
            "/workflow/queue": set(),
            "/workspaces": {here.other.id},
            "/workspaces/{ws}/workflows": None,
            "/workspaces/{ws}/workflows/{flow}/versions": None,
            "/workspaces/{ws}/keys": None,
            "/workspaces/{ws}/members": None,
            "/workspaces/{ws}/activity": None,
        }
        for path, expected in lists.items():
            with subtests.test(path=path):
                theirs, ours = (
                    path.format(ws=each.id, flow=f"{MARK}-flow") for each in (here.acme, here.other)
                )
                first = await here.api.get(f"{theirs}?limit=1", key=here.acme.tenant.admin)
                kind = path.rpartition("/")[2]
                cursor = first.json()["nextCursor"] or f"{kind}.{'f' * 32}"
                answer = await here.api.get(f"{ours}?limit=200&cursor={cursor}", key=here.other.tenant.admin)
                assert answer.status_code == 200, answer.text
                whole = await here.api.get(f"{ours}?limit=200", key=here.other.tenant.admin)
                for each in answer.json()["items"]:
                    assert each in whole.json()["items"]
                if expected is not None:
                    assert {next(iter(each.values())) for each in answer.json()["items"]} <= expected


async def test_a_cursor_of_nodes_shows_the_nodes_of_the_execution_that_is_asked_for(database_url):
    async with scene(database_url) as here:
        await publish(here.api, here.other, "two", "name: two\nnodes: {a: {type: noop}, b: {type: noop}}\n")
        own = (await start(here.api, here.other, "two"))["executionId"]
        first = await here.api.get(f"{EXECUTIONS}/{own}/nodes?limit=1", key=here.other.tenant.viewer)
        cursor = first.json()["nextCursor"]
        path = f"{EXECUTIONS}/{here.acme.executions['done']}/nodes?cursor={cursor}"
        assert (await here.api.get(path, key=here.other.tenant.viewer)).status_code == 403
        assert (await here.api.get(path, key=here.acme.tenant.viewer)).json()["items"] == []


async def test_what_a_tenant_reads_of_itself_has_nothing_of_another(database_url, subtests):
    async with scene(database_url) as here:
        own = here.other.executions["own"]
        await here.api.post(f"{EXECUTIONS}/{own}/cancel", key=here.other.tenant.operator)
        for path in (
            *(
                "/workspaces",
                f"/workspaces/{here.other.id}",
                f"/workspaces/{here.other.id}/activity?limit=200",
            ),
            *(f"/workspaces/{here.other.id}/{each}" for each in ("workflows", "keys", "members", "capacity")),
            *(EXECUTIONS, "/workflow/queue", "/workspace-tiers", "/node-types", "/workflow/schema"),
            *(f"{EXECUTIONS}/{own}{each}" for each in ("", "/nodes", "/waiting", "/events")),
        ):
            with subtests.test(path=path):
                answer = await here.api.get(path, key=here.other.tenant.admin)
                assert answer.status_code == 200, answer.text
                assert here.leaks(answer) == []


async def test_the_line_of_others_is_not_seen_in_ones_own(database_url):
    """Capacity, position and holders are the workspace's."""
    async with scene(database_url) as here:
        await here.api.patch(f"/workspaces/{here.other.id}", {"limits": {"running": 0}})
        for _ in range(3):
            await start(here.api, here.acme, f"{MARK}-asking")
        waiting = await here.api.get(
            f"{EXECUTIONS}/{here.other.executions['own']}/waiting", key=here.other.tenant.viewer
        )
        assert {name: waiting.json().get(name) for name in ("kind", "limit", "inUse", "holders", "position")} == {
            "kind": "workspace_limit", "limit": 0, "inUse": 0, "holders": [], "position": 1,
        }  # fmt: skip
        capacity = await here.api.get(f"/workspaces/{here.other.id}/capacity", key=here.other.tenant.viewer)
        assert (capacity.json()["waiting"], capacity.json()["limit"]) == (1, 0)


async def test_the_trail_of_a_workspace_tells_of_nothing_that_others_did(database_url):
    async with scene(database_url) as here:

        async def actions() -> list[str]:
            path = f"/workspaces/{here.acme.id}/activity?limit=200"
            return [
                json.dumps(each)
                for each in (await here.api.get(path, key=here.acme.tenant.admin)).json()["items"]
            ]

        before = await actions()
        await twins(here)
        await start(here.api, here.other, "own")
        assert await actions() == before


async def test_members_of_two_workspaces_have_in_each_their_role_there(database_url):
    async with scene(database_url) as here:
        subject = f"{here.other.id}|ADMIN"
        added = await here.api.post(
            f"/workspaces/{here.acme.id}/members", {"subject": subject, "role": "VIEWER"}
        )
        assert added.status_code == 201
        user = here.other.users["ADMIN"]
        execution = here.acme.executions["asking"]
        assert (await here.api.get(f"{EXECUTIONS}/{execution}", key=user)).status_code == 200
        assert (await here.api.post(f"{EXECUTIONS}/{execution}/cancel", key=user)).status_code == 403
        assert (await here.api.get(f"/workspaces/{here.acme.id}/keys", key=user)).status_code == 403
        assert (await here.api.get(f"/workspaces/{here.other.id}/keys", key=user)).status_code == 200
        workspaces = (await here.api.get("/workspaces", key=user)).json()["items"]
        assert {each["workspaceId"] for each in workspaces} == {here.acme.id, here.other.id}
        unnamed = await here.api.get(EXECUTIONS, key=user)
        assert (unnamed.status_code, unnamed.json()["errors"][0]["path"]) == (404, "workspaceId")
        own = await here.api.get(f"{EXECUTIONS}?workspaceId={here.other.id}", key=user)
        assert [each["executionId"] for each in own.json()["items"]] == [here.other.executions["own"]]
        gone = await here.api.delete(f"/workspaces/{here.acme.id}/members/{added.json()['memberId']}")
        assert gone.status_code == 204
        assert (await here.api.get(f"{EXECUTIONS}/{execution}", key=user)).status_code == 403


@pytest.mark.parametrize("kind", ["key", "user"])
async def test_who_may_not_see_a_run_any_more_is_told_no_more_of_it(database_url, kind):
    async with scene(database_url) as here:
        asking = f"{EXECUTIONS}/{here.acme.executions['asking']}"
        path, credential = await leaver(here, kind)
        following = asyncio.create_task(here.api.get(f"{asking}/events", key=credential))
        await eventually(lambda: here.api.state.events.following)
        assert (await here.api.delete(path)).status_code == 204
        assert (await here.api.post(f"{asking}/cancel")).status_code == 202
        told = await following
        assert told.status_code == 200
        assert "CANCELED" not in told.text


async def leaver(here: Scene, kind: str) -> tuple[str, str]:
    """What takes a viewer away, and what that viewer sends until then."""
    things = f"/workspaces/{here.acme.id}/{'keys' if kind == 'key' else 'members'}"
    if kind == "key":
        made = (await here.api.post(things, {"name": "leaver", "role": "VIEWER"})).json()
        return f"{things}/{made['keyId']}", made["key"]
    made = (await here.api.post(things, {"subject": "leaver", "role": "VIEWER"})).json()
    return f"{things}/{made['memberId']}", token(EC, "ES256", sub="leaver")
