"""One poisoned item among ten in a statement that they share: that one fails, nine go on. At each step."""

import asyncio

import pytest
from tests.api.harness import assert_problem, serving
from tests.engines.embedded.workers import installation, worker

CHAIN = """
name: chain
nodes:
  a: {type: python, with: {function: riven.echo, args: {n: "{{ input.n }}"}}}
  b: {type: python, needs: [a], with: {function: riven.echo, args: {n: "{{ steps.a.output.n + 1 }}"}}}
output: "{{ steps.b.output.n }}"
"""
DAMAGED_INPUT = """UPDATE workflow_executions SET input = '"\\ud800"' WHERE id = $1"""
REFUSE = """
CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'poisoned'; END $$
"""
REFUSED = {
    "claim": "BEFORE UPDATE ON workflow_executions FOR EACH ROW WHEN (NEW.id = '{id}' AND NEW.status = 'RUNNING')",
    "settle": "BEFORE UPDATE ON execution_queue FOR EACH ROW WHEN (NEW.execution_id = '{id}' AND NEW.status = 'DISPATCHED')",
    "record": "BEFORE INSERT ON workflow_execution_nodes FOR EACH ROW WHEN (NEW.execution_id = '{id}' AND NEW.path = 'b')",
}
NEXT_TRY = "UPDATE execution_queue SET available_at = now() WHERE status = 'PENDING' AND NOT due"


async def ten(here):
    definition = await here.publish(CHAIN)
    return [await here.start_version(definition, input={"n": n}) for n in range(10)]


async def nine_go_on(here, executions, poisoned) -> None:
    for number, execution_id in enumerate(executions):
        if execution_id != poisoned:
            row = await here.until(execution_id, "COMPLETED", "FAILED", within=5)
            assert (row["status"], row["output"], row["token"]) == ("COMPLETED", number + 1, 1)


async def run(here, statement: str, *values: object) -> None:
    async with here.database.transaction() as connection:
        await connection.execute(statement, *values)


@pytest.mark.parametrize("how", ["an input that nobody can read", "a write that is refused"])
async def test_at_the_claim(database_url, caplog, how):
    async with installation(database_url) as here:
        executions = await ten(here)
        poisoned = executions[4]
        if how == "a write that is refused":
            await run(here, REFUSE)
            refused = REFUSED["claim"].format(id=poisoned)
            await run(here, f"CREATE TRIGGER poisoned {refused} EXECUTE FUNCTION refuse()")
        else:
            await run(here, DAMAGED_INPUT, poisoned)
        async with worker(here):
            await nine_go_on(here, executions, poisoned)
            for attempts in (1, 2):
                await here.until_true("SELECT attempts = $1 AND NOT due FROM execution_queue", attempts)
                item = await here.row("SELECT * FROM execution_queue")
                assert (item["status"], item["waiting_kind"]) == ("PENDING", "dispatch_retry")
                assert item["last_error"]
                row = await here.row("SELECT status, token FROM workflow_executions WHERE id = $1", poisoned)
                assert tuple(row) == ("PENDING", 0), "waiting has cost no slot"
                await run(here, NEXT_TRY)
            await here.until_true("SELECT status = 'FAILED' FROM workflow_executions WHERE id = $1", poisoned)
        row = await here.row(
            "SELECT error_type, error_message FROM workflow_executions WHERE id = $1", poisoned
        )
        assert row["error_type"] == "DISPATCH_FAILED"
        assert "3 times" in row["error_message"]
        item = await here.row("SELECT status, attempts FROM execution_queue")
        assert tuple(item) == ("FAILED", 3)
        events = [record.message for record in caplog.records if record.name == "riven.dispatch"]
        assert (events.count("queue_item_error"), events.count("queue_item_failed")) == (3, 1)


async def test_an_execution_that_somebody_holds_at_the_claim(database_url):
    """A transaction that was forgotten: whoever claims waits for none, and gives its sign of life."""
    async with installation(database_url) as here:
        executions = await ten(here)
        held = executions[4]
        async with here.database.transaction() as holder:
            await holder.fetch("SELECT FROM workflow_executions WHERE id = $1 FOR UPDATE", held)
            async with worker(here, lease_ttl=0.3) as working:
                await nine_go_on(here, executions, held)
                seen = (await here.row("SELECT seen_at FROM processes"))["seen_at"]
                await here.until_true("SELECT seen_at > $1 FROM processes", seen)
                item = await here.row("SELECT status, attempts FROM execution_queue")
                assert tuple(item) == ("PENDING", 0)
                assert not working.engine.running
        async with worker(here):
            assert (await here.until(held, "COMPLETED", "FAILED"))["token"] == 1


async def test_at_the_promotion(database_url, caplog):
    """Items whose time has come: one cannot be written to, and comes due when it can be."""
    async with installation(database_url) as here:
        executions = await ten(here)
        poisoned = executions[4]
        await run(here, "UPDATE execution_queue SET due = false")
        await run(here, REFUSE)
        refused = f"BEFORE UPDATE ON execution_queue FOR EACH ROW WHEN (NEW.execution_id = '{poisoned}')"
        await run(here, f"CREATE TRIGGER poisoned {refused} EXECUTE FUNCTION refuse()")
        async with worker(here):
            await nine_go_on(here, executions, poisoned)
            item = await here.row("SELECT id, due FROM execution_queue WHERE execution_id = $1", poisoned)
            assert not item["due"]
            assert {record.queueId for record in caplog.records if record.message == "queue_item_error"} == {
                str(item["id"])
            }
            await run(here, "DROP TRIGGER poisoned ON execution_queue")
            await here.until(poisoned, "COMPLETED", within=5)


async def test_at_the_start(database_url):
    async with installation(database_url) as here:
        executions = await ten(here)
        poisoned = executions[4]
        _, version = await here.publish(CHAIN)
        await run(
            here,
            """UPDATE workflow_definition_versions SET document = '{"nodes": 5}' WHERE id = $1""",
            version,
        )
        await run(
            here,
            "UPDATE workflow_executions SET workflow_definition_version_id = $2 WHERE id = $1",
            poisoned,
            version,
        )
        async with worker(here):
            await nine_go_on(here, executions, poisoned)
            row = await here.until(poisoned, "FAILED", "COMPLETED")
        assert row["error_type"] == "VALIDATION_ERROR"


@pytest.mark.parametrize("step", ["settle", "record"])
async def test_at_the_flush(database_url, step):
    async with installation(database_url) as here:
        executions = await ten(here)
        poisoned = executions[4]
        await run(here, REFUSE)
        refused = REFUSED[step].format(id=poisoned)
        await run(here, f"CREATE TRIGGER poisoned {refused} EXECUTE FUNCTION refuse()")
        async with worker(here):
            await nine_go_on(here, executions, poisoned)
            row = await here.until(poisoned, "FAILED", "COMPLETED")
        assert (row["error_type"], row["owner_id"]) == ("INTERNAL_ERROR", None)
        assert "poisoned" in row["error_message"]


async def test_at_the_accept(database_url):
    async with serving(database_url) as api:
        tenant = await api.workspace()
        await api.put(f"/workspaces/{tenant.id}/workflows/chain", content=CHAIN.encode())
        published = await api.post(f"/workspaces/{tenant.id}/workflows/chain/publish")
        assert published.status_code == 200, published.text
        async with api.database.transaction() as connection:
            await connection.execute(
                "ALTER TABLE workflow_executions ADD CONSTRAINT poisoned CHECK (correlation_id <> 'poisoned')"
            )

        def start(number: int):
            body = {
                "workspaceId": str(tenant.id),
                "workflowName": "chain",
                "input": {"n": number},
                "correlationId": "poisoned" if number == 4 else "well",
            }
            return api.post("/workflow/executions/start", body, key=tenant.operator)

        answers = await asyncio.gather(*map(start, range(10)))
        assert [answer.status_code for answer in answers] == [202] * 4 + [409] + [202] * 5
        assert_problem(answers[4], 409, "refused_by_constraint")
        async with api.database.read() as connection:
            for table in ("workflow_executions", "execution_queue"):
                assert await connection.fetch_value(f"SELECT count(*) FROM {table}") == 9
            told = await connection.fetch_value(
                "SELECT count(*) FROM activity WHERE action = 'execution.started'"
            )
            assert told == 9
