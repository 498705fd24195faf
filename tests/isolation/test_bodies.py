"""Ids of others inside of bodies: refused as a whole, and nothing of it is stored."""

import asyncio
from typing import Any

import pytest
from tests.isolation.scene import FLOW, MARK, OWN, Scene, publish, scene, start

EXECUTIONS = "/api/v1/workflow/executions"
CALLING = (
    f"name: calling\nnodes: {{call: {{type: call, with: {{workflow: {MARK}-flow, input: {{{MARK}: x}}}}}}}}\n"
)


def starts(here: Scene) -> dict[str, tuple[dict[str, Any], int, str]]:
    """What is sent, the status and the kind of the problem."""
    own, acme = here.other, here.acme
    return {
        "in their workspace": (
            {"workspaceId": acme.id, "workflowName": "own"}, 403, "foreign_workspace"
        ),
        "their workflow in theirs": (
            {"workspaceId": acme.id, "workflowDefinitionId": acme.definition}, 403, "foreign_workspace"
        ),
        "their workflow in ours": (
            {"workspaceId": own.id, "workflowDefinitionId": acme.definition}, 403, "foreign_workflow"
        ),
        "a version of theirs in ours": (
            {"workspaceId": own.id, "workflowDefinitionId": acme.definition, "version": 1}, 403, "foreign_workflow"
        ),
        "their workflow's name in ours": (
            {"workspaceId": own.id, "workflowName": f"{MARK}-flow"}, 404, "workflow_not_found"
        ),
    }  # fmt: skip


async def test_a_start_of_what_is_foreign_stores_nothing(database_url, subtests):
    async with scene(database_url) as here:
        before = await here.rows()
        for name, (body, status, kind) in starts(here).items():
            for headers in ({}, {"Idempotency-Key": "once"}):
                with subtests.test(name, headers=headers):
                    answer = await here.ask(
                        "POST", f"{EXECUTIONS}/start", here.other.tenant.admin, body, headers=headers
                    )
                    assert (answer.status_code, answer.json()["type"]) == (status, f"/problems/{kind}")
                    assert here.leaks(answer) == []
        assert await here.rows() == before


@pytest.mark.parametrize("place", [0, 1, 2])
async def test_a_batch_with_one_that_is_foreign_stores_none(database_url, subtests, place):
    async with scene(database_url) as here:
        good = {"workspaceId": here.other.id, "workflowName": "own"}
        before = await here.rows()
        for name, (body, status, kind) in starts(here).items():
            with subtests.test(name):
                batch = [good, good]
                batch.insert(place, body)
                answer = await here.ask(
                    "POST", f"{EXECUTIONS}/start-batch", here.other.tenant.admin, {"executions": batch}
                )
                problem = answer.json()
                assert (answer.status_code, problem["type"]) == (status, f"/problems/{kind}")
                assert [each["path"].partition(".")[0] for each in problem["errors"]] == [
                    f"executions[{place}]"
                ]
                assert here.leaks(answer) == []
        assert await here.rows() == before


async def test_the_platform_starts_nobody_s_workflow_in_another_workspace(database_url):
    async with scene(database_url) as here:
        body = {"workspaceId": here.other.id, "workflowDefinitionId": here.acme.definition}
        before = await here.rows()
        answer = await here.ask("POST", f"{EXECUTIONS}/start", "platform", body)
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/foreign_workflow")
        assert await here.rows() == before


async def test_archived_and_unpublished_workflows_of_others_are_foreign_all_the_same(database_url):
    async with scene(database_url) as here:
        draft = await here.api.put(
            f"/workspaces/{here.acme.id}/workflows/draft", content="name: draft\nnodes: {}\n"
        )
        gone = f"/workspaces/{here.acme.id}/workflows/{MARK}-flow"
        assert (await here.api.delete(gone)).status_code == 204
        for definition in (draft.json()["workflowDefinitionId"], here.acme.definition):
            body = {"workspaceId": here.other.id, "workflowDefinitionId": definition}
            answer = await here.ask("POST", f"{EXECUTIONS}/start", here.other.tenant.operator, body)
            assert (answer.status_code, answer.json()["type"]) == (403, "/problems/foreign_workflow")
            assert here.leaks(answer) == []


async def test_one_idempotency_key_in_two_workspaces_is_two_keys(database_url):
    async with scene(database_url) as here:
        await publish(here.api, here.acme, "own", OWN)

        async def ask(who, call: str = "start") -> dict[str, Any]:
            body: dict[str, Any] = {"workspaceId": who.id, "workflowName": "own"}
            answer = await here.ask(
                "POST",
                f"{EXECUTIONS}/{call}",
                who.tenant.operator,
                body if call == "start" else {"executions": [body]},
                headers={"Idempotency-Key": "order-7"},
            )
            assert answer.status_code == 202, answer.text
            return dict(answer.json())

        ours, theirs = await asyncio.gather(ask(here.other), ask(here.acme))
        assert ours["executionId"] != theirs["executionId"]
        assert (await ask(here.other), await ask(here.acme)) == (ours, theirs)
        seen = await here.ask("GET", f"{EXECUTIONS}/{ours['executionId']}", here.other.tenant.viewer)
        assert seen.json()["workspaceId"] == here.other.id


async def test_a_key_that_others_used_says_nothing_of_what_they_asked(database_url):
    async with scene(database_url) as here:
        await publish(here.api, here.other, f"{MARK}-flow", FLOW)
        for who, value in ((here.acme, MARK), (here.other, "ours")):
            body = {"workspaceId": who.id, "workflowName": f"{MARK}-flow", "input": {MARK: value}}
            answer = await here.ask(
                "POST", f"{EXECUTIONS}/start", who.tenant.operator, body, headers={"Idempotency-Key": "k"}
            )
            assert answer.status_code == 202, answer.text


async def test_the_same_key_and_body_for_two_reruns_are_two_reruns(database_url):
    async with scene(database_url) as here:
        await publish(here.api, here.other, "own", OWN)
        made = set()
        for who, execution in ((here.acme, "asking"), (here.other, "own")):
            answer = await here.ask(
                "POST",
                f"{EXECUTIONS}/{who.executions[execution]}/rerun",
                who.tenant.operator,
                {},
                headers={"Idempotency-Key": "again"},
            )
            assert answer.status_code == 202, answer.text
            made.add(answer.json()["executionId"])
        assert len(made) == 2


async def test_a_document_calls_the_workflows_of_its_own_workspace(database_url):
    async with scene(database_url) as here:
        path = f"/workspaces/{here.other.id}/workflows/calling"
        saved = await here.api.put(path, key=here.other.tenant.editor, content=CALLING)
        assert [each["code"] for each in saved.json()["problems"]] == ["unknown_workflow"]
        refused = await here.api.post(f"{path}/publish", key=here.other.tenant.editor)
        assert refused.status_code == 422
        validate = "/workflow/validate"
        ours = await here.api.post(validate, key=here.other.tenant.viewer, content=CALLING)
        assert ours.json()["valid"] is False
        theirs = await here.api.post(validate, key=here.acme.tenant.viewer, content=CALLING)
        assert theirs.json() == {"valid": True, "problems": []}
        asked = f"{validate}?workspaceId={here.acme.id}"
        assert (await here.api.post(asked, key=here.other.tenant.admin, content=CALLING)).status_code == 403
        # the same name means each one's own
        await publish(here.api, here.other, f"{MARK}-flow", FLOW.replace("kept", "other"))
        await publish(here.api, here.other, "calling", CALLING)
        version = await here.api.get(f"{path}/versions/1", key=here.other.tenant.viewer)
        assert version.json()["calls"] == [{"workflow": f"{MARK}-flow", "version": 1}]


async def test_events_of_others_are_not_followed_from_any_number(database_url):
    async with scene(database_url) as here:
        for last in ("0", "1", "999999"):
            answer = await here.ask(
                "GET",
                f"{EXECUTIONS}/{here.acme.executions['done']}/events",
                here.other.tenant.admin,
                headers={"Last-Event-ID": last},
            )
            assert (answer.status_code, answer.json()["type"]) == (403, "/problems/foreign_workspace")
            assert here.leaks(answer) == []


async def test_a_member_s_role_is_not_changed_from_another_workspace(database_url):
    async with scene(database_url) as here:
        before = await here.rows()
        member = f"/workspaces/{here.other.id}/members/{here.acme.values['memberId']}"
        for who in (here.other.tenant.admin, "platform"):
            assert (await here.api.patch(member, {"role": "ADMIN"}, key=who)).status_code in (403, 404)
            assert (await here.api.delete(member, key=who)).status_code in (403, 404)
        key = f"/workspaces/{here.other.id}/keys/{here.acme.values['keyId']}"
        for who in (here.other.tenant.admin, "platform"):
            assert (await here.api.delete(key, key=who)).status_code in (403, 404)
        assert await here.rows() == before


async def test_started_executions_are_seen_by_their_own_tenant_alone(database_url):
    async with scene(database_url) as here:
        started = await start(here.api, here.other, "own")
        for path in (
            f"{EXECUTIONS}/{started['executionId']}",
            f"/api/v1/workflow/queue/{started['queueId']}",
        ):
            assert (await here.ask("GET", path, here.other.tenant.viewer)).status_code == 200
            assert (await here.ask("GET", path, here.acme.tenant.admin)).status_code == 403
