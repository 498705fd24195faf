"""The steps of containers and waits, and what a run's decisions mean in values."""

import pytest
from tests.effects.kit import attempt, begin, complete, document, keep, notes_of, step
from tests.effects.manual import START

from riven.core.errors import ErrorClass, Problem
from riven.core.ids import ROOT_PATH, NodePath
from riven.core.messages import (
    AGAIN,
    STOP,
    ExecutionStatus,
    Finish,
    NodeCompleted,
    NodeFailed,
    NodeStatus,
    SettleNode,
    Step,
)
from riven.effects.context import RunContext
from riven.effects.recorder import NodeSettled, StepEnded
from riven.effects.settle import execution_error, settle
from riven.wire.document import Json


def completed(ended: StepEnded) -> NodeCompleted:
    assert isinstance(ended.answer, NodeCompleted), ended.error
    return ended.answer


def failed(ended: StepEnded) -> NodeFailed:
    assert isinstance(ended.answer, NodeFailed)
    return ended.answer


def told(run: RunContext, path: str, status: NodeStatus, **more: Json) -> NodeSettled:
    return settle(run, SettleNode(NodePath(path), status, **more), START + 5)


def looping(items: Json, body: dict[str, Json] | None = None, **with_: Json) -> dict[str, dict[str, Json]]:
    one = {"type": "for_each", "with": {"items": items, **with_}, "body": body or {"nodes": {"a": {}}}}
    return {"each": one}


# ---- for_each ----------------------------------------------------------------------------------------------------------


def test_a_for_each_counts_its_items():
    run = begin(looping("{{ input.list }}"), input={"list": [1, {"a": 2}, None]})
    ended = step(run, "each", Step.EXPAND)

    assert completed(ended).fan_out == 3
    assert ended.output == [1, {"a": 2}, None]
    assert notes_of(run).inputs["each", 1] == {"items": [1, {"a": 2}, None]}


def test_items_that_are_no_list_fail_it():
    ended = step(begin(looping("{{ input.list }}"), input={"list": "abc"}), "each", Step.EXPAND)

    assert failed(ended).error_class is ErrorClass.VALIDATION_ERROR
    assert "with.items" in ended.error["message"]


def test_a_container_whose_when_is_false_does_not_expand():
    nodes = looping([1])
    nodes["each"]["when"] = "false"
    run = begin(nodes)

    assert completed(step(run, "each", Step.EXPAND)).outcome == "skipped"
    assert notes_of(run).inputs == {}


async def test_the_outputs_of_the_items_are_listed_in_their_order():
    body = {"nodes": {"a": {}}, "output": "{{ item * 10 }}"}
    run = begin(looping([1, 2, 3], body))
    keep(run, step(run, "each", Step.EXPAND))
    for index in (2, 0, 1):
        keep(run, step(run, f"each[{index}]", Step.OUTPUT))
        told(run, f"each[{index}]", NodeStatus.COMPLETED)
    gathered = keep(run, step(run, "each", Step.OUTPUT))

    assert gathered.output == [10, 20, 30]
    assert told(run, "each", NodeStatus.COMPLETED, outcome="success").output == [10, 20, 30]
    assert run.values.step(NodePath("each"))["output"] == [10, 20, 30]


def test_items_without_an_output_give_null():
    run = begin(looping([1, 2]))
    keep(run, step(run, "each", Step.EXPAND))

    assert step(run, "each", Step.OUTPUT).output == [None, None]


async def test_collected_items_tell_whether_they_went_well():
    run = begin(
        looping(
            [1, 2],
            {"nodes": {"a": {"type": "fail", "with": {"message": "no"}}}, "output": 1},
            onItemFailure="collect",
        )
    )
    keep(run, step(run, "each", Step.EXPAND))
    keep(run, step(run, "each[0]", Step.OUTPUT))
    told(run, "each[0]", NodeStatus.COMPLETED)
    keep(run, await attempt(run, "each[1].a"))
    told(run, "each[1].a", NodeStatus.FAILED, error_class=ErrorClass.EXECUTION_ERROR)
    told(
        run, "each[1]", NodeStatus.FAILED, cause=NodePath("each[1].a"), error_class=ErrorClass.EXECUTION_ERROR
    )

    assert step(run, "each", Step.OUTPUT).output == [
        {"ok": True, "output": 1},
        {"ok": False, "error": {"type": "EXECUTION_ERROR", "message": "each[1].a: no"}},
    ]


# ---- repeat ------------------------------------------------------------------------------------------------------------


def repeating(**with_: Json) -> dict[str, dict[str, Json]]:
    body = {"nodes": {"a": {}}, "output": "{{ iteration.index * 10 }}"}
    return {"poll": {"type": "repeat", "with": with_, "body": body}}


def test_a_repeat_shows_its_question_as_it_is_written():
    run = begin(repeating(until="iteration.index == 2", maxIterations=5))

    completed(step(run, "poll", Step.EXPAND))
    assert notes_of(run).inputs["poll", 1] == {"until": "iteration.index == 2", "maxIterations": 5}


def test_until_sees_the_iteration_that_has_just_ended():
    run = begin(repeating(until="iteration.index == 1 && iteration.previous == 10"))
    answers = []
    for index in range(2):
        keep(run, step(run, f"poll[{index}]", Step.OUTPUT))
        answers.append(completed(step(run, f"poll[{index}]", Step.CHECK)).outcome)
        told(run, f"poll[{index}]", NodeStatus.COMPLETED)

    assert answers == [AGAIN, STOP]
    assert step(run, "poll", Step.OUTPUT).output == 10


def test_while_sees_the_iteration_that_would_begin():
    run = begin(repeating(**{"while": "iteration.previous == null || iteration.previous < 10"}))
    answers = []
    for index in range(3):
        answers.append(completed(step(run, f"poll[{index}]", Step.CHECK)).outcome)
        if answers[-1] == AGAIN:
            keep(run, step(run, f"poll[{index}]", Step.OUTPUT))
            told(run, f"poll[{index}]", NodeStatus.COMPLETED)

    assert answers == [AGAIN, AGAIN, STOP]
    assert step(run, "poll", Step.OUTPUT).output == 10


def test_a_repeat_that_never_ran_gives_null():
    assert step(begin(repeating(**{"while": "false"})), "poll", Step.OUTPUT).output is None


async def test_a_body_sees_what_the_iteration_before_it_left():
    nodes = repeating(until="false")
    nodes["poll"]["body"]["nodes"]["a"] = {"with": {"value": "{{ iteration }}"}}
    run = begin(nodes)
    for index in range(3):
        ended = await attempt(run, f"poll[{index}].a")
        assert ended.output == {"index": index, "previous": None if index == 0 else (index - 1) * 10}
        keep(run, step(run, f"poll[{index}]", Step.OUTPUT))
        told(run, f"poll[{index}]", NodeStatus.COMPLETED)

    assert len(run.values.outputs) == 1, "older ones are forgotten"


def test_a_question_that_fails_names_its_field():
    ended = step(begin(repeating(until="iteration.previous.done")), "poll[0]", Step.CHECK)

    assert failed(ended).error_class is ErrorClass.TEMPLATE_ERROR
    assert ended.error["message"].startswith("poll: with.until: ")


# ---- call --------------------------------------------------------------------------------------------------------------


def calling() -> RunContext:
    called = document({"a": {}}, name="other", output={"doubled": "{{ input.n * 2 }}"})
    return begin(
        document(
            {"sub": {"type": "call", "with": {"workflow": "other", "input": {"n": "{{ 4 }}"}}}},
            calls={"other": called},
        )
    )


def test_a_call_gives_its_input_and_gets_the_output():
    run = calling()
    assert keep(run, step(run, "sub", Step.EXPAND)).output == {"n": 4}
    keep(run, step(run, "sub", Step.OUTPUT))

    assert told(run, "sub", NodeStatus.COMPLETED, outcome="success").output == {"doubled": 8}


def test_an_input_that_the_called_workflow_refuses_fails_the_call():
    run = calling()
    run.check_input = lambda _document, value: (
        value,
        (Problem(path="input.n", code="type", message="too small"),),
    )
    ended = step(run, "sub", Step.EXPAND)

    assert failed(ended).error_class is ErrorClass.VALIDATION_ERROR
    assert "input.n: too small" in ended.error["message"]
    assert "other" in ended.error["message"]


def test_the_defaults_of_the_called_workflow_are_filled_in():
    run = calling()
    run.check_input = lambda _document, value: ({**value, "more": 1}, ())

    assert step(run, "sub", Step.EXPAND).output == {"n": 4, "more": 1}


# ---- waits -------------------------------------------------------------------------------------------------------------


def test_a_wait_tells_when_it_is_over():
    run = begin({"w": {"type": "wait", "with": {"for": "20s"}}})
    ended = keep(run, step(run, "w", Step.EXPAND))

    assert completed(ended).due == START + 20_000
    assert told(run, "w", NodeStatus.COMPLETED, outcome="success").output == {
        "until": "2026-11-19T08:00:20.000Z"
    }


def test_a_signal_gives_its_payload_also_null():
    run = begin({"s": {"type": "signal", "with": {"name": "paid"}}})
    assert completed(keep(run, step(run, "s", Step.EXPAND))).due is None
    assert run.values.begun[NodePath("s")].waiting.signal == "paid"
    run.values.messages[NodePath("s")] = {"sum": 3}

    assert told(run, "s", NodeStatus.COMPLETED, outcome="received").output == {"sum": 3}
    assert not run.values.begun
    assert not run.values.messages


def test_what_expires_leaves_what_its_type_says():
    run = begin(
        {
            "s": {"type": "signal", "with": {"name": "paid", "timeout": "1s"}},
            "ask": {"type": "approval", "with": {"timeout": 1}},
        }
    )
    for path in ("s", "ask"):
        assert completed(keep(run, step(run, path, Step.EXPAND))).due == START + 1_000
        run.values.messages[NodePath(path)] = "too late"

    assert told(run, "s", NodeStatus.COMPLETED, outcome="expired").output is None
    assert told(run, "ask", NodeStatus.COMPLETED, outcome="expired").output["decision"] == "expired"


# ---- the execution -----------------------------------------------------------------------------------------------------


async def test_the_output_of_the_execution():
    run = begin(
        document(
            {"a": {"with": {"value": 2}}},
            output={"twice": "{{ steps.a.output * 2 }}", "text": "n={{ input.n }}"},
        ),
        input={"n": 1},
    )
    await complete(run, "a")

    assert step(run, "", Step.OUTPUT).output == {"twice": 4, "text": "n=1"}


def test_an_output_that_cannot_be_built_says_where():
    run = begin(document({}, output={"a": ["{{ input.nope }}"]}))
    ended = keep(run, step(run, "", Step.OUTPUT))
    error = execution_error(run, Finish(ExecutionStatus.FAILED, ROOT_PATH, ErrorClass.TEMPLATE_ERROR))

    assert failed(ended).error_class is ErrorClass.TEMPLATE_ERROR
    assert error["node"] == "output"
    assert error["type"] == "TEMPLATE_ERROR"
    assert error["message"].startswith("output.a[0]: ")


# ---- errors ------------------------------------------------------------------------------------------------------------


async def test_a_container_fails_by_the_words_of_its_inner_node():
    run = begin(
        looping(
            [1], {"nodes": {"a": {"type": "fail", "with": {"message": "no luck", "type": "NETWORK_ERROR"}}}}
        )
    )
    keep(run, step(run, "each", Step.EXPAND))
    keep(run, await attempt(run, "each[0].a"))
    cause = NodePath("each[0].a")
    inner = told(run, "each[0].a", NodeStatus.FAILED, error_class=ErrorClass.NETWORK_ERROR)
    told(run, "each[0]", NodeStatus.FAILED, cause=cause, error_class=ErrorClass.NETWORK_ERROR)
    outer = told(run, "each", NodeStatus.FAILED, cause=cause, error_class=ErrorClass.NETWORK_ERROR)

    assert inner.error == {"type": "NETWORK_ERROR", "message": "no luck"}
    assert outer.error == {"type": "NETWORK_ERROR", "message": "each[0].a: no luck"}
    assert run.values.step(NodePath("each"))["error"] == outer.error
    assert execution_error(run, Finish(ExecutionStatus.FAILED, cause, ErrorClass.NETWORK_ERROR)) == {
        "node": "each[0].a",
        "type": "NETWORK_ERROR",
        "message": "no luck",
    }


def test_a_container_that_took_too_long_says_so():
    run = begin(looping([1]))

    assert told(run, "each", NodeStatus.FAILED, error_class=ErrorClass.TIMEOUT).error["type"] == "TIMEOUT"


async def test_a_node_that_will_be_tried_again_shows_its_error_and_forgets_it_when_it_completes():
    run = begin({"a": {"with": {"value": "{{ input.n }}"}}, "b": {"with": {"value": "{{ steps.a.error }}"}}})
    keep(run, await attempt(run, "a"))
    retrying = told(run, "a", NodeStatus.RETRYING, due=START + 9)
    assert retrying.error["type"] == "TEMPLATE_ERROR"
    assert (await attempt(run, "b")).output == retrying.error

    run.values.completed(NodePath("a"), "success", 1)
    assert (await attempt(run, "b")).output is None


@pytest.mark.parametrize("status", [NodeStatus.SKIPPED, NodeStatus.CANCELED])
async def test_a_node_that_never_ran_shows_its_status(status: NodeStatus):
    run = begin({"a": {}, "b": {"with": {"value": "{{ [steps.a.status, steps.a.?output.orValue(7)] }}"}}})
    told(run, "a", status)

    assert (await attempt(run, "b")).output == [status.value, 7]


def test_what_the_core_itself_says_has_no_node():
    finish = Finish(ExecutionStatus.FAILED, None, ErrorClass.TIMEOUT, "it took longer than 3 s")

    assert execution_error(begin({}), finish) == {
        "node": None,
        "type": "TIMEOUT",
        "message": "it took longer than 3 s",
    }
