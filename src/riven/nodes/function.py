"""One Python function that workflows may call: how it is declared, what it may know of its call."""

import asyncio
import inspect
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_type_hints, overload

from riven.core.errors import RivenError
from riven.nodes.contract import NodeContext

CallT = TypeVar("CallT", bound=Callable[..., Any])

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:[.-][A-Za-z0-9_]+)*", re.ASCII)


class FunctionError(RivenError):
    """A function cannot be offered to workflows; the text says where it stands and why."""


class FunctionContext:
    """What a function may know of its call: give it a parameter `context`, or one annotated with this class.

    A plain function runs in a thread, which nobody can stop from outside. When its node times out or is canceled, its
    result is dropped and `cancelled` becomes true: a long one looks at it now and then, or sleeps by `wait`.
    """

    def __init__(self, context: NodeContext) -> None:
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._cancelled = threading.Event()
        self.execution_id = context.execution_id
        self.path = context.path
        self.attempt = context.attempt
        self.idempotency_key = context.idempotency_key
        """The same for every attempt of this step, also after a crash: for calls that must not happen twice."""

    @property
    def cancelled(self) -> bool:
        """Whether the result is no longer wanted."""
        return self._cancelled.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep in a plain function, at most until it is cancelled; says whether it is."""
        return self._cancelled.wait(seconds)

    def heartbeat(self) -> None:
        """Say that a long call is alive; from any thread."""
        self._loop.call_soon_threadsafe(self._context.heartbeat)

    def cancel(self) -> None:
        """Called by the node when the result is no longer wanted."""
        self._cancelled.set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    name: str
    call: Callable[..., Any]
    asynchronous: bool
    origin: str
    """Where it stands, for messages: `crm.py:12`."""
    signature: inspect.Signature
    context_parameter: str | None = None

    @property
    def module(self) -> str:
        return self.call.__module__


DECLARED: list[Function] = []
"""Every function declared in this process, in order; `Functions.load` takes those of the module it has imported."""


@overload
def function(call: CallT, /) -> CallT: ...
@overload
def function(*, name: str | None = None) -> Callable[[CallT], CallT]: ...
def function(call: CallT | None = None, /, *, name: str | None = None) -> CallT | Callable[[CallT], CallT]:
    """Offer a plain or async function to `python` nodes, by its own name or by the one given.

    The function itself stays as it is: call it and test it as before.

    Raises:
        FunctionError: it cannot be offered, which its module's import then fails with.
    """

    def declare(declared: CallT) -> CallT:
        DECLARED.append(describe_function(declared, name))
        return declared

    return declare if call is None else declare(call)


def describe_function(call: Callable[..., Any], name: str | None = None) -> Function:
    """The function as it is registered, without registering it."""
    if not inspect.isroutine(call) or inspect.isbuiltin(call):
        raise FunctionError(f"{call!r} is no function written in Python: put @function above a `def`")
    origin = _origin(call)
    if inspect.isgeneratorfunction(call) or inspect.isasyncgenfunction(call):
        raise FunctionError(f"{origin}: {call.__qualname__} yields; return a list instead")
    chosen = name if name is not None else call.__name__
    if not _NAME.fullmatch(chosen) or len(chosen) > 128:
        raise FunctionError(f"{origin}: {chosen!r} is no function name; write for example 'crm.lookup'")
    signature = inspect.signature(call)
    for parameter in signature.parameters.values():
        if parameter.kind in {parameter.POSITIONAL_ONLY, parameter.VAR_POSITIONAL}:
            raise FunctionError(
                f"{origin}: {chosen}: arguments come by name, so {parameter.name!r} cannot be positional only"
            )
    return Function(
        name=chosen,
        call=call,
        asynchronous=inspect.iscoroutinefunction(call),
        origin=origin,
        signature=signature,
        context_parameter=_context_parameter(signature),
    )


def annotations(call: Callable[..., Any], origin: str) -> dict[str, Any]:
    """The type hints of a function, resolved."""
    try:
        return get_type_hints(call, include_extras=True)
    except (NameError, TypeError, AttributeError, SyntaxError) as error:
        raise FunctionError(f"{origin}: an annotation cannot be read: {error}") from None


def _context_parameter(signature: inspect.Signature) -> str | None:
    for name, parameter in signature.parameters.items():
        annotation = parameter.annotation
        if annotation is FunctionContext or FunctionContext in get_args(annotation):
            return name
        if isinstance(annotation, str) and "FunctionContext" in annotation:
            return name
    plain = signature.parameters.get("context")
    if (
        plain is not None
        and plain.annotation is inspect.Parameter.empty
        and plain.kind is not plain.VAR_KEYWORD
    ):
        return "context"
    return None


def _origin(call: Callable[..., Any]) -> str:
    code = getattr(inspect.unwrap(call), "__code__", None)
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}" if code is not None else repr(call)
