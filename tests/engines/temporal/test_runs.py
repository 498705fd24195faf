"""Runs on a real server: how they close, what stands in their histories, how they rest, and what fences them."""

import asyncio

import pytest
from temporalio.api.enums.v1 import EventType
from temporalio.client import WorkflowFailureError
from temporalio.exceptions import ApplicationError, CancelledError
from tests.engines.embedded.workers import eventually, installation
from tests.engines.temporal.workers import driving
from tests.intake.steering import Stage, Steering

from riven.core.coordinator import Coordinator
from riven.core.messages import NodeCompleted
from riven.engines.port import DriveStatus
from riven.engines.temporal.names import workflow_id

MARKER = "do-not-tell-anybody"


@pytest.fixture
def set_up(temporal_server, database_url):
    """A context manager: an installation with a stage, and what drives it."""

    class SetUp:
        def __init__(self, **options) -> None:
            self._options = options

        async def __aenter__(self):
            self.stage = Stage()
            self._installation = installation(database_url, functions=self.stage.functions)
            self.here = await self._installation.__aenter__()
            self._driving = driving(self.here, temporal_server.address, **self._options)
            self.driving = await self._driving.__aenter__()
            self.steering = Steering(self.here)
            return self

        async def __aexit__(self, *error):
            await self._driving.__aexit__(*error)
            await self._installation.__aexit__(*error)

        def handle(self, execution_id, run=1):
            return self.driving.client.get_workflow_handle(workflow_id(execution_id, run))

        async def history(self, execution_id):
            return (await self.handle(execution_id).fetch_history()).events

        async def ended(self, execution_id):
            row = await self.here.until(execution_id, "COMPLETED", "FAILED", "CANCELED")
            return row["status"]

    return SetUp


def do(name: str, more: str = "") -> str:
    return f"{{type: python, {more} with: {{function: test.do, args: {{name: {name}}}}}}}"


async def test_a_run_that_completes_tells_status_and_paths(set_up):
    async with set_up() as up:
        execution_id = await up.here.start(f"name: w\nnodes: {{a: {do('a')}, b: {{type: noop, needs: [a]}}}}")
        assert await up.ended(execution_id) == "COMPLETED"
        assert await up.handle(execution_id).result() == {
            "execution_id": str(execution_id),
            "status": "COMPLETED",
            "nodes": {"a": "completed", "b": "completed"},
        }


async def test_a_failure_closes_the_workflow_by_its_class_and_is_tried_by_nobody_but_the_coordinator(set_up):
    text = (
        "name: w\nnodes: {b: " + do("b", "retry: {maxAttempts: 2, initialInterval: 10ms, jitter: 0},") + "}"
    )
    async with set_up() as up:
        up.stage.failing = {"b"}
        execution_id = await up.here.start(text)
        assert await up.ended(execution_id) == "FAILED"
        with pytest.raises(WorkflowFailureError) as failed:
            await up.handle(execution_id).result()
        assert isinstance(failed.value.cause, ApplicationError)
        assert (failed.value.cause.type, failed.value.cause.non_retryable) == ("EXECUTION_ERROR", True)
        failures = [
            event.activity_task_failed_event_attributes
            for event in await up.history(execution_id)
            if event.event_type == EventType.EVENT_TYPE_ACTIVITY_TASK_FAILED
        ]
        told = [each.failure.application_failure_info for each in failures]
        assert [(each.type, each.non_retryable) for each in told] == [("EXECUTION_ERROR", True)] * 2
        assert up.stage.calls == ["b", "b"]


async def test_nothing_of_the_tenant_stands_in_the_history(set_up):
    text = f"""
name: {MARKER}
vars: {{v: {MARKER}}}
nodes:
  a: {{type: python, with: {{function: riven.echo, args: {{x: "{{{{ input.x }}}}", v: "{{{{ vars.v }}}}"}}}}}}
  each:
    type: for_each
    needs: [a]
    with: {{items: "{{{{ [input.x, steps.a.output.x] }}}}"}}
    body: {{nodes: {{inner: {{type: set, with: {{value: "{{{{ item }}}}"}}}}}}, output: "{{{{ steps.inner.output }}}}"}}
  hear: {{type: signal, needs: [each], with: {{name: {MARKER}}}}}
  broken: {{type: python, needs: [hear], retry: {{maxAttempts: 1}}, with: {{function: test.do, args: {{name: {MARKER}}}}}}}
output: "{{{{ steps.each.output }}}}"
"""
    async with set_up() as up:
        up.stage.failing = {MARKER}
        execution_id = await up.here.start(text, input={"x": MARKER})
        await up.here.until(execution_id, "WAITING")
        await up.steering.signal(execution_id, MARKER, {"said": MARKER})
        assert await up.ended(execution_id) == "FAILED"
        nodes = await up.here.nodes(execution_id)
        assert nodes["hear", 1]["output"] == {"said": MARKER}  # it was all there
        assert MARKER in nodes["broken", 1]["error_message"]
        history = await up.history(execution_id)
        assert len(history) > 20
        assert MARKER.encode() not in b"".join(event.SerializeToString() for event in history)


async def test_a_node_costs_no_more_events_than_its_activity(set_up):
    count = 10
    nodes = ", ".join(f"n{i}: {do('x', f'needs: [n{i - 1}],' if i else '')}" for i in range(count))
    async with set_up() as up:
        execution_id = await up.here.start(f"name: w\nnodes: {{{nodes}}}")
        assert await up.ended(execution_id) == "COMPLETED"
        await up.handle(execution_id).result()
        history = await up.history(execution_id)
        bare = 6 * count + 4  # scheduled, started, completed, and the workflow task that hears of it
        assert len(history) <= bare + 3  # its beginning and its end are a local activity each


async def test_a_run_that_waits_gives_back_its_slot_and_goes_on_when_it_is_admitted_again(set_up):
    text = (
        f"name: w\nnodes: {{ask: {{type: approval, with: {{title: sure}}}}, a: {do('a', 'needs: [ask],')}}}"
    )
    async with set_up() as up:
        execution_id = await up.here.start(text)
        row = await up.here.until(execution_id, "WAITING")
        assert (row["waiting_kind"], row["owner_id"]) == ("approval", None)
        assert (await up.driving.engine.describe(execution_id, 1)).status is DriveStatus.OPEN
        await up.steering.decide(execution_id, "ask", "approved")
        assert await up.ended(execution_id) == "COMPLETED"
        row = await up.here.execution(execution_id)
        assert row["token"] == 2
        assert (await up.here.nodes(execution_id))["ask", 1]["outcome"] == "approved"


async def test_a_pause_lets_what_runs_finish_and_a_resume_goes_on(set_up):
    hold = "{type: python, with: {function: test.hold, args: {name: a}}}"
    async with set_up() as up:
        execution_id = await up.here.start(f"name: w\nnodes: {{a: {hold}, b: {do('b', 'needs: [a],')}}}")
        await eventually(lambda: up.stage.calls == ["a"])
        await up.steering.pause(execution_id)
        up.stage.gate.set()
        await up.here.until(execution_id, "PAUSED")
        assert up.stage.calls == ["a"]
        await up.steering.resume(execution_id)
        assert await up.ended(execution_id) == "COMPLETED"
        assert up.stage.calls == ["a", "b"]


async def test_a_cancel_reaches_what_runs_and_closes_the_workflow_as_canceled(set_up):
    async with set_up() as up:
        execution_id = await up.here.start(
            "name: w\nnodes: {a: {type: python, with: {function: test.hold, args: {name: a}}}}"
        )
        await eventually(lambda: up.stage.calls == ["a"])
        await up.steering.cancel(execution_id)
        assert await up.ended(execution_id) == "CANCELED"
        with pytest.raises(WorkflowFailureError) as canceled:
            await up.handle(execution_id).result()
        assert isinstance(canceled.value.cause, CancelledError)
        assert (await up.here.nodes(execution_id))["a", 1]["status"] == "CANCELED"


@pytest.mark.parametrize("waits", [False, True], ids=["running", "waiting"])
async def test_a_cancel_by_temporals_own_means_ends_the_execution_as_canceled(set_up, waits):
    node = (
        "{type: approval, with: {title: sure}}"
        if waits
        else "{type: python, with: {function: test.hold, args: {name: a}}}"
    )
    async with set_up() as up:
        execution_id = await up.here.start(f"name: w\nnodes: {{a: {node}}}")
        if waits:
            await up.here.until(execution_id, "WAITING")
        else:
            await eventually(lambda: up.stage.calls == ["a"])
        await up.handle(execution_id).cancel()
        assert await up.ended(execution_id) == "CANCELED"
        with pytest.raises(WorkflowFailureError):
            await up.handle(execution_id).result()


async def test_a_run_that_was_ended_while_it_rested_closes_its_workflow_when_it_is_told(set_up):
    async with set_up() as up:
        execution_id = await up.here.start("name: w\nnodes: {a: {type: approval, with: {title: sure}}}")
        await up.here.until(execution_id, "WAITING")
        await up.steering.cancel(execution_id)
        assert await up.ended(execution_id) == "CANCELED"
        assert await up.driving.engine.cancel(execution_id, 1)
        with pytest.raises(WorkflowFailureError):
            await up.handle(execution_id).result()


async def test_a_workflow_whose_run_is_not_its_to_drive_starts_nothing(set_up):
    async with set_up() as up:
        up.driving.loop.drain()  # nothing is claimed
        execution_id = await up.here.start(f"name: w\nnodes: {{a: {do('a')}}}")
        await up.driving.start_by_hand(execution_id, token=1)
        assert (await up.handle(execution_id).result())["status"] == "SUPERSEDED"
        assert up.stage.calls == []


async def test_long_histories_go_on_in_new_ones_and_nothing_is_done_twice(set_up):
    count = 30
    text = f"""
name: w
nodes:
  each:
    type: for_each
    with: {{items: "{{{{ input.items }}}}", concurrency: 2}}
    body: {{nodes: {{a: {do("x")}, b: {{type: set, needs: [a], with: {{value: "{{{{ index }}}}"}}}}}}, output: "{{{{ steps.b.output }}}}"}}
output: "{{{{ steps.each.output }}}}"
"""
    async with set_up(continue_after=30) as up:
        execution_id = await up.here.start(text, input={"items": list(range(count))})
        assert await up.ended(execution_id) == "COMPLETED"
        await up.handle(execution_id).result()
        history = await up.history(execution_id)
        assert history[0].workflow_execution_started_event_attributes.continued_execution_run_id
        assert len(history) < 120
        assert len(up.stage.calls) == count
        assert (await up.here.execution(execution_id))["output"] == list(range(count))


async def test_what_a_stopping_worker_leaves_another_one_does_and_nothing_that_completed_again(set_up):
    text = f"""
name: w
nodes:
  a: {do("a")}
  b: {{type: python, needs: [a], with: {{function: test.hold, args: {{name: b}}}}}}
  c: {do("c", "needs: [b],")}
"""
    async with set_up(workers=2) as up:
        execution_id = await up.here.start(text)
        await eventually(lambda: "b" in up.stage.calls)
        busy = next(each for each in up.driving.workers if each.worker.attempts)
        await busy.worker.drain(0)
        await eventually(lambda: up.stage.calls.count("b") == 2, within=30)
        up.stage.gate.set()
        assert await up.ended(execution_id) == "COMPLETED"
        assert up.stage.calls == ["a", "b", "b", "c"]
        rows = await up.here.nodes(execution_id)
        assert list(rows) == [("a", 1), ("b", 1), ("c", 1)]


async def test_workers_that_share_a_run_see_what_the_others_have_done(set_up):
    """Templates read outputs of nodes that another worker did, and loops go on wherever they are taken up."""
    width = 12
    layers = "".join(
        f"  n{i}: {{type: python, needs: [{f'n{i - 1}' if i else ''}], with: {{function: riven.echo, args:"
        f" {{v: '{{{{ {f'steps.n{i - 1}.output.v + 1' if i else '0'} }}}}'}}}}}}\n"
        for i in range(width)
    )
    async with set_up(workers=2) as up:
        started = [
            await up.here.start(f"name: w\nnodes:\n{layers}output: '{{{{ steps.n{width - 1}.output.v }}}}'")
            for _ in range(4)
        ]
        for execution_id in started:
            assert await up.ended(execution_id) == "COMPLETED"
            assert (await up.here.execution(execution_id))["output"] == width - 1
        nodes = await up.here.nodes(started[0])
        assert [row["seq"] for row in nodes.values()].count(None) == 0


async def test_a_worker_that_stops_while_nothing_runs_stops_at_once(set_up):
    async with set_up() as up:
        async with asyncio.timeout(10):
            await up.driving.workers[0].worker.drain(60)


async def test_workflows_that_are_put_out_of_memory_go_on_where_they_were(set_up):
    text = f"""
name: w
nodes:
  a: {do("a")}
  b: {{type: set, needs: [a], with: {{value: "{{{{ steps.a.output }}}}"}}}}
  c: {do("c", "needs: [b],")}
  pause: {{type: wait, needs: [c], with: {{for: 500ms}}}}
  d: {do("d", "needs: [pause],")}
output: "{{{{ steps.b.output }}}}"
"""
    async with set_up(max_cached=2) as up:
        started = [await up.here.start(text) for _ in range(5)]
        for execution_id in started:
            assert await up.ended(execution_id) == "COMPLETED"
            assert (await up.here.execution(execution_id))["output"] == "a"
        assert sorted(up.stage.calls) == sorted("acd" * 5)


async def test_a_cancel_reaches_attempts_whichever_worker_does_them(set_up):
    """One that is not in the workflow's own worker hears of it with its next sign of life."""
    text = "name: w\nnodes: {a: {type: python, with: {function: test.hold, args: {name: a}}}}"
    async with set_up(workers=2) as up:
        started = [await up.here.start(text) for _ in range(6)]
        await eventually(lambda: len(up.stage.calls) == len(started))
        assert all(each.worker.attempts for each in up.driving.workers)
        for execution_id in started:
            await up.steering.cancel(execution_id)
        for execution_id in started:
            assert await up.ended(execution_id) == "CANCELED"
            assert (await up.here.nodes(execution_id))["a", 1]["status"] == "CANCELED"


async def test_a_bug_of_ours_ends_the_run_and_leaves_nothing_hanging(set_up, monkeypatch):
    decide = Coordinator.receive

    def broken(coordinator, event):
        if isinstance(event, NodeCompleted) and event.path == "a":
            raise RuntimeError("we did not think of this")
        return decide(coordinator, event)

    monkeypatch.setattr(Coordinator, "receive", broken)
    async with set_up() as up:
        execution_id = await up.here.start(f"name: w\nnodes: {{a: {do('a')}, b: {do('b', 'needs: [a],')}}}")
        assert await up.ended(execution_id) == "FAILED"
        row = await up.here.execution(execution_id)
        assert (row["error_type"], row["error_message"]) == (
            "INTERNAL_ERROR",
            "RuntimeError: we did not think of this",
        )
        with pytest.raises(WorkflowFailureError) as failed:
            await up.handle(execution_id).result()
        assert isinstance(failed.value.cause, ApplicationError)
        assert failed.value.cause.type == "INTERNAL_ERROR"


async def test_a_version_that_is_gone_fails_the_execution_before_any_node(set_up):
    async with set_up() as up:
        published = await up.here.publish(f"name: w\nnodes: {{a: {do('a')}}}")
        async with up.here.database.transaction() as connection:
            await connection.execute("DELETE FROM workflow_definition_versions")
        execution_id = await up.here.start_version(published)
        assert await up.ended(execution_id) == "FAILED"
        assert up.stage.calls == []
        assert (await up.here.execution(execution_id))["error_type"] == "DISPATCH_FAILED"


async def test_a_run_that_was_admitted_again_while_it_ran_rests_by_the_newer_token(set_up):
    """As if its dispatcher had died before it could say that the start was done."""
    text = f"""
name: w
nodes:
  a: {{type: python, with: {{function: test.hold, args: {{name: a}}}}}}
  ask: {{type: approval, needs: [a], with: {{title: sure}}}}
  b: {do("b", "needs: [ask],")}
"""
    async with set_up() as up:
        execution_id = await up.here.start(text)
        await eventually(lambda: up.stage.calls == ["a"])
        async with up.here.database.transaction() as connection:
            await connection.execute("UPDATE workflow_executions SET token = token + 1")
        up.stage.gate.set()  # what it writes is refused by the older token, and written by the newer one
        row = await up.here.until(execution_id, "WAITING")
        assert row["token"] == 2
        await up.driving.start_by_hand(execution_id, token=2)  # the same admission, told late
        await up.steering.decide(execution_id, "ask", "approved")
        assert await up.ended(execution_id) == "COMPLETED"
        assert (await up.here.execution(execution_id))["token"] == 3
        assert up.stage.calls == ["a", "b"]
