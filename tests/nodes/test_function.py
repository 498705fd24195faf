import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from riven.nodes.contract import Heartbeat
from riven.nodes.function import DECLARED, FunctionContext, FunctionError, describe_function, function
from riven.nodes.testing import node_context


def test_the_decorated_function_stays_as_it_is() -> None:
    def add(a: int, b: int) -> int:
        return a + b

    before = len(DECLARED)
    assert function(add) is add
    assert function(name="crm.add")(add) is add
    assert [each.name for each in DECLARED[before:]] == ["add", "crm.add"]
    del DECLARED[before:]


def test_it_knows_where_it_stands() -> None:
    def here() -> None: ...

    described = describe_function(here)
    assert described.origin.startswith("test_function.py:")
    assert not described.asynchronous


@pytest.mark.parametrize("name", ["", "a b", "1a", "a..b", "a.", ".a", "a" * 129, "ü"])
def test_a_name_is_one_word_with_dots(name: str) -> None:
    with pytest.raises(FunctionError, match="no function name"):
        describe_function(lambda: None, name)


def by_position(a: int, /) -> None: ...
def any_positions(*args: int) -> None: ...
def yields() -> Iterator[int]:
    yield 1


async def yields_later() -> AsyncIterator[int]:
    yield 1


@pytest.mark.parametrize(
    ("call", "words"),
    [(by_position, "'a'"), (any_positions, "'args'"), (yields, "yields"), (yields_later, "yields"), (len, "no function"), (FunctionContext, "no function"), (functools.partial(yields), "no function")],
)  # fmt: skip
def test_what_cannot_be_called_by_name_is_refused(call: Any, words: str) -> None:  # noqa: ANN401
    with pytest.raises(FunctionError, match=words):
        describe_function(call, "f")


def test_who_receives_the_context() -> None:
    def by_name(context): ...
    def by_type(a: int, call: FunctionContext) -> None: ...
    def by_text(a: int, call: "FunctionContext | None" = None) -> None: ...
    def an_argument(context: str) -> None: ...
    def the_rest(**context: str) -> None: ...

    found = [
        describe_function(each).context_parameter
        for each in (by_name, by_type, by_text, an_argument, the_rest)
    ]
    assert found == ["context", "call", "call", None, None]


async def test_the_context_tells_of_the_call_and_of_its_end() -> None:
    context = FunctionContext(node_context(path="each[2].send", attempt=2))
    assert (context.path, context.attempt) == ("each[2].send", 2)
    assert context.idempotency_key == "test-execution:each[2].send"
    assert not context.cancelled
    assert context.wait(0.0) is False
    context.cancel()
    assert context.cancelled
    assert context.wait(10.0) is True


async def test_a_heartbeat_from_a_thread_arrives_in_the_loop() -> None:
    arrived: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    services = {Heartbeat: arrived.set_result}
    context = FunctionContext(node_context(path="slow", services=services))
    await asyncio.to_thread(context.heartbeat)
    assert await arrived == "slow"
