"""For authors of node types: run one without an engine, and check that it keeps the contract.

    async def test_looks_a_customer_up() -> None:
        result = await run_node(Lookup, {"customer": "c-1"})
        assert result.output == {"name": "Ada"}

    def test_keeps_the_contract() -> None:
        check_node_type(Lookup)

What is wrong with the type itself is an AssertionError; what the node says of its work is the NodeError that an engine
would record. A condition in a configuration is given as `Predicate("text", lambda: True)`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import jsonschema_rs
from pydantic import BaseModel, ValidationError

from riven.core.errors import ErrorClass
from riven.core.graph import NodeKind
from riven.core.ids import ExecutionId, NodePath
from riven.nodes.addresses import AddressPolicy
from riven.nodes.conformity import contract_faults, schema_fault
from riven.nodes.contract import NodeContext, NodeError, NodeResult, NodeType, Waiting
from riven.nodes.functions import FunctionPool, Functions
from riven.nodes.http_client import HttpClient
from riven.nodes.json_values import json_value
from riven.wire.document import Json

ConfigT = TypeVar("ConfigT", bound=BaseModel)
Testable: TypeAlias = NodeType[ConfigT] | type[NodeType[ConfigT]]

__all__ = ["FixedClock", "cancel_node", "check_node_type", "node_context", "run_node", "start_waiting"]


@dataclass(slots=True)
class FixedClock:
    """Milliseconds since the epoch; the test moves it."""

    time: int = 1_900_000_000_000

    def now(self) -> int:
        return self.time


def node_context(
    *,
    path: str = "node",
    attempt: int = 1,
    clock: FixedClock | None = None,
    services: Mapping[type[Any], Any] | None = None,
) -> NodeContext:
    """A context as an engine gives it; without services of your own, with none."""
    return NodeContext(
        execution_id=ExecutionId("test-execution"),
        path=NodePath(path),
        attempt=attempt,
        clock=clock if clock is not None else FixedClock(),
        idempotency_key=f"test-execution:{path}",
        services=dict(services or {}),
    )


async def run_node(
    node: Testable[ConfigT],
    config: Mapping[str, Json],
    *,
    services: Mapping[type[Any], Any] | None = None,
    clock: FixedClock | None = None,
    attempt: int = 1,
    path: str = "node",
    timeout: float | None = 10.0,  # noqa: ASYNC109 - a node's own timeout, as an engine applies it
) -> NodeResult:
    """One attempt of an action: configuration checked, timeout applied, result held against what the type declares.

    Beside `services` there are HTTP (to global and to local addresses), the shipped functions and their threads.

    Raises:
        NodeError: the attempt failed; TIMEOUT when it took too long, VALIDATION_ERROR for a wrong configuration.
        AssertionError: its outcome or its output is not what the type declares.
    """
    made = _made(node)
    checked = _configured(made, config)
    async with _services(services) as available:
        context = node_context(path=path, attempt=attempt, clock=clock, services=available)
        try:
            async with asyncio.timeout(timeout) as limit:
                result = await made.run(checked, context)
        except TimeoutError:
            if not limit.expired():
                raise  # the node's own
            raise NodeError(ErrorClass.TIMEOUT, f"the attempt took longer than {timeout:g} s") from None
    _check_result(made, config, result)
    return result


def start_waiting(
    node: Testable[ConfigT], config: Mapping[str, Json], *, clock: FixedClock | None = None
) -> Waiting:
    """How a wait, signal or approval begins.

    Raises:
        NodeError: VALIDATION_ERROR for a wrong configuration.
    """
    made = _made(node)
    return made.begin(_configured(made, config), node_context(clock=clock))


async def cancel_node(
    node: Testable[ConfigT],
    config: Mapping[str, Json],
    *,
    once: Awaitable[object],
    services: Mapping[type[Any], Any] | None = None,
    grace: float = 2.0,
) -> None:
    """Cancel an attempt `once` something has happened, such as an event that your own server sets.

    Raises:
        AssertionError: it went on, ended otherwise, or left a task behind.
    """
    made = _made(node)
    checked = _configured(made, config)
    async with _services(services) as available:
        with _tasks_of_attempt() as tasks:
            attempt = asyncio.ensure_future(_attempt(made, checked, node_context(services=available), tasks))
            try:
                await once
            finally:
                attempt.cancel()
            try:
                async with asyncio.timeout(grace):
                    await attempt
            except asyncio.CancelledError:
                pass
            except TimeoutError:
                raise AssertionError(
                    f"{made.type} did not end within {grace:g} s of being canceled"
                ) from None
            else:
                raise AssertionError(f"{made.type} swallowed the cancellation and gave a result")
        left = [task for task in tasks if not task.done()]
        if left:
            raise AssertionError(f"{made.type} left running: {left}")


_TASKS: ContextVar[list["asyncio.Future[Any]"] | None] = ContextVar("tasks of the attempt", default=None)


async def _attempt(
    node: NodeType[ConfigT], config: ConfigT, context: NodeContext, tasks: list["asyncio.Future[Any]"]
) -> NodeResult:
    _TASKS.set(tasks)
    return await node.run(config, context)


@contextmanager
def _tasks_of_attempt() -> Iterator[list["asyncio.Future[Any]"]]:
    """Those that an attempt creates, told from the test's own by the context that they inherit."""
    tasks: list[asyncio.Future[Any]] = []
    loop = asyncio.get_running_loop()
    before = loop.get_task_factory()

    def factory(loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> Any:  # noqa: ANN401 - the loop's signature
        task = asyncio.Task(work, loop=loop, **options) if before is None else before(loop, work, **options)
        if _TASKS.get() is tasks:
            tasks.append(task)
        return task

    loop.set_task_factory(factory)
    try:
        yield tasks
    finally:
        loop.set_task_factory(before)


def check_node_type(node: Testable[ConfigT]) -> None:
    """Everything about a type that can be checked without running it.

    Raises:
        AssertionError: it lists all that is wrong.
    """
    faults = list(contract_faults(node))
    if not faults:
        made = _made(node)
        schema = schema_fault(type(made))
        faults += [schema] if schema is not None else []
        try:
            jsonschema_rs.Draft202012Validator(dict(made.output), offline=True)
        except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
            faults.append(f"`output` is no JSON Schema: {str(error).partition(chr(10))[0]}")
        if made.pure and made.kind is not NodeKind.ACTION:
            faults.append("`pure` is for actions")
    if faults:
        raise AssertionError("the node type does not keep its contract: " + "; ".join(faults))


def _made(node: Testable[ConfigT]) -> NodeType[ConfigT]:
    return node() if isinstance(node, type) else node


def _configured(node: NodeType[ConfigT], config: Mapping[str, Json]) -> ConfigT:
    try:
        return node.config.model_validate(dict(config))
    except ValidationError as error:
        details = error.errors(include_url=False, include_input=False, include_context=False)
        text = "; ".join(f"with.{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in details)
        raise NodeError(ErrorClass.VALIDATION_ERROR, text) from None


def _check_result(node: NodeType[ConfigT], config: Mapping[str, Json], result: NodeResult) -> None:
    labels = node.labels(config)
    if result.outcome not in labels:
        raise AssertionError(f"{node.type} left by {result.outcome!r}, which is none of its labels {labels}")
    output = json_value(result.output, f"{node.type} gave")
    for error in jsonschema_rs.Draft202012Validator(dict(node.output), offline=True).iter_errors(output):
        where = "".join(f"[{part!r}]" for part in error.instance_path)
        raise AssertionError(f"the output{where} of {node.type} is not as declared: {error.message}")


@asynccontextmanager
async def _services(given: Mapping[type[Any], Any] | None) -> AsyncIterator[Mapping[type[Any], Any]]:
    pool = FunctionPool()
    try:
        async with HttpClient(AddressPolicy.own_machine()) as http:
            yield {Functions: Functions(), FunctionPool: pool, HttpClient: http, **(given or {})}
    finally:
        pool.stop()
