"""Documents and runs for tests of single steps: real node types and expressions, time and records by hand."""

import asyncio
from collections.abc import Mapping
from random import Random
from typing import Any, ClassVar

from tests.effects.manual import ManualTime

from riven.core.ids import ExecutionId, NodePath
from riven.core.messages import StartNode, Step
from riven.effects.attempt import Attempt
from riven.effects.context import RunContext
from riven.effects.execute import execute_node, execute_step
from riven.effects.program import compile_program
from riven.effects.recorder import StepEnded
from riven.effects.settle import keep_answer
from riven.nodes.contract import Config, NodeContext, NodeResult, NodeType
from riven.nodes.registry import Registry
from riven.wire.document import BodyDocument, Document, Json, NodeDocument


class EchoConfig(Config):
    value: Any = None
    outcome: str = "success"


class Echo(NodeType[EchoConfig]):
    """Gives its value."""

    type = "echo"
    title = "Echo"
    description = "Gives its value."
    config = EchoConfig
    outcomes: ClassVar = ("success", "other")

    async def run(self, config: EchoConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002 - the contract
        return NodeResult(config.value, config.outcome)


class FreeConfig(Config):
    pass


class Free(NodeType[FreeConfig]):
    """Does what the subclass of a test says; each has a type of its own."""

    title = "Free"
    description = "For one test."
    config = FreeConfig


class Notes:
    """A recorder that keeps what it is told."""

    def __init__(self) -> None:
        self.inputs: dict[tuple[str, int], Json] = {}

    def started(self, path: NodePath, attempt: int, at: int, input: Json) -> None:
        assert isinstance(at, int)
        self.inputs[path, attempt] = input


def node(key: str, spec: Mapping[str, Any]) -> NodeDocument:
    body = spec.get("body")
    return NodeDocument(
        key=key,
        type=spec.get("type", "echo"),
        name=spec.get("name"),
        config=spec.get("with", {}),
        when=spec.get("when"),
        body=None if body is None else BodyDocument(
            nodes={inner: node(inner, inner_spec) for inner, inner_spec in body["nodes"].items()},
            output=body.get("output"),
            has_output="output" in body,
        ),
    )  # fmt: skip


def document(nodes: Mapping[str, Mapping[str, Any]], **fields: Any) -> Document:  # noqa: ANN401 - fields of a Document
    fields.setdefault("name", "test")
    return Document(
        nodes={key: node(key, spec) for key, spec in nodes.items()}, has_output="output" in fields, **fields
    )


def begin(
    doc: Document | Mapping[str, Mapping[str, Any]],
    *types: type[NodeType[Any]],
    input: Json = None,
    secrets: Mapping[str, str] | None = None,
    services: Mapping[type[Any], Any] | None = None,
    time: ManualTime | None = None,
) -> RunContext:
    registry = Registry.discover().with_types(Echo, *types)
    program = compile_program(doc if isinstance(doc, Document) else document(doc), registry)
    clock = time or ManualTime()
    facts = {
        "execution": {
            "id": "e-1",
            "startedAt": "2026-11-19T08:00:00.000Z",
            "workflow": "test",
            "version": None,
        },
        "workspace": {"id": None, "name": "local"},
        "trigger": {"type": "manual"},
    }
    return RunContext(
        execution_id=ExecutionId("e-1"),
        program=program,
        facts=facts,
        input={} if input is None else input,
        secrets=secrets or {},
        services=services or {},
        clock=clock,
        timers=clock,
        dice=Random(1),
        recorder=Notes(),
        check_input=lambda _document, value: (value, ()),
    )


def notes_of(run: RunContext) -> Notes:
    assert isinstance(run.recorder, Notes)
    return run.recorder


async def attempt(
    run: RunContext,
    path: str,
    number: int = 1,
    *,
    timeout: int | None = None,  # noqa: ASYNC109 - of the attempt
    limit: int | None = None,
) -> StepEnded:
    """One attempt of an action, in a task of its own."""
    command = StartNode(NodePath(path), number, Step.RUN, timeout, limit)

    async def lane() -> StepEnded:
        task = asyncio.current_task()
        assert task is not None
        return await execute_node(run, command, Attempt(task))

    return await asyncio.create_task(lane())


def step(run: RunContext, path: str, which: Step) -> StepEnded:
    return execute_step(run, StartNode(NodePath(path), 1, which))


async def complete(run: RunContext, path: str) -> StepEnded:
    """An attempt whose result others may read."""
    ended = await attempt(run, path)
    keep_answer(run, ended)
    return ended


def keep(run: RunContext, ended: StepEnded) -> StepEnded:
    keep_answer(run, ended)
    return ended
