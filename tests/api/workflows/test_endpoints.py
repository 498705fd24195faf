import asyncio

import orjson
import pytest
from tests.api.harness import Api, Tenant, assert_problem, serving

from riven.db.identity import new_id

DOCUMENT = "# mine\nname: refund\nnodes:\n  tell: {type: log, with: {message: hello}}\n"
FIELDS = {
    "workflowDefinitionId",
    "workspaceId",
    "name",
    "status",
    "document",
    "source",
    "problems",
    "latestVersion",
    "createdAt",
    "updatedAt",
    "etag",
}


def path(tenant: Tenant, *more: str) -> str:
    return "/".join((f"/workspaces/{tenant.id}/workflows", *more))


async def save(api: Api, tenant: Tenant, text: str | bytes = DOCUMENT, name: str = "refund", **headers: str):
    sent = {header.replace("_", "-"): value for header, value in headers.items()}
    return await api.put(path(tenant, name), key=tenant.editor, content=text, headers=sent)


async def publish(api: Api, tenant: Tenant, name: str = "refund"):
    return await api.post(path(tenant, name, "publish"), key=tenant.editor)


async def test_a_draft_is_saved_and_read(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        saved = await save(api, tenant)
        assert saved.status_code == 200, saved.text
        draft = saved.json()
        assert set(draft) == FIELDS
        assert draft["name"] == "refund"
        assert (draft["status"], draft["latestVersion"], draft["problems"]) == ("DRAFT", None, [])
        assert draft["source"] == DOCUMENT
        assert draft["document"]["nodes"] == {"tell": {"type": "log", "with": {"message": "hello"}}}
        assert saved.headers["etag"] == f'"{draft["etag"]}"'
        read = await api.get(path(tenant, "refund"), key=tenant.viewer)
        assert read.json() == draft
        assert read.headers["etag"] == saved.headers["etag"]


async def test_json_is_a_document_too(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        saved = await api.put(path(tenant, "refund"), {"name": "refund", "nodes": {}}, key=tenant.editor)
        assert saved.json()["problems"] == []
        assert (await publish(api, tenant)).json() == {"version": 1, "published": True}


@pytest.mark.parametrize(
    "kind", ["application/x-www-form-urlencoded", "text/yaml", "application/octet-stream"]
)
async def test_whatever_a_document_is_declared_as(database_url: str, kind: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        assert (await save(api, tenant, Content_Type=kind)).json()["problems"] == []


async def test_an_invalid_draft_is_saved_with_its_problems_and_not_published(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        saved = await save(
            api, tenant, "name: refund\nnodes:\n  a: {type: lag}\n  b: {type: noop, needs: [c]}\n"
        )
        assert saved.status_code == 200
        problems = saved.json()["problems"]
        assert [set(each) for each in problems] == [
            {"path", "line", "column", "code", "severity", "message"}
        ] * 2
        assert [(each["path"], each["line"]) for each in problems] == [
            ("nodes.a.type", 3),
            ("nodes.b.needs[0]", 4),
        ]
        answer = await publish(api, tenant)
        found = assert_problem(answer, 422, "invalid_workflow", "nodes.a.type", "nodes.b.needs[0]")
        assert [each["line"] for each in found["errors"]] == [3, 4]
        assert (await api.get(path(tenant, "refund"), key=tenant.viewer)).json()["latestVersion"] is None


async def test_publishing_is_repeatable(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        await save(api, tenant)
        answers = await asyncio.gather(*(publish(api, tenant) for _ in range(5)))
        assert sorted(answer.json()["published"] for answer in answers) == [False] * 4 + [True]
        assert {answer.json()["version"] for answer in answers} == {1}
        draft = (await save(api, tenant, DOCUMENT.replace("hello", "bye"))).json()
        assert (draft["status"], draft["latestVersion"]) == ("PUBLISHED", 1)
        assert (await publish(api, tenant)).json() == {"version": 2, "published": True}


async def test_if_match_protects_a_draft(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        assert_problem(await save(api, tenant, If_Match='"x"'), 412, "changed")
        assert_problem(await save(api, tenant, If_Match="*"), 412, "changed")
        first = await save(api, tenant, If_None_Match="*")
        assert first.status_code == 200
        assert_problem(await save(api, tenant, If_None_Match="*"), 412, "changed")
        second = await save(api, tenant, DOCUMENT + "#", If_Match=first.headers["etag"])
        assert second.status_code == 200
        assert_problem(await save(api, tenant, If_Match=first.headers["etag"]), 412, "changed")
        assert_problem(
            await api.delete(
                path(tenant, "refund"), key=tenant.editor, headers={"If-Match": first.headers["etag"]}
            ),
            412,
            "changed",
        )
        unquoted = second.json()["etag"]
        third = await save(api, tenant, If_Match=f'"other", W/"{unquoted}"')
        assert third.status_code == 200
        assert (await save(api, tenant, If_Match=third.json()["etag"])).status_code == 200


async def test_workflows_are_listed_newest_first_without_their_texts(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant, other = await api.workspace(), await api.workspace("other")
        for name in ("a", "b", "c"):
            await save(api, tenant, name=name)
        first = (await api.get(path(tenant), key=tenant.viewer, params={"limit": 2})).json()
        assert [each["name"] for each in first["items"]] == ["c", "b"]
        assert set(first["items"][0]) == FIELDS - {"document", "source", "problems"}
        rest = (await api.get(path(tenant), key=tenant.viewer, params={"cursor": first["nextCursor"]})).json()
        assert [each["name"] for each in rest["items"]] == ["a"]
        assert rest["nextCursor"] is None
        assert (await api.get(path(other), key=other.viewer)).json() == {"items": [], "nextCursor": None}
        assert_problem(
            await api.get(path(tenant), key=tenant.viewer, params={"cursor": "x"}), 400, "bad_cursor"
        )


async def test_an_archived_workflow_is_gone_but_for_its_versions(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        await save(api, tenant)
        await publish(api, tenant)
        assert (await api.delete(path(tenant, "refund"), key=tenant.editor)).status_code == 204
        for answer in (
            await api.get(path(tenant, "refund"), key=tenant.viewer),
            await api.delete(path(tenant, "refund"), key=tenant.editor),
            await publish(api, tenant),
        ):
            assert_problem(answer, 404, "workflow_not_found")
        assert (await api.get(path(tenant), key=tenant.viewer)).json()["items"] == []
        assert (await api.get(path(tenant, "refund", "versions", "1"), key=tenant.viewer)).status_code == 200


async def test_versions_are_listed_and_read(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        await save(api, tenant, name="called")
        await publish(api, tenant, "called")
        for text in ("hello", "bye", "again"):
            await save(
                api,
                tenant,
                DOCUMENT.replace("hello", text) + "  call: {type: call, with: {workflow: called}}\n",
            )
            await publish(api, tenant)
        page = (
            await api.get(path(tenant, "refund", "versions"), key=tenant.viewer, params={"limit": 2})
        ).json()
        assert [each["version"] for each in page["items"]] == [3, 2]
        assert set(page["items"][0]) == {"workflowDefinitionId", "name", "version", "createdAt", "createdBy"}
        rest = await api.get(
            path(tenant, "refund", "versions"), key=tenant.viewer, params={"cursor": page["nextCursor"]}
        )
        assert [each["version"] for each in rest.json()["items"]] == [1]
        second = (await api.get(path(tenant, "refund", "versions", "2"), key=tenant.viewer)).json()
        assert second["document"]["nodes"]["tell"]["with"]["message"] == "bye"
        assert second["source"].startswith("# mine")
        assert second["calls"] == [{"workflow": "called", "version": 1}]
        for wrong in ("0", "4", "-1", "99999999999999999999"):
            answer = await api.get(path(tenant, "refund", "versions", wrong), key=tenant.viewer)
            assert_problem(answer, 404, "version_not_found")
        assert (await api.get(path(tenant, "refund", "versions", "x"), key=tenant.viewer)).status_code == 404
        assert_problem(
            await api.get(path(tenant, "none", "versions"), key=tenant.viewer), 404, "workflow_not_found"
        )


async def test_who_may_do_what(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant, other = await api.workspace(), await api.workspace("other")
        await save(api, tenant)
        await publish(api, tenant)
        reads = [path(tenant), path(tenant, "refund"), path(tenant, "refund", "versions")]
        writes = [
            ("PUT", path(tenant, "refund")),
            ("POST", path(tenant, "refund", "publish")),
            ("DELETE", path(tenant, "refund")),
        ]
        for method, where in [*(("GET", each) for each in reads), *writes]:
            assert_problem(await api.request(method, where, key=None), 401, "unauthenticated")
            assert_problem(await api.request(method, where, key=other.admin), 403, "foreign_workspace")
        for method, where in writes:
            for key in (tenant.viewer, tenant.operator):
                assert_problem(await api.request(method, where, key=key), 403, "forbidden")
        for where in reads:
            assert (await api.get(where, key=tenant.viewer)).status_code == 200
        nowhere = f"/workspaces/{new_id()}/workflows"
        assert_problem(await api.get(nowhere), 404, "workspace_not_found")
        assert_problem(await api.put(f"{nowhere}/a", content=DOCUMENT), 404, "workspace_not_found")


@pytest.mark.parametrize("name", ["A", "a b", "a%00", "%C3%A9", "a" * 64, "-", "1"])
async def test_what_is_no_name(database_url: str, name: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        assert_problem(await save(api, tenant, name=name), 422, "invalid_request", "name")
        assert (await api.get(path(tenant, name), key=tenant.viewer)).status_code == 404
        assert (await publish(api, tenant, name)).status_code == 404


async def test_a_document_may_have_four_mebibytes(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        large = DOCUMENT + "#" + "x" * ((4 << 20) - len(DOCUMENT) - 1)
        assert len(large) == 4 << 20
        assert (await save(api, tenant, large)).json()["problems"] == []
        assert_problem(await save(api, tenant, large + "x"), 413, "too_large")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\xff\xfe\xfd",
        b"a\x00b",
        b"{" * 10_000,
        b"[" * 10_000,
        b"&a [*a]",
        b'{"a": "\\ud800"}',
        b"%TAG ! x\n" * 999,
    ],
)
async def test_a_hostile_document_is_a_problem_and_nothing_worse(database_url: str, text: bytes) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        saved = await save(api, tenant, text)
        if saved.status_code == 200:
            assert any(each["severity"] == "error" for each in saved.json()["problems"])
            assert (await publish(api, tenant)).status_code == 422
        else:
            assert saved.status_code == 422
            assert (await api.get(path(tenant, "refund"), key=tenant.viewer)).status_code == 404


async def test_the_audit_trail_tells_who_changed_what(database_url: str) -> None:
    async with serving(database_url) as api:
        tenant = await api.workspace()
        await save(api, tenant)
        await publish(api, tenant)
        await api.delete(path(tenant, "refund"), key=tenant.editor)
        answer = await api.get(f"/workspaces/{tenant.id}/activity", key=tenant.admin)
        entries = orjson.loads(answer.content)["items"]
        done = [each["action"] for each in entries if each["subject"] == "workflow:refund"]
        assert done == ["workflow.archived", "workflow.published", "workflow.saved"]
