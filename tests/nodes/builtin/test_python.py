import asyncio
import dataclasses
import threading

import pytest
from pydantic import BaseModel

from riven.core.errors import ErrorClass
from riven.nodes.builtin.python import Python
from riven.nodes.contract import NodeError
from riven.nodes.function import FunctionContext
from riven.nodes.function_pool import FunctionPool
from riven.nodes.functions import Functions
from riven.nodes.testing import cancel_node, check_node_type, run_node
from riven.wire.document import Json


class Customer(BaseModel):
    id: int


async def call(function: object, args: dict[str, Json] | None = None, **more: float) -> Json:
    functions = Functions(function)  # type: ignore[arg-type]
    name = function.__name__  # type: ignore[attr-defined]
    config = {"function": name} if args is None else {"function": name, "args": args}
    return (await run_node(Python, config, services={Functions: functions}, **more)).output  # type: ignore[arg-type]


async def fails(function: object, args: dict[str, Json] | None = None, **more: float) -> NodeError:
    with pytest.raises(NodeError) as failed:
        await call(function, args, **more)
    return failed.value


def test_keeps_the_contract() -> None:
    check_node_type(Python)


async def test_the_shipped_functions() -> None:
    assert (await run_node(Python, {"function": "riven.echo", "args": {"a": [1, None]}})).output == {
        "a": [1, None]
    }
    assert (await run_node(Python, {"function": "riven.echo"})).output == {}
    assert (await run_node(Python, {"function": "riven.sleep", "args": {"seconds": 0}})).output is None
    for seconds in (-1, "x", None, float("nan"), float("inf"), 10**9):
        with pytest.raises(NodeError):
            await run_node(Python, {"function": "riven.sleep", "args": {"seconds": seconds}})


async def test_plain_functions_run_in_a_thread_and_async_ones_in_the_loop() -> None:
    def plain() -> bool:
        return threading.current_thread() is threading.main_thread()

    async def coroutine() -> bool:
        return threading.current_thread() is threading.main_thread()

    assert await call(plain) is False
    assert await call(coroutine) is True


async def test_arguments_and_results_are_what_the_signature_says() -> None:
    @dataclasses.dataclass
    class Found:
        customer: Customer
        times: int

    def find(customer: Customer, times: int = 2) -> Found:
        assert isinstance(customer, Customer)
        return Found(customer, times)

    assert await call(find, {"customer": {"id": "7"}}) == {"customer": {"id": 7}, "times": 2}


async def test_a_plain_function_may_return_a_coroutine() -> None:
    async def inner() -> int:
        return 5

    def outer():
        return inner()

    assert await call(outer) == 5


async def test_wrong_arguments_are_a_validation_error_and_nothing_runs() -> None:
    ran = []

    def touch(a: int) -> None:
        ran.append(a)

    error = await fails(touch, {"a": "x", "b": 1})
    assert error.error_class is ErrorClass.VALIDATION_ERROR
    assert "argument `a`" in error.message
    assert "no argument `b`" in error.message
    assert ran == []


async def test_an_unknown_function_is_a_validation_error_that_names_the_nearest() -> None:
    with pytest.raises(NodeError, match=r"no function 'riven\.eco'; did you mean 'riven\.echo'\?") as failed:
        await run_node(Python, {"function": "riven.eco"})
    assert failed.value.error_class is ErrorClass.VALIDATION_ERROR
    with pytest.raises(NodeError, match="--functions"):
        await run_node(Python, {"function": "something.else"})


@pytest.mark.parametrize("asynchronous", [False, True])
@pytest.mark.parametrize(
    ("raised", "message"),
    [
        (ValueError("no such order"), "ValueError: no such order"),
        (KeyError("id"), "KeyError: 'id'"),
        (ZeroDivisionError(), "ZeroDivisionError"),
        (SystemExit(3), "SystemExit: 3"),
        (asyncio.CancelledError("mine"), "CancelledError: mine"),
        (TimeoutError("mine"), "TimeoutError: mine"),
    ],
)
async def test_what_it_raises_is_an_execution_error_that_is_retried(
    asynchronous: bool,  # noqa: FBT001
    raised: BaseException,
    message: str,
) -> None:
    def plain() -> None:
        raise raised

    async def coroutine() -> None:
        raise raised

    error = await fails(coroutine if asynchronous else plain)
    assert (error.error_class, error.retryable, error.message) == (ErrorClass.EXECUTION_ERROR, None, message)
    assert error.__cause__ is raised


async def test_an_exception_without_readable_text_is_told_by_its_type() -> None:
    class Shy(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise RuntimeError

    def shy() -> None:
        raise Shy

    assert (await fails(shy)).message == "Shy: (no text)"


async def test_a_node_error_keeps_its_class() -> None:
    def refuses() -> None:
        raise NodeError(ErrorClass.SECURITY_ERROR, "not for you")

    error = await fails(refuses)
    assert (error.error_class, error.message) == (ErrorClass.SECURITY_ERROR, "not for you")


async def test_a_pydantic_error_inside_the_function_is_the_functions() -> None:
    def inner() -> None:
        Customer.model_validate({})

    assert (await fails(inner)).error_class is ErrorClass.EXECUTION_ERROR


async def test_what_it_returns_must_be_json() -> None:
    def returns() -> Json:
        return {"orders": [{"lines": {1, 2}}]}

    error = await fails(returns)
    assert error.error_class is ErrorClass.VALIDATION_ERROR
    assert (
        error.message
        == "function 'returns' returned what is not JSON at `orders[0].lines`: a set (return a list)"
    )


async def test_the_context_tells_of_the_call() -> None:
    def plain(context: FunctionContext) -> str:
        return f"{context.path} {context.attempt}"

    async def coroutine(a: int, call: FunctionContext) -> str:
        return f"{a} {call.idempotency_key} {call.cancelled}"

    assert await call(plain, attempt=3) == "node 3"
    assert await call(coroutine, {"a": 1}) == "1 test-execution:node False"


async def test_a_plain_function_that_times_out_is_abandoned_and_can_find_out() -> None:
    loop, pool = asyncio.get_running_loop(), FunctionPool(1)
    ended: asyncio.Future[bool] = loop.create_future()

    def slow(context: FunctionContext) -> str:
        noticed = context.wait(10)
        loop.call_soon_threadsafe(ended.set_result, noticed)
        return "too late"

    services = {Functions: Functions(slow), FunctionPool: pool}
    with pytest.raises(NodeError) as failed:
        await run_node(Python, {"function": "slow"}, services=services, timeout=0.01)
    assert failed.value.error_class is ErrorClass.TIMEOUT
    assert await ended is True
    assert await pool.run(lambda: "free again") == "free again"
    assert pool.abandoned == 0
    pool.stop()


async def test_cancellation_reaches_an_async_function() -> None:
    begun, cleaned = asyncio.Event(), []

    async def waits() -> None:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    services = {Functions: Functions(waits)}
    await cancel_node(Python, {"function": "waits"}, once=begun.wait(), services=services)
    assert cleaned == [True]


async def test_cancellation_abandons_a_plain_one() -> None:
    loop, begun, opened = asyncio.get_running_loop(), asyncio.Event(), threading.Event()
    pool = FunctionPool(1)

    def deaf() -> None:
        loop.call_soon_threadsafe(begun.set)
        opened.wait(10)

    services = {Functions: Functions(deaf), FunctionPool: pool}
    await cancel_node(Python, {"function": "deaf"}, once=begun.wait(), services=services)
    assert pool.abandoned == 1
    opened.set()
    assert await pool.run(lambda: 1) == 1
    pool.stop()


@pytest.mark.parametrize(
    "config", [{}, {"function": ""}, {"function": "f", "args": []}, {"function": "f", "arg": {}}]
)
async def test_configuration_is_checked(config: dict[str, Json]) -> None:
    with pytest.raises(NodeError) as failed:
        await run_node(Python, config)
    assert failed.value.error_class is ErrorClass.VALIDATION_ERROR
