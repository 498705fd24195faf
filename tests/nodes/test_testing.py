import asyncio
from typing import Any, ClassVar

import pytest
from pydantic import Field

from riven.core.errors import ErrorClass
from riven.nodes.contract import Config, NodeContext, NodeError, NodeResult, NodeType, Predicate
from riven.nodes.functions import FunctionPool, Functions
from riven.nodes.http_client import HttpClient
from riven.nodes.testing import FixedClock, cancel_node, check_node_type, node_context, run_node


class DoConfig(Config):
    do: str = "answer"
    if_: Predicate | None = Field(default=None, alias="if")


class Do(NodeType[DoConfig]):
    type = "do"
    title = "Do"
    description = "Does what a test wants."
    config = DoConfig
    outcomes: ClassVar[tuple[str, ...]] = ("success", "other")
    output: ClassVar = {"type": ["string", "null", "boolean"]}
    begun: ClassVar[asyncio.Event]

    async def run(self, config: DoConfig, context: NodeContext) -> NodeResult:
        match config.do:
            case "answer":
                return NodeResult(f"{context.path} {context.attempt} {context.clock.now()}", "other")
            case "ask":
                assert config.if_ is not None
                return NodeResult(config.if_())
            case "wrong label":
                return NodeResult(None, "nope")
            case "wrong output":
                return NodeResult(5)
            case "no json":
                return NodeResult(object())
            case "own timeout":
                raise TimeoutError("mine")
            case "services":
                return NodeResult(
                    all(context.service(kind) for kind in (Functions, FunctionPool, HttpClient))
                )
        return await self.hang(config.do)

    async def hang(self, how: str) -> NodeResult:
        type(self).begun.set()
        if how == "leave a task":
            self.left = asyncio.ensure_future(asyncio.Event().wait())
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if how == "swallow":
                return NodeResult("swallowed")
            if how == "go on":
                await asyncio.Event().wait()
            raise
        return NodeResult()


@pytest.fixture(autouse=True)
def begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Do, "begun", asyncio.Event(), raising=False)


async def test_runs_an_attempt() -> None:
    result = await run_node(Do, {}, path="a.b", attempt=2, clock=FixedClock(5))
    assert result == NodeResult("a.b 2 5", "other")


async def test_takes_conditions_as_predicates() -> None:
    config: dict[str, Any] = {"do": "ask", "if": Predicate("x", lambda: False)}
    assert (await run_node(Do(), config)).output is False


async def test_brings_the_tools_of_a_worker() -> None:
    assert (await run_node(Do, {"do": "services"})).output is True
    with pytest.raises(NodeError, match="no FunctionPool"):
        node_context().service(FunctionPool)


@pytest.mark.parametrize("do", ["wrong label", "wrong output"])
async def test_a_result_that_was_not_declared_fails_the_test(do: str) -> None:
    with pytest.raises(AssertionError, match=r"of do|do left"):
        await run_node(Do, {"do": do})


async def test_errors_are_those_that_an_engine_records() -> None:
    for config, error_class in (
        ({"do": 5}, ErrorClass.VALIDATION_ERROR),
        ({"dо": "x"}, ErrorClass.VALIDATION_ERROR),  # noqa: RUF001 - the name looks right and is not
        ({"do": "no json"}, ErrorClass.VALIDATION_ERROR),
        ({"do": "hang"}, ErrorClass.TIMEOUT),
    ):
        with pytest.raises(NodeError) as failed:
            await run_node(Do, config, timeout=0.01)
        assert failed.value.error_class is error_class


async def test_a_timeout_of_the_nodes_own_is_its_own() -> None:
    with pytest.raises(TimeoutError, match="mine"):
        await run_node(Do, {"do": "own timeout"})


async def test_a_node_that_lets_cancellation_pass_is_well() -> None:
    await cancel_node(Do, {"do": "hang"}, once=Do.begun.wait())


@pytest.mark.parametrize(
    ("how", "words"), [("swallow", "swallowed"), ("go on", "did not end"), ("leave a task", "left running")]
)
async def test_a_node_that_does_not_fails_the_test(how: str, words: str) -> None:
    node = Do()
    with pytest.raises(AssertionError, match=words):
        await cancel_node(node, {"do": how}, once=Do.begun.wait(), grace=0.01)
    if how == "leave a task":
        node.left.cancel()
        await asyncio.gather(node.left, return_exceptions=True)


def test_the_contract_is_checked() -> None:
    class NoSchema(Do):
        output: ClassVar = {"type": "nope"}

    class NoTitle(Do):
        title = ""

    check_node_type(Do)
    check_node_type(Do())
    for broken, words in ((NoSchema, "no JSON Schema"), (NoTitle, "`title`")):
        with pytest.raises(AssertionError, match=words):
            check_node_type(broken)
