import pytest
from tests.effects.manual import START
from tests.engines.embedded.kit import Running, Stuck, by_path, settle, statuses

from riven.engines.embedded.engine import (
    ControlError,
    DecidedApprovalError,
    InvalidDecisionError,
    UnknownApprovalError,
)


async def test_a_canceled_run_leaves_nothing_running():
    running = Running(Stuck)
    task = running.start(
        """
        name: x
        nodes:
          done: {type: echo}
          a: {type: stuck, needs: [done]}
          each: {type: for_each, with: {items: [1, 2, 3]}, body: {nodes: {s: {type: stuck}, t: {type: echo, needs: [s]}}}}
          w: {type: wait, with: {for: 1d}}
          s: {type: signal, with: {name: never}}
          later: {type: echo, needs: [a]}
        """
    )
    await settle()
    running.engine.cancel()
    result = await task

    assert (result["status"], result["phase"], result["error"]) == ("CANCELED", "CANCELED", None)
    found = statuses(result)
    assert found.pop("done") == "COMPLETED"
    assert set(found.values()) == {"CANCELED"}
    assert len(found) == 11
    assert by_path(result)["a"]["attempts"][0]["status"] == "CANCELED"
    assert by_path(result)["later"]["attempts"] == []
    assert running.time.due == []


async def test_a_run_that_takes_too_long_is_ended():
    running = Running(Stuck)
    result = await running.run(
        "name: x\ntimeout: 10m\nnodes: {a: {type: stuck}, w: {type: wait, with: {for: 1d}}}"
    )

    assert (result["status"], result["durationMs"]) == ("FAILED", 600_000)
    assert result["error"]["type"] == "TIMEOUT"
    assert result["error"]["node"] is None
    assert statuses(result) == {"a": "CANCELED", "w": "CANCELED"}
    assert running.time.due == []


@pytest.mark.parametrize(("own", "given", "expected"), [("10m", 30.0, 30_000), ("10s", 30.0, 10_000)])
async def test_the_shorter_timeout_counts(own: str, given: float, expected: int):
    result = await Running(Stuck).run(
        f"name: x\ntimeout: {own}\nnodes: {{a: {{type: stuck}}}}", timeout=given
    )

    assert result["durationMs"] == expected


async def test_a_cancel_before_the_start_ends_the_run_at_once():
    running = Running(Stuck)
    running.engine.cancel()
    result = await running.run("name: x\nnodes: {a: {type: stuck}}")

    assert result["status"] == "CANCELED"


TWO_SIGNALS = """
name: x
nodes:
  one: {type: signal, with: {name: go}}
  two: {type: signal, needs: [one], with: {name: go}}
output: ["{{ steps.one.output }}", "{{ steps.two.output }}"]
"""


async def test_signals_are_kept_for_their_nodes_in_order():
    running = Running()
    running.engine.signal("go", {"n": 1})
    running.engine.signal("other", 0)
    running.engine.signal("go", None)

    assert (await running.run(TWO_SIGNALS))["output"] == [{"n": 1}, None]


async def test_a_signal_wakes_the_node_that_waits():
    running = Running()
    task = running.start(TWO_SIGNALS)
    await settle()
    waiting = [change for change in running.changes if change.status == "WAITING"]
    assert [(c.path, c.waiting and c.waiting.name) for c in waiting] == [("one", "go")]
    running.engine.signal("go", 1)
    running.engine.signal("go", 2)

    assert (await task)["output"] == [1, 2]


async def test_a_signal_that_crosses_with_the_end_of_its_node_is_for_the_next():
    running = Running()
    document = """
    name: x
    nodes:
      one: {type: signal, with: {name: go, timeout: 1s}}
      two: {type: signal, needs: [one], with: {name: go}}
    output: ["{{ steps.one.outcome }}", "{{ steps.one.output }}", "{{ steps.two.output }}"]
    """
    task = running.start(document)
    await settle()
    running.time.advance(1_000)
    running.engine.signal("go", "late")

    assert (await task)["output"] == ["expired", None, "late"]


async def test_a_payload_that_is_no_json_is_refused():
    running = Running()
    task = running.start(TWO_SIGNALS)
    await settle()
    with pytest.raises(ControlError, match="payload"):
        running.engine.signal("go", {1, 2})
    running.engine.cancel()
    await task


APPROVAL = """
name: x
nodes:
  ask: {type: approval, with: {title: "Pay?", form: {type: object, required: [sum], properties: {sum: {type: number}}}, timeout: 3d}}
  yes: {type: echo, needs: [{node: ask, outcome: approved}]}
  no: {type: echo, needs: [{node: ask, outcome: rejected}]}
  late: {type: echo, needs: [{node: ask, outcome: expired}]}
"""


async def test_an_approval_takes_one_decision_that_fits_its_form():
    running = Running()
    with pytest.raises(UnknownApprovalError):
        running.engine.approve("ask", "approved")
    task = running.start(APPROVAL)
    await settle()
    (change,) = [change for change in running.changes if change.status == "WAITING"]
    assert change.waiting is not None
    assert (change.waiting.kind, change.waiting.until) == ("approval", START + 3 * 86_400_000)
    assert change.waiting.config["title"] == "Pay?"

    with pytest.raises(UnknownApprovalError):
        running.engine.approve("yes", "approved")
    with pytest.raises(InvalidDecisionError, match=r"data\.sum|data"):
        running.engine.approve("ask", "approved", data={"sum": "much"})
    with pytest.raises(InvalidDecisionError, match="data"):
        running.engine.approve("ask", "approved")
    with pytest.raises(InvalidDecisionError, match="decision"):
        running.engine.approve("ask", "expired")  # type: ignore[arg-type]
    running.engine.approve("ask", "rejected", comment="no money")
    with pytest.raises(DecidedApprovalError):
        running.engine.approve("ask", "approved", data={"sum": 1})
    result = await task

    assert statuses(result) == {"ask": "COMPLETED", "yes": "SKIPPED", "no": "COMPLETED", "late": "SKIPPED"}
    assert by_path(result)["ask"]["output"]["comment"] == "no money"


async def test_an_approval_that_nobody_decides_expires():
    result = await Running().run(APPROVAL)

    assert statuses(result)["late"] == "COMPLETED"
    assert by_path(result)["ask"]["output"]["decision"] == "expired"
    assert result["durationMs"] == 3 * 86_400_000
