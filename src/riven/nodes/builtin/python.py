"""`python`: a function that somebody has written for workflows."""

import asyncio
import functools
import inspect
from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import Field

from riven.core.errors import ErrorClass
from riven.nodes.contract import Config, NodeContext, NodeError, NodeResult, NodeType
from riven.nodes.functions import FunctionContext, FunctionPool, Functions, Registered
from riven.nodes.json_values import json_value


class PythonConfig(Config):
    function: str = Field(min_length=1, max_length=128, description="The name under which it is registered.")
    args: Mapping[str, Any] = Field(default_factory=dict, description="Its arguments, by name.")


class Python(NodeType[PythonConfig]):
    """Async functions run in the event loop, plain ones in the worker's `FunctionPool`."""

    type = "python"
    title = "Python function"
    description = "Calls a registered Python function; its return value is the output."
    category = "Code"
    icon = "code"
    config = PythonConfig
    static_fields: ClassVar[tuple[str, ...]] = ("function",)

    async def run(self, config: PythonConfig, context: NodeContext) -> NodeResult:
        found = _find(config.function, context.service(Functions))
        arguments = found.check(config.args)
        call: FunctionContext | None = None
        if found.function.context_parameter is not None:
            call = arguments[found.function.context_parameter] = FunctionContext(context)
        try:
            value = await _call(found, arguments, context)
        except asyncio.CancelledError as error:
            if call is not None:
                call.cancel()
            if _is_cancelled():
                raise
            raise _failed(error) from error
        except NodeError:
            raise
        except (Exception, SystemExit) as error:  # a function may raise anything, and may not end the worker
            raise _failed(error) from error
        return NodeResult(json_value(value, f"function {config.function!r} returned"))


async def _call(found: Registered, arguments: dict[str, Any], context: NodeContext) -> object:
    call = functools.partial(found.function.call, **arguments)
    if found.function.asynchronous:
        return await call()
    value = await context.service(FunctionPool).run(call)
    return await value if inspect.isawaitable(value) else value


def _find(name: str, functions: Functions) -> Registered:
    found = functions.get(name)
    if found is None:
        near = functions.nearest(name)
        hint = (
            f"did you mean {near!r}?" if near is not None else "load its module with --functions or FUNCTIONS"
        )
        raise NodeError(ErrorClass.VALIDATION_ERROR, f"there is no function {name!r}; {hint}")
    return found


def _is_cancelled() -> bool:
    """Whether it is this node that is cancelled, and not a function that raised CancelledError of its own."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _failed(error: BaseException) -> NodeError:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception of somebody else's, with a __str__ of its own
        text = "(no text)"
    name = type(error).__name__
    return NodeError(ErrorClass.EXECUTION_ERROR, f"{name}: {text}" if text else name)
