import asyncio
import logging
import math
from typing import Any, ClassVar

import pytest
from tests.effects.kit import Free, FreeConfig, attempt, begin, complete, notes_of
from tests.effects.manual import ManualTime
from tests.engines.embedded.waiting import until

from riven.core.errors import ErrorClass
from riven.core.ids import NodePath
from riven.core.messages import NodeCompleted, NodeFailed, StartNode
from riven.effects.attempt import Attempt, Ending
from riven.effects.context import RunContext
from riven.effects.execute import MAX_OUTPUT, execute_node
from riven.effects.recorder import StepEnded
from riven.nodes.contract import NodeContext, NodeError, NodeResult
from riven.wire.document import Json


def failure(ended: StepEnded) -> NodeFailed:
    assert isinstance(ended.answer, NodeFailed)
    return ended.answer


class Raising(Free):
    type = "raising"
    error: ClassVar[BaseException] = ValueError("no")

    async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
        raise self.error


class Giving(Free):
    type = "giving"
    given: ClassVar[Any] = None

    async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
        return self.given  # type: ignore[no-any-return]


class Waiting(Free):
    """Waits until it is ended."""

    type = "waiting"

    async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
        await asyncio.Event().wait()
        return NodeResult()


# ---- what goes well ----------------------------------------------------------------------------------------------------


async def test_an_attempt_answers_with_output_and_outcome():
    run = begin({"a": {"with": {"value": {"x": [1]}, "outcome": "other"}}})
    ended = await attempt(run, "a")

    assert ended.answer == NodeCompleted(NodePath("a"), run.clock.now(), "other")
    assert ended.output == {"x": [1]}
    assert ended.error is None


async def test_the_resolved_configuration_is_told_before_the_node_runs():
    run = begin({"a": {"with": {"value": "{{ input.name }}!"}}}, input={"name": "Ann"})
    await attempt(run, "a")

    assert notes_of(run).inputs == {("a", 1): {"value": "Ann!"}}


async def test_the_context_names_run_path_attempt_and_one_key_for_all_attempts():
    seen: list[NodeContext] = []

    class Looking(Free):
        type = "looking"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            seen.append(context)
            return NodeResult()

    run = begin({"a": {"type": "looking"}}, Looking)
    await attempt(run, "a", 1)
    await attempt(run, "a", 2)

    assert [(c.execution_id, c.path, c.attempt) for c in seen] == [("e-1", "a", 1), ("e-1", "a", 2)]
    assert seen[0].idempotency_key == seen[1].idempotency_key
    assert seen[0].idempotency_key.isascii()


async def test_a_node_cannot_change_what_others_read():
    class SpoilingConfig(FreeConfig):
        value: Any = None

    class Spoiler(Free):
        type = "spoiler"
        config = SpoilingConfig

        async def run(self, config: SpoilingConfig, context: NodeContext) -> NodeResult:  # type: ignore[override]  # noqa: ARG002
            config.value.append("spoiled")
            return NodeResult(config.value)

    run = begin(
        {
            "made": {"with": {"value": [1, [2]]}},
            "read": {"type": "spoiler", "with": {"value": "{{ steps.made.output }}"}},
            "constant": {"type": "spoiler", "with": {"value": [3]}},
        },
        Spoiler,
    )
    await complete(run, "made")

    for _ in range(2):
        assert (await attempt(run, "read")).output == [1, [2], "spoiled"]
        assert (await attempt(run, "constant")).output == [3, "spoiled"]
    assert run.values.step(NodePath("made"))["output"] == [1, [2]]
    assert notes_of(run).inputs["constant", 1] == {"value": [3]}


# ---- when --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("when", "outcome"), [("input.go", "skipped"), (False, "skipped"), (True, "success")]
)
async def test_a_node_whose_when_is_false_does_not_run(when: Json, outcome: str):
    run = begin({"a": {"when": when}}, input={"go": False})
    ended = await attempt(run, "a")

    assert isinstance(ended.answer, NodeCompleted)
    assert ended.answer.outcome == outcome
    assert bool(notes_of(run).inputs) is (outcome != "skipped")


async def test_when_is_asked_before_the_first_attempt_only():
    run = begin({"a": {"when": "input.go"}}, input={"go": False})

    assert isinstance((await attempt(run, "a", 2)).answer, NodeCompleted)
    assert notes_of(run).inputs == {("a", 2): {}}


async def test_a_when_that_is_no_truth_value_fails_the_node():
    run = begin({"a": {"when": "input.go"}}, input={"go": "yes"})
    ended = await attempt(run, "a")

    assert failure(ended).error_class is ErrorClass.TEMPLATE_ERROR
    assert not failure(ended).retryable
    assert ended.error["message"].startswith("a: when: ")
    assert "input.go" in ended.error["message"]
    assert notes_of(run).inputs == {("a", 1): None}, "the attempt is told of"


# ---- what goes wrong before it runs -----------------------------------------------------------------------------------


async def test_a_missing_path_names_node_field_expression_and_what_there_is():
    run = begin(
        {
            "order": {"with": {"value": {"id": 1, "sum": 2}}},
            "pay": {"with": {"value": {"no": "{{ steps.order.output.nr }}"}}},
        }
    )
    await complete(run, "order")
    ended = await attempt(run, "pay")

    assert failure(ended).error_class is ErrorClass.TEMPLATE_ERROR
    for part in ("pay", "with.value.no", "steps.order.output.nr", "id", "sum"):
        assert part in ended.error["message"]


async def test_a_configuration_that_the_type_refuses_fails_by_field():
    run = begin(
        {"a": {"type": "log", "with": {"message": "m", "level": "{{ input.level }}"}}},
        input={"level": "loud"},
    )
    ended = await attempt(run, "a")

    assert failure(ended).error_class is ErrorClass.VALIDATION_ERROR
    assert "with.level" in ended.error["message"]
    assert not failure(ended).retryable


async def test_a_condition_that_fails_names_its_field():
    run = begin(
        {"a": {"type": "switch", "with": {"cases": [{"name": "x", "if": "input.nr > 1"}]}}}, input={"n": 1}
    )
    ended = await attempt(run, "a")

    assert failure(ended).error_class is ErrorClass.TEMPLATE_ERROR
    assert ended.error["message"].startswith("a: with.cases[0].if: ")


async def test_conditions_are_shown_as_they_are_written():
    config = {"cases": [{"name": "x", "if": "input.n == 1"}, {"name": "y", "if": True}]}
    run = begin({"a": {"type": "switch", "with": config}}, input={"n": 2})
    ended = await attempt(run, "a")

    assert isinstance(ended.answer, NodeCompleted)
    assert ended.answer.outcome == "y"
    assert notes_of(run).inputs["a", 1] == config


# ---- what goes wrong while it runs ------------------------------------------------------------------------------------


async def test_an_exception_is_an_execution_error_that_is_retried():
    ended = await attempt(begin({"a": {"type": "raising"}}, Raising), "a")

    assert failure(ended).error_class is ErrorClass.EXECUTION_ERROR
    assert failure(ended).retryable
    assert ended.error == {"type": "EXECUTION_ERROR", "message": "ValueError: no"}


@pytest.mark.parametrize(
    "error",
    [
        SystemExit(3),
        asyncio.CancelledError(),
        BaseException("odd"),
        MemoryError(),
        ExceptionGroup("g", [ValueError("a")]),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_nothing_that_a_node_raises_escapes(monkeypatch: pytest.MonkeyPatch, error: BaseException):
    monkeypatch.setattr(Raising, "error", error)
    ended = await attempt(begin({"a": {"type": "raising"}}, Raising), "a")

    assert failure(ended).error_class is ErrorClass.EXECUTION_ERROR
    assert not failure(ended).canceled


async def test_a_classified_error_keeps_its_class_and_wishes(monkeypatch: pytest.MonkeyPatch):
    error = NodeError(ErrorClass.HTTP_CLIENT_ERROR, "429", retryable=True, retry_after=2.5)
    monkeypatch.setattr(Raising, "error", error)
    answer = failure(await attempt(begin({"a": {"type": "raising"}}, Raising), "a"))

    assert (answer.error_class, answer.retryable, answer.retry_after) == (
        ErrorClass.HTTP_CLIENT_ERROR,
        True,
        2_500,
    )
    assert -1 <= answer.jitter <= 1


async def test_jitter_is_drawn_anew_for_every_failure():
    run = begin({"a": {"type": "raising"}}, Raising)

    assert len({failure(await attempt(run, "a", n)).jitter for n in range(1, 20)}) == 19


async def test_the_traceback_of_what_nobody_foresaw_is_logged(caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.INFO, "riven.engine")
    await attempt(begin({"a": {"type": "raising"}}, Raising), "a")

    (record,) = [r for r in caplog.records if r.message == "node_raised"]
    assert "test_execute.py" in record.__dict__["traceback"]
    assert record.__dict__["executionId"] == "e-1"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (NodeResult(math.nan), "output: nan"),
        (NodeResult({"a": [1, {2}]}), "output.a[1]: "),
        (NodeResult([2**63]), "output[0]: "),
        (NodeResult({1: 2}), "output: the key 1"),
        (NodeResult("x" * MAX_OUTPUT), "16.0 MiB"),
    ],
    ids=["nan", "set", "64 bits", "key", "size"],
)
async def test_an_output_that_cannot_be_kept_fails_the_node(
    monkeypatch: pytest.MonkeyPatch, given: NodeResult, said: str
):
    monkeypatch.setattr(Giving, "given", given)
    ended = await attempt(begin({"a": {"type": "giving"}}, Giving), "a")

    assert failure(ended).error_class is ErrorClass.VALIDATION_ERROR
    assert said in ended.error["message"]
    assert not failure(ended).retryable


async def test_an_output_just_small_enough_is_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Giving, "given", NodeResult("x" * (MAX_OUTPUT - 2)))
    ended = await attempt(begin({"a": {"type": "giving"}}, Giving), "a")

    assert len(ended.output) == MAX_OUTPUT - 2


async def test_an_outcome_that_the_type_does_not_have_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Giving, "given", NodeResult(1, "purple"))
    ended = await attempt(begin({"a": {"type": "giving"}}, Giving), "a")

    assert failure(ended).error_class is ErrorClass.CONTROL_FLOW_ERROR
    assert "purple" in ended.error["message"]
    assert "success" in ended.error["message"]


async def test_a_type_that_answers_something_else_is_told_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Giving, "given", {"not": "a result"})
    ended = await attempt(begin({"a": {"type": "giving"}}, Giving), "a")

    assert failure(ended).error_class is ErrorClass.EXECUTION_ERROR
    assert "NodeResult" in ended.error["message"]


async def test_a_node_that_the_document_lacks_is_answered_too():
    ended = await attempt(begin({}), "ghost")

    assert failure(ended).error_class is ErrorClass.EXECUTION_ERROR


# ---- timeouts and cancellation ----------------------------------------------------------------------------------------


async def timed(run: RunContext, time: ManualTime, path: str, due: int, **limits: int) -> StepEnded:
    """An attempt that must have its time limit at `due`, which then comes."""
    running = asyncio.create_task(attempt(run, path, **limits))  # type: ignore[arg-type]
    await until(lambda: bool(time.due))
    assert time.due == [due]
    time.advance(due - 1)
    await asyncio.sleep(0)
    assert not running.done()
    time.advance(1)
    return await running


async def test_an_attempt_that_takes_too_long_is_ended():
    time = ManualTime()
    ended = await timed(
        begin({"a": {"type": "waiting"}}, Waiting, time=time), time, "a", 2_000, timeout=2_000
    )

    assert failure(ended).error_class is ErrorClass.TIMEOUT
    assert failure(ended).retryable
    assert not failure(ended).canceled
    assert "2s" in ended.error["message"]


async def test_without_a_timeout_of_the_node_its_type_says_how_long():
    class Hasty(Waiting):
        type = "hasty"
        default_timeout = 0.5

    time = ManualTime()
    ended = await timed(begin({"a": {"type": "hasty"}}, Hasty, time=time), time, "a", 500)

    assert failure(ended).error_class is ErrorClass.TIMEOUT


async def test_otherwise_five_minutes_are_enough_for_any_attempt():
    time = ManualTime()
    await timed(begin({"a": {"type": "waiting"}}, Waiting, time=time), time, "a", 300_000)


async def test_what_is_left_of_all_attempts_bounds_each():
    time = ManualTime()
    run = begin({"a": {"type": "waiting"}}, Waiting, time=time)
    await timed(run, time, "a", 70, timeout=2_000, limit=70)


async def test_an_attempt_in_time_leaves_no_timer():
    time = ManualTime()
    await attempt(begin({"a": {}}, time=time), "a")

    assert time.due == []


async def test_a_node_that_swallows_its_timeout_has_timed_out_all_the_same():
    class Stubborn(Free):
        type = "stubborn"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return NodeResult("partial")
            return NodeResult()

    time = ManualTime()
    ended = await timed(begin({"a": {"type": "stubborn"}}, Stubborn, time=time), time, "a", 10, timeout=10)

    assert failure(ended).error_class is ErrorClass.TIMEOUT
    assert ended.output is None


async def test_an_error_while_cleaning_up_does_not_hide_the_timeout():
    class Messy(Free):
        type = "messy"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            try:
                await asyncio.Event().wait()
            finally:
                raise RuntimeError("cleaning up failed")

    time = ManualTime()
    ended = await timed(begin({"a": {"type": "messy"}}, Messy, time=time), time, "a", 10, timeout=10)

    assert failure(ended).error_class is ErrorClass.TIMEOUT


async def test_a_timeout_of_the_nodes_own_is_one():
    class Patient(Free):
        type = "patient"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
            return NodeResult()

    ended = await attempt(begin({"a": {"type": "patient"}}, Patient), "a")

    assert failure(ended).error_class is ErrorClass.TIMEOUT


async def test_a_canceled_attempt_says_so_and_its_task_lives_on():
    run = begin({"a": {"type": "waiting"}, "b": {"with": {"value": 1}}}, Waiting)
    attempts: list[Attempt] = []

    async def lane() -> list[StepEnded]:
        task = asyncio.current_task()
        assert task is not None
        answers = []
        for path in ("a", "b"):
            attempts.append(Attempt(task))
            answers.append(await execute_node(run, StartNode(NodePath(path)), attempts[-1]))
        assert task.cancelling() == 0
        return answers

    lane_task = asyncio.create_task(lane())
    await until(lambda: bool(attempts))
    await asyncio.sleep(0)
    attempts[0].end(Ending.CANCEL)
    attempts[0].end(Ending.CANCEL)
    canceled, completed = await lane_task

    assert failure(canceled).canceled
    assert not failure(canceled).retryable
    assert canceled.error is None
    assert completed.output == 1


async def test_a_canceled_node_may_still_answer_what_it_has_reached():
    class Finishing(Free):
        type = "finishing"

        async def run(self, config: FreeConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return NodeResult("sent after all")
            return NodeResult()

    run = begin({"a": {"type": "finishing"}}, Finishing)
    attempts: list[Attempt] = []

    async def lane() -> StepEnded:
        task = asyncio.current_task()
        assert task is not None
        attempts.append(Attempt(task))
        return await execute_node(run, StartNode(NodePath("a")), attempts[0])

    lane_task = asyncio.create_task(lane())
    await until(lambda: bool(attempts))
    await asyncio.sleep(0)
    attempts[0].end(Ending.CANCEL)

    assert (await lane_task).output == "sent after all"


async def test_a_task_that_is_to_end_ends():
    run = begin({"a": {"type": "waiting"}}, Waiting)
    running = asyncio.create_task(attempt(run, "a"))
    await until(lambda: bool(notes_of(run).inputs))
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running


# ---- secrets -----------------------------------------------------------------------------------------------------------


SECRETS = {"token": "hunter2-and-more", "pin": "12"}


class SendingConfig(FreeConfig):
    auth: str
    pin: str


class TellingConfig(FreeConfig):
    token: str


async def test_secrets_reach_the_node_and_nothing_else():
    seen: list[Any] = []

    class Sending(Free):
        type = "sending"

        config = SendingConfig

        async def run(self, config: SendingConfig, context: NodeContext) -> NodeResult:  # type: ignore[override]
            seen.append((config.auth, config.pin))
            assert context.redact(f"{config.auth}!") == "Bearer ***!"
            return NodeResult({"echoed": [config.auth, config.pin], config.auth: 1, "other": "12 apples"})

    config = {"auth": "Bearer {{ secrets.token }}", "pin": "{{ secrets.pin }}"}
    run = begin({"a": {"type": "sending", "with": config}}, Sending, secrets=SECRETS)
    ended = await attempt(run, "a")

    assert seen == [("Bearer hunter2-and-more", "12")]
    assert notes_of(run).inputs["a", 1] == {"auth": "Bearer ***", "pin": "***"}
    assert ended.output == {"echoed": ["Bearer ***", "***"], "Bearer ***": 1, "other": "12 apples"}


async def test_an_error_tells_no_secret(caplog: pytest.LogCaptureFixture):
    class Telling(Free):
        type = "telling"

        config = TellingConfig

        async def run(self, config: TellingConfig, context: NodeContext) -> NodeResult:  # type: ignore[override]  # noqa: ARG002
            raise ValueError("x" * 3_990 + config.token)

    caplog.set_level(logging.DEBUG)
    run = begin(
        {"a": {"type": "telling", "with": {"token": "{{ secrets.token }}"}}}, Telling, secrets=SECRETS
    )
    ended = await attempt(run, "a")

    assert "hunter2" not in ended.error["message"], "also not where the message is cut"
    assert "hunter2" not in str([r.__dict__ for r in caplog.records])


async def test_a_secret_that_comes_back_by_another_node_is_hidden_too():
    run = begin(
        {
            "a": {"with": {"value": "{{ secrets.token }}"}},
            "b": {"with": {"value": "{{ input.leaked }}"}},
        },
        secrets=SECRETS,
        input={"leaked": "it is hunter2-and-more"},
    )

    assert (await attempt(run, "b")).output == "it is ***"
    assert notes_of(run).inputs["b", 1] == {"value": "it is ***"}


async def test_a_secret_that_somebody_wrote_out_is_hidden_too():
    run = begin(
        {"a": {"with": {"value": "{{ secrets.token }}"}}, "b": {"with": {"value": "hunter2-and-more"}}},
        secrets=SECRETS,
    )

    assert (await attempt(run, "b")).output == "***"
    assert notes_of(run).inputs["b", 1] == {"value": "***"}


async def test_a_secret_that_is_not_there_fails_without_telling_others():
    run = begin({"a": {"with": {"value": "{{ secrets.nope }}"}}}, secrets=SECRETS)
    ended = await attempt(run, "a")

    assert failure(ended).error_class is ErrorClass.TEMPLATE_ERROR
    assert "hunter2" not in str(ended.error)
