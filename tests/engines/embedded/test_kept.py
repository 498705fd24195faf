"""Retried runs: what completed is kept, what failed, was canceled or skipped is decided anew."""

import asyncio

import pytest
from tests.engines.embedded.workers import Worker, eventually, installation, worker
from tests.engines.temporal.workers import driving
from tests.intake.steering import Stage, Steering

from riven.queue.recover import hand_back

NO_RETRY = "retry: {maxAttempts: 1}"


def do(name: str, needs: str = "", more: str = "") -> str:
    return (
        f"{{type: python, {NO_RETRY}, needs: [{needs}], {more} "
        f"with: {{function: test.do, args: {{name: {name}}}}}}}"
    )


class Story:
    """One execution: run it, look, mend what fails, retry."""

    def __init__(self, here, stage: Stage) -> None:
        self.here = here
        self.stage = stage
        self.steering = Steering(here)
        self.execution_id = None

    async def run(self, text: str, *failing: str):
        self.stage.failing = set(failing)
        self.execution_id = await self.here.start(text)
        return await self.ended()

    async def retry(self, *failing: str):
        """Only what is called from now on is in `stage.calls` afterwards."""
        self.stage.failing = set(failing)
        self.stage.calls.clear()
        await self.steering.retry(self.execution_id)
        return await self.ended()

    async def ended(self):
        return await self.here.until(self.execution_id, "COMPLETED", "FAILED", "CANCELED")

    async def statuses(self) -> dict[str, tuple[str, int]]:
        """Status and number of the last row of each node."""
        rows = await self.here.rows(
            "SELECT DISTINCT ON (path) path, attempt, coalesce(settled, status) AS status"
            " FROM workflow_execution_nodes WHERE execution_id = $1 ORDER BY path, run DESC, attempt DESC",
            self.execution_id,
        )
        return {row["path"]: (row["status"], row["attempt"]) for row in rows}


@pytest.fixture(params=["embedded", "temporal"])
def told(request, database_url):
    """A context manager that gives a story with a worker at work, of either engine."""

    server = request.getfixturevalue("temporal_server") if request.param == "temporal" else None

    def at_work(here):
        return worker(here) if server is None else driving(here, server.address)

    class Told:
        async def __aenter__(self):
            stage = Stage()
            self._installation = installation(database_url, functions=stage.functions)
            here = await self._installation.__aenter__()
            self._worker = at_work(here)
            await self._worker.__aenter__()
            return Story(here, stage)

        async def __aexit__(self, *error):
            await self._worker.__aexit__(*error)
            await self._installation.__aexit__(*error)

    return Told()


async def test_only_what_did_not_complete_runs_again(told):
    text = f"""
    name: chain
    nodes:
      a: {do("a")}
      b: {do("b", "a")}
      c: {{type: set, needs: [b], with: {{value: "{{{{ steps.a.output + steps.b.output }}}}"}}}}
    output: "{{{{ steps.c.output }}}}"
    """
    async with told as story:
        assert (await story.run(text, "b"))["status"] == "FAILED"
        row = await story.retry()
        assert (row["status"], row["output"], row["run"]) == ("COMPLETED", "ab", 2)
        assert story.stage.calls == ["b"]
        assert await story.statuses() == {"a": ("COMPLETED", 1), "b": ("COMPLETED", 2), "c": ("COMPLETED", 1)}


async def test_the_new_run_takes_the_place_of_the_old_end(told):
    text = f"name: one\nnodes: {{a: {do('a')}}}"
    async with told as story:
        first = await story.run(text, "a")
        assert (first["error_node"], first["finished_at"] is not None) == ("a", True)
        last = await story.retry()
        assert (last["error_type"], last["error_node"], last["error_message"]) == (None, None, None)
        assert last["started_at"] == first["started_at"]
        assert last["run_started_at"] > first["finished_at"]
        assert await story.here.row("SELECT * FROM execution_queue") is None


async def test_attempt_numbers_go_on_and_attempts_count_anew(told):
    text = """
    name: one
    nodes: {a: {type: python, retry: {maxAttempts: 2, initialInterval: 10ms}, with: {function: test.do, args: {name: a}}}}
    """
    async with told as story:
        await story.run(text, "a")
        await story.retry("a")
        rows = await story.here.rows(
            "SELECT attempt, run, status FROM workflow_execution_nodes ORDER BY attempt"
        )
        assert [tuple(row) for row in rows] == [
            (1, 1, "FAILED"), (2, 1, "FAILED"), (3, 2, "FAILED"), (4, 2, "FAILED"),
        ]  # fmt: skip


async def test_a_for_each_keeps_its_completed_items_and_the_items_that_it_had(told):
    text = """
    name: items
    nodes:
      each:
        type: for_each
        with: {items: ["x0", "x1", "x2", "x3"], concurrency: 1}
        body:
          nodes:
            do: {type: python, retry: {maxAttempts: 1}, with: {function: test.do, args: {name: "{{ item }}"}}}
            then: {type: set, needs: [do], with: {value: "{{ steps.do.output + '!' }}"}}
          output: "{{ steps.then.output }}"
    output: "{{ steps.each.output }}"
    """
    async with told as story:
        await story.run(text, "x2")
        assert story.stage.calls == ["x0", "x1", "x2"]
        row = await story.retry()
        assert story.stage.calls == ["x2", "x3"]
        assert (row["status"], row["output"]) == ("COMPLETED", ["x0!", "x1!", "x2!", "x3!"])
        statuses = await story.statuses()
        assert (statuses["each"], statuses["each[1].do"], statuses["each[2].do"]) == (
            ("COMPLETED", 2), ("COMPLETED", 1), ("COMPLETED", 2),
        )  # fmt: skip


async def test_a_for_each_that_collects_keeps_recorded_errors_as_results(told):
    text = f"""
    name: items
    nodes:
      each:
        type: for_each
        with: {{items: ["x0", "x1", "x2"], concurrency: 1, onItemFailure: collect}}
        body:
          nodes:
            do: {{type: python, {NO_RETRY}, with: {{function: test.do, args: {{name: "{{{{ item }}}}"}}}}}}
            beside: {{type: noop, needs: [do]}}
          output: "{{{{ steps.do.output }}}}"
      last: {do("last", "each")}
    output: "{{{{ steps.each.output.map(r, r.ok ? r.output : r.error.message) }}}}"
    """
    async with told as story:
        await story.run(text, "x1", "last")
        row = await story.retry()
        assert story.stage.calls == ["last"]
        assert row["status"] == "COMPLETED"
        assert row["output"][0::2] == ["x0", "x2"]
        assert "x1 fails" in row["output"][1]


async def test_items_that_failed_are_kept_also_when_the_collecting_loop_was_ended_from_above(told):
    text = f"""
    name: items
    nodes:
      each:
        type: for_each
        with: {{items: ["x0", "x1", "x2"], concurrency: 1, onItemFailure: collect}}
        body: {{nodes: {{
          do: {{type: python, {NO_RETRY}, with: {{function: test.do, args: {{name: "{{{{ item }}}}"}}}}}},
          held: {{type: python, needs: [do], with: {{function: test.hold, args: {{name: "{{{{ item + ' held' }}}}"}}}}}}
        }}, output: "{{{{ item }}}}"}}
    output: "{{{{ steps.each.output.map(r, r.ok) }}}}"
    """
    async with told as story:
        story.stage.failing = {"x0"}
        story.execution_id = await story.here.start(text)
        await eventually(lambda: "x1 held" in story.stage.calls)
        await story.steering.cancel(story.execution_id)
        assert (await story.ended())["status"] == "CANCELED"
        story.stage.gate.set()
        row = await story.retry()
        assert story.stage.calls == ["x1 held", "x2", "x2 held"]
        assert (row["status"], row["output"]) == ("COMPLETED", [False, True, True])


@pytest.mark.parametrize("check", ["while: 'iteration.index < 4'", "until: 'iteration.index >= 3'"])
async def test_a_repeat_goes_on_in_the_iteration_that_failed(told, check):
    text = f"""
    name: rounds
    nodes:
      poll:
        type: repeat
        with: {{{check}, delay: 10ms}}
        body:
          nodes:
            do: {{type: python, {NO_RETRY}, with: {{function: test.do, args: {{name: "{{{{ 'r' + string(iteration.index) }}}}"}}}}}}
            sum: {{type: set, needs: [do], with: {{value: "{{{{ iteration.previous == null ? 1 : iteration.previous + 1 }}}}"}}}}
          output: "{{{{ steps.sum.output }}}}"
    output: "{{{{ steps.poll.output }}}}"
    """
    async with told as story:
        await story.run(text, "r2")
        assert story.stage.calls == ["r0", "r1", "r2"]
        row = await story.retry()
        assert story.stage.calls == ["r2", "r3"]
        assert (row["status"], row["output"], row["error_message"]) == ("COMPLETED", 4, None)


async def test_a_handled_failure_is_kept_with_the_way_that_it_led_to(told):
    text = f"""
    name: handled
    nodes:
      a: {do("a")}
      mend: {do("mend")}
      b: {do("b", "", "continueOnError: true,")}
      last: {do("last", "mend, b")}
    edges: [{{from: a, to: mend, outcome: failure}}]
    output: "{{{{ [steps.a.error.type, steps.b.status, steps.mend.output] }}}}"
    """
    async with told as story:
        await story.run(text, "a", "b", "last")
        row = await story.retry()
        assert story.stage.calls == ["last"]
        assert (row["status"], row["output"]) == ("COMPLETED", ["EXECUTION_ERROR", "FAILED", "mend"])
        statuses = await story.statuses()
        assert (statuses["a"], statuses["b"], statuses["mend"]) == (
            ("FAILED", 1),
            ("FAILED", 1),
            ("COMPLETED", 1),
        )


async def test_a_handled_failure_of_a_container_is_not_entered_again(told):
    text = f"""
    name: handled
    nodes:
      each:
        type: for_each
        continueOnError: true
        with: {{items: [1, 2], concurrency: 2}}
        body: {{nodes: {{do: {do("inner")}, beside: {{type: noop}}}}}}
      last: {do("last", "each")}
    output: "{{{{ steps.each.error.message }}}}"
    """
    async with told as story:
        await story.run(text, "inner", "last")
        row = await story.retry()
        assert story.stage.calls == ["last"]
        assert (row["status"], row["output"]) == ("COMPLETED", row["output"])
        assert "inner fails" in row["output"]


async def test_what_was_skipped_or_canceled_is_decided_anew(told):
    text = f"""
    name: anew
    onFailure: finish_branches
    nodes:
      a: {do("a")}
      b: {do("b", "a")}
      c: {do("c", "", "when: true,")}
    """
    async with told as story:
        await story.run(text, "a")
        assert (await story.statuses())["b"] == ("SKIPPED", 0)
        row = await story.retry()
        assert (row["status"], story.stage.calls) == ("COMPLETED", ["a", "b"])
        assert await story.statuses() == {"a": ("COMPLETED", 2), "b": ("COMPLETED", 1), "c": ("COMPLETED", 1)}


async def test_a_call_keeps_what_it_completed_inside(told):
    inner = f"name: inner\nnodes: {{x: {do('x')}, y: {do('y', 'x')}}}\noutput: '{{{{ steps.y.output }}}}'"
    async with told as story:
        story.here.called = {"inner": inner}
        text = "name: outer\nnodes: {sub: {type: call, with: {workflow: inner}}}\noutput: '{{ steps.sub.output }}'"
        await story.run(text, "y")
        row = await story.retry()
        assert (row["status"], row["output"], story.stage.calls) == ("COMPLETED", "y", ["y"])
        assert (await story.statuses())["sub.x"] == ("COMPLETED", 1)


async def test_waits_signals_and_approvals_that_are_over_are_not_waited_for_again(told):
    text = f"""
    name: waits
    nodes:
      nap: {{type: wait, with: {{for: 50ms}}}}
      paid: {{type: signal, needs: [nap], with: {{name: paid}}}}
      ask: {{type: approval, needs: [paid]}}
      last: {do("last", "ask")}
    output: "{{{{ [steps.paid.output, steps.ask.output.decision, steps.ask.outcome] }}}}"
    """
    async with told as story:
        story.stage.failing = {"last"}
        story.execution_id = await story.here.start(text)
        await story.steering.signal(story.execution_id, "paid", 7)
        await story.here.until(story.execution_id, "WAITING")
        await story.steering.decide(story.execution_id, "ask", "approved")
        assert (await story.ended())["status"] == "FAILED"
        row = await story.retry()
        assert (row["status"], row["output"]) == ("COMPLETED", [7, "approved", "approved"])
        assert story.stage.calls == ["last"]


async def test_a_wait_that_was_canceled_waits_anew(told):
    async with told as story:
        story.execution_id = await story.here.start(
            "name: w\nnodes: {paid: {type: signal, with: {name: paid}}}"
        )
        await story.here.until(story.execution_id, "WAITING")
        await story.steering.cancel(story.execution_id)
        await story.steering.retry(story.execution_id)
        await story.here.until(story.execution_id, "WAITING")
        await story.steering.signal(story.execution_id, "paid")
        assert (await story.ended())["status"] == "COMPLETED"
        assert await story.statuses() == {"paid": ("COMPLETED", 2)}


async def test_a_run_can_be_retried_as_often_as_it_fails(told):
    text = f"name: chain\nnodes: {{a: {do('a')}, b: {do('b', 'a')}, c: {do('c', 'b')}}}"
    async with told as story:
        await story.run(text, "a")
        await story.retry("b")
        assert story.stage.calls == ["a", "b"]
        await story.retry("c")
        assert story.stage.calls == ["b", "c"]
        row = await story.retry()
        assert (row["status"], row["run"], story.stage.calls) == ("COMPLETED", 4, ["c"])


async def test_an_output_that_could_not_be_built_is_built_anew(told):
    text = f"name: o\nnodes: {{a: {do('a')}}}\noutput: '{{{{ steps.a.output.missing }}}}'"
    async with told as story:
        first = await story.run(text)
        assert (first["error_node"], first["error_type"]) == ("output", "TEMPLATE_ERROR")
        again = await story.retry()
        assert (again["status"], again["run"], story.stage.calls) == ("FAILED", 2, [])


async def test_the_next_owner_of_a_retried_run_comes_to_the_same_point(database_url):
    stage = Stage()
    text = f"""
    name: crash
    nodes:
      each:
        type: for_each
        with: {{items: ["x0", "x1", "x2"], concurrency: 1}}
        body: {{nodes: {{do: {{type: python, {NO_RETRY}, with: {{function: test.do, args: {{name: "{{{{ item }}}}"}}}}}}}}, output: "{{{{ steps.do.output }}}}"}}
      slow: {{type: python, needs: [each], with: {{function: test.hold, args: {{name: slow}}}}}}
    output: "{{{{ steps.each.output }}}}"
    """
    async with installation(database_url, functions=stage.functions) as here:
        steering = Steering(here)
        one = Worker(here)
        stage.failing = {"x1"}
        execution_id = await here.start(text)
        await here.until(execution_id, "FAILED")
        stage.failing.clear()
        await steering.retry(execution_id)
        await eventually(lambda: "slow" in stage.calls)
        await one.freeze()
        stage.calls.clear()
        stage.gate.set()
        async with here.database.transaction() as connection:
            await hand_back(connection, one.process.id)
        async with worker(here):
            row = await here.until(execution_id, "COMPLETED", "FAILED")
        assert (row["status"], row["output"], row["run"]) == ("COMPLETED", ["x0", "x1", "x2"], 2)
        assert stage.calls == ["slow"]


async def test_a_deadline_counts_from_the_first_admission_of_the_run(told):
    text = f"name: t\ntimeout: 1s\nnodes: {{a: {do('a')}}}"
    async with told as story:
        first = await story.run(text, "a")
        await asyncio.sleep(1.1)
        row = await story.retry()
        assert row["status"] == "COMPLETED"
        assert row["deadline_at"] > first["deadline_at"]
