"""Every history that was ever recorded is replayed: a run that was begun by old decisions goes on by the same ones."""

import pytest
from temporalio.client import WorkflowHistory
from temporalio.worker import Replayer
from tests.conformance.scenario import SCENARIOS
from tests.engines.temporal.histories import read_histories

from riven.core import coordinator
from riven.core.ready import ReadyQueue
from riven.engines.temporal.converter import CONVERTER
from riven.engines.temporal.worker import sandbox
from riven.engines.temporal.workflow import ExecutionWorkflow


async def replay(histories: dict[str, str]) -> dict[str, Exception]:
    """What went wrong, by scenario."""
    replayer = Replayer(workflows=[ExecutionWorkflow], workflow_runner=sandbox(), data_converter=CONVERTER)
    wrong: dict[str, Exception] = {}
    for name, text in histories.items():
        history = WorkflowHistory.from_json(f"execution-{name}", text)
        result = await replayer.replay_workflow(history, raise_on_replay_failure=False)
        if result.replay_failure is not None:
            wrong[name] = result.replay_failure
    return wrong


def test_every_scenario_has_its_history():
    assert set(read_histories()) >= {scenario.name for scenario in SCENARIOS}


@pytest.mark.slow
async def test_recorded_runs_decide_as_they_did():
    assert await replay(read_histories()) == {}


async def test_other_decisions_are_noticed(monkeypatch):
    """What becomes ready together is started in another order."""
    in_order = ReadyQueue.get_ready_nodes
    monkeypatch.setattr(ReadyQueue, "get_ready_nodes", lambda queue: in_order(queue)[::-1])
    histories = read_histories()
    assert set(await replay({"graph-diamond": histories["graph-diamond"]})) == {"graph-diamond"}


async def test_other_waits_are_noticed(monkeypatch):
    """A node is tried again somewhat later."""
    due = coordinator.next_attempt_at

    def later(*args, **kwargs):
        found = due(*args, **kwargs)
        return None if found is None else found + 60_000

    monkeypatch.setattr(coordinator, "next_attempt_at", later)
    histories = read_histories()
    name = "retry-default-attempts"
    assert set(await replay({name: histories[name]})) == {name}
