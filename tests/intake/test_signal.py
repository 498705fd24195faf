"""Signals and approvals: delivered to whoever waits, kept for whoever will, none lost at any instant."""

import asyncio
from functools import reduce

import pytest
from tests.engines.embedded.workers import eventually, installation, worker
from tests.intake.steering import Stage, Steering

from riven.core.messages import ExecutionStatus
from riven.intake.errors import ApprovalNotFoundError
from riven.tenancy.errors import InvalidRequestError, WrongStateError

ONE = "name: s\nnodes: {s: {type: signal, with: {name: go}}}\noutput: '{{ steps.s.output }}'"
APPROVAL = """
name: approve
nodes:
  ask: {type: approval, with: {form: {type: object, required: [amount], properties: {amount: {type: number}}}}}
output: "{{ steps.ask.output }}"
"""


@pytest.mark.slow
async def test_a_signal_in_the_same_instant_as_parking_wakes_the_run(database_url):
    """Sent at every moment of the run's way to sleep: without a lock in common some of these would sleep for ever."""
    async with installation(database_url) as here, worker(here):
        steering = Steering(here)

        async def race(number: int) -> None:
            execution_id = await here.start(ONE)
            await here.until(execution_id, "RUNNING", "WAITING")
            await asyncio.sleep(number % 20 / 2_000)
            await steering.signal(execution_id, "go", number)
            row = await here.until(execution_id, "COMPLETED", within=10)
            assert row["output"] == number

        for start in range(0, 120, 6):
            await asyncio.gather(*(race(number) for number in range(start, start + 6)))


async def test_a_signal_before_anybody_waits_is_kept(database_url):
    async with installation(database_url) as here:
        steering = Steering(here)
        execution_id = await here.start(ONE)
        answer = await steering.signal(execution_id, "go", {"early": True})
        assert answer.status is ExecutionStatus.PENDING
        async with worker(here):
            row = await here.until(execution_id, "COMPLETED")
        assert row["output"] == {"early": True}


async def test_an_early_signal_is_there_also_while_something_else_runs(database_url):
    stage = Stage()
    text = "name: s\nnodes: {s: {type: signal, with: {name: go}}, held: {type: python, with: {function: test.hold, args: {name: h}}}}"
    async with installation(database_url, functions=stage.functions) as here:
        execution_id = await here.start(text)
        await Steering(here).signal(execution_id, "go")
        async with worker(here):
            await here.until_node(execution_id, "s", "COMPLETED")  # and not only when the run comes to rest
            stage.gate.set()
            await here.until(execution_id, "COMPLETED")


async def test_a_run_under_way_hears_it_at_once(database_url):
    stage = Stage()
    text = "name: s\nnodes: {s: {type: signal, with: {name: go}}, held: {type: python, with: {function: test.hold, args: {name: h}}}}"
    async with installation(database_url, functions=stage.functions) as here, worker(here):
        execution_id = await here.start(text)
        await eventually(lambda: stage.calls)
        answer = await Steering(here).signal(execution_id, "go")
        assert answer.status is ExecutionStatus.RUNNING
        async with asyncio.timeout(2):  # the poll would take five seconds
            await here.until_node(execution_id, "s", "COMPLETED")
        stage.gate.set()
        await here.until(execution_id, "COMPLETED")


async def test_signals_of_one_name_are_taken_in_the_order_in_which_they_came(database_url):
    text = """
    name: order
    nodes:
      a: {type: signal, with: {name: go}}
      b: {type: signal, needs: [a], with: {name: go}}
      c: {type: signal, needs: [b], with: {name: go}}
    output: "{{ [steps.a.output, steps.b.output, steps.c.output] }}"
    """
    async with installation(database_url) as here:
        steering = Steering(here)
        execution_id = await here.start(text)
        for number in range(3):
            await steering.signal(execution_id, "other")
            await steering.signal(execution_id, "go", number)
        async with worker(here):
            row = await here.until(execution_id, "COMPLETED")
        assert row["output"] == [0, 1, 2]
        taken = await here.rows("SELECT path FROM signals WHERE name = 'go' ORDER BY seq")
        assert [each["path"] for each in taken] == ["a", "b", "c"]


async def test_a_signal_that_no_node_took_is_for_the_next_run_too(database_url):
    stage = Stage()
    text = """
    name: later
    nodes:
      a: {type: python, retry: {maxAttempts: 1}, with: {function: test.do, args: {name: a}}}
      s: {type: signal, needs: [a], with: {name: go}}
    output: "{{ steps.s.output }}"
    """
    async with installation(database_url, functions=stage.functions) as here:
        steering = Steering(here)
        stage.failing = {"a"}
        execution_id = await here.start(text)
        await steering.signal(execution_id, "go", 9)
        async with worker(here):
            await here.until(execution_id, "FAILED")
            stage.failing = set()
            await steering.retry(execution_id)
            row = await here.until(execution_id, "COMPLETED")
        assert row["output"] == 9


@pytest.mark.parametrize("name", ["", " ", "x" * 256, "a\nb", "a\0b"])
async def test_what_is_no_name_is_refused(database_url, name):
    async with installation(database_url) as here:
        execution_id = await here.start(ONE)
        with pytest.raises(InvalidRequestError):
            await Steering(here).signal(execution_id, name)
        assert await here.rows("SELECT * FROM signals") == []


@pytest.mark.parametrize(
    "payload", ["a\0b", {"a": [{"\0": 1}]}, 2**63, reduce(lambda inner, _: [inner], range(101), 0)]
)
async def test_what_cannot_be_kept_is_refused_before_it_is_told(database_url, payload):
    async with installation(database_url) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(ONE)
        with pytest.raises(InvalidRequestError) as refused:
            await steering.signal(execution_id, "go", payload)
        assert refused.value.problems[0].path.startswith("payload")
        assert await here.rows("SELECT * FROM signals") == []
        await steering.signal(execution_id, "go", "fine")
        assert (await here.until(execution_id, "COMPLETED"))["output"] == "fine"


async def test_nobody_is_left_to_signal_when_it_is_over(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start("name: n\nnodes: {}")
        await here.until(execution_id, "COMPLETED")
        with pytest.raises(WrongStateError):
            await Steering(here).signal(execution_id, "go")


# ---- approvals ---------------------------------------------------------------------------------------------------------


async def test_a_decision_goes_to_its_approval(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(APPROVAL)
        await here.until(execution_id, "WAITING")
        await Steering(here).decide(execution_id, "ask", "approved", comment="fine", data={"amount": 3})
        row = await here.until(execution_id, "COMPLETED")
        output = row["output"]
        assert (output["decision"], output["by"], output["comment"], output["data"]) == (
            "approved", "a test", "fine", {"amount": 3},
        )  # fmt: skip
        assert output["at"].endswith("Z")


async def test_a_decided_approval_is_decided(database_url):
    async with installation(database_url) as here:
        steering = Steering(here)
        async with worker(here):
            execution_id = await here.start(APPROVAL)
            await here.until(execution_id, "WAITING")
        await steering.decide(execution_id, "ask", "rejected")
        with pytest.raises(WrongStateError, match="decided already"):
            await steering.decide(execution_id, "ask", "approved", data={"amount": 3})
        async with worker(here):
            row = await here.until(execution_id, "COMPLETED")
        assert row["output"]["decision"] == "rejected"
        with pytest.raises(WrongStateError, match="decided already"):
            await steering.decide(execution_id, "ask", "approved", data={"amount": 3})


async def test_of_decisions_in_the_same_instant_one_counts(database_url):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(APPROVAL)
        await here.until(execution_id, "WAITING")
        calls = [Steering(here).decide(execution_id, "ask", "rejected") for _ in range(8)]
        answers = await asyncio.gather(*calls, return_exceptions=True)
        assert sum(not isinstance(each, Exception) for each in answers) == 1
        assert sum(isinstance(each, WrongStateError) for each in answers) == 7


@pytest.mark.parametrize(("data", "path"), [(None, "data"), ({}, "data"), ({"amount": "3"}, "data.amount")])
async def test_data_that_does_not_fit_the_form_is_refused_with_its_place(database_url, data, path):
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(APPROVAL)
        await here.until(execution_id, "WAITING")
        with pytest.raises(InvalidRequestError) as refused:
            await Steering(here).decide(execution_id, "ask", "approved", data=data)
        assert [each.path for each in refused.value.problems] == [path]
        assert (await here.execution(execution_id))["status"] == "WAITING"


@pytest.mark.parametrize("path", ["", "nobody", "set", "each[0].nobody", "ask.x", "ask\0"])
async def test_no_approval_waits_elsewhere(database_url, path):
    text = "name: a\nnodes: {set: {type: noop}, ask: {type: approval}}"
    async with installation(database_url) as here, worker(here):
        execution_id = await here.start(text)
        await here.until(execution_id, "WAITING")
        with pytest.raises(ApprovalNotFoundError):
            await Steering(here).decide(execution_id, path, "approved")


@pytest.mark.parametrize("answer", [{"comment": "a\0"}, {"data": {"amount": 1, "note": "\0"}}])
async def test_a_decision_that_cannot_be_kept_is_refused(database_url, answer):
    async with installation(database_url) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(APPROVAL)
        await here.until(execution_id, "WAITING")
        with pytest.raises(InvalidRequestError):
            await steering.decide(execution_id, "ask", "approved", **answer)
        await steering.decide(execution_id, "ask", "approved", data={"amount": 1})
        await here.until(execution_id, "COMPLETED")


async def test_an_approval_inside_a_loop_has_a_path_of_its_own(database_url):
    text = """
    name: loop
    nodes:
      each: {type: for_each, with: {items: [1, 2]}, body: {nodes: {ask: {type: approval}}, output: "{{ steps.ask.output.decision }}"}}
    output: "{{ steps.each.output }}"
    """
    async with installation(database_url) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(text)
        await here.until(execution_id, "WAITING")
        await steering.decide(execution_id, "each[1].ask", "rejected")
        await steering.decide(execution_id, "each[0].ask", "approved")
        row = await here.until(execution_id, "COMPLETED")
        assert row["output"] == ["approved", "rejected"]


async def test_an_approval_that_ended_otherwise_cannot_be_decided(database_url):
    text = "name: e\nnodes: {ask: {type: approval, with: {timeout: 10ms}}, s: {type: signal, needs: [ask], with: {name: go}}}"
    async with installation(database_url) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start(text)
        await here.until_node(execution_id, "s", "WAITING")
        with pytest.raises(WrongStateError, match="decided already"):
            await steering.decide(execution_id, "ask", "approved")


async def test_an_approval_of_a_run_that_was_canceled_cannot_be_decided(database_url):
    async with installation(database_url) as here, worker(here):
        steering = Steering(here)
        execution_id = await here.start("name: e\nnodes: {ask: {type: approval}}")
        await here.until(execution_id, "WAITING")
        await steering.cancel(execution_id)
        with pytest.raises(WrongStateError):
            await steering.decide(execution_id, "ask", "approved")
