"""Items in line and dead letters, over HTTP."""

from tests.api.executions.steered import served
from tests.api.harness import assert_problem

from riven.db.identity import new_id

QUEUE = "/workflow/queue"


async def test_an_item_is_there_for_as_long_as_its_run(database_url):
    async with served(database_url, at_work=False) as here:
        await here.publish("nodes: {a: {type: noop}}\n")
        body = {"workspaceId": str(here.tenant.id), "workflowName": "w", "priority": 4}
        started = (await here.api.post("/workflow/executions/start", body, key=here.tenant.operator)).json()
        answer = await here.api.get(f"{QUEUE}/{started['queueId']}", key=here.tenant.viewer)
        item = answer.json()
        assert set(item) == {
            "queueId", "executionId", "workspaceId", "status", "attempts", "priority", "createdAt", "availableAt",
            "claimedAt", "lastError",
        }  # fmt: skip
        assert (item["queueId"], item["executionId"]) == (started["queueId"], started["executionId"])
        assert (item["status"], item["attempts"], item["priority"]) == ("PENDING", 0, 4)
        stranger = await here.api.workspace("stranger")
        path = f"{QUEUE}/{started['queueId']}"
        assert_problem(await here.api.get(path, key=stranger.admin), 403, "foreign_workspace")
        await here.post(f"/{started['executionId']}/cancel")
        assert_problem(await here.api.get(path, key=here.tenant.viewer), 404, "queue_item_not_found")
        unknown = await here.api.get(f"{QUEUE}/{new_id()}", key=here.tenant.viewer)
        assert_problem(unknown, 404, "queue_item_not_found")


async def test_dead_letters_are_listed_with_their_errors(database_url):
    async with served(database_url) as here:
        text = "nodes: {a: {type: fail, with: {message: no luck}}}\n"
        failed = [await here.start(text)] + [await here.start() for _ in range(2)]
        for execution_id in failed:
            await here.until(execution_id, "FAILED")
        first = (await here.api.get(f"{QUEUE}?status=FAILED&limit=2", key=here.tenant.viewer)).json()
        assert [item["executionId"] for item in first["items"]] == failed[:0:-1]
        assert {item["lastError"] for item in first["items"]} == {"EXECUTION_ERROR: no luck"}
        more = await here.api.get(f"{QUEUE}?limit=2&cursor={first['nextCursor']}", key=here.tenant.viewer)
        assert [item["executionId"] for item in more.json()["items"]] == failed[:1]
        assert more.json()["nextCursor"] is None
        stranger = await here.api.workspace("stranger")
        assert (await here.api.get(QUEUE, key=stranger.viewer)).json()["items"] == []
        wrong = await here.api.get(f"{QUEUE}?status=PENDING", key=here.tenant.viewer)
        assert_problem(wrong, 422, "invalid_request", "status")
