"""One run as its nodes see it: facts, values, tools, and the scopes that are open."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Protocol, TypeAlias

from riven.core.errors import Problem
from riven.core.ids import ROOT_PATH, ExecutionId, NodePath
from riven.effects.history import Earlier
from riven.effects.program import NodeProgram, Program, ScopeProgram
from riven.effects.recorder import Recorder
from riven.effects.redact import Redactor
from riven.effects.values import RunValues
from riven.nodes.contract import Clock
from riven.wire.document import Document, Json
from riven.wire.places import place_step

DEFAULT_NODE_TIMEOUT = 300_000

InputCheck: TypeAlias = Callable[[Document, Json], tuple[Json, Sequence[Problem]]]
"""Fills in the defaults of a document's input and lists what its schema refuses."""


class Timer(Protocol):
    def cancel(self) -> None:
        """Do not fire; nothing if it has fired."""


class Timers(Protocol):
    """One for all that waits in a process: thousands at once cost next to nothing."""

    def at(self, due: int, call: Callable[[], None]) -> Timer:
        """Call once, at or soon after `due` (milliseconds since the epoch), never before this returns."""


class Frame:
    """An open scope: its place, what its templates see, and the scope around it."""

    __slots__ = ("outer", "path", "place", "prefix", "program", "roots")

    def __init__(
        self,
        path: NodePath,
        place: str,
        program: ScopeProgram,
        roots: dict[str, Json],
        outer: "Frame | None",
    ) -> None:
        self.path = path
        self.place = place
        """Where its nodes stand in document order: see wire.places."""
        self.prefix = f"{path}." if path else ""
        self.program = program
        self.roots = roots
        """Everything but `steps` and `secrets`."""
        self.outer = outer
        """Whose steps can be read from here; None where a document begins."""


@dataclass(slots=True, kw_only=True)
class RunContext:
    """Lives as long as the run in this process; all its nodes share it."""

    execution_id: ExecutionId
    program: Program
    facts: Mapping[str, Json]
    """The roots `execution`, `workspace` and `trigger`, the same in all scopes."""
    input: Json
    secrets: Mapping[str, str]
    services: Mapping[type[Any], Any]
    clock: Clock
    timers: Timers
    dice: Random
    recorder: Recorder
    check_input: InputCheck
    node_timeout: int = DEFAULT_NODE_TIMEOUT
    """Milliseconds for an attempt whose type says nothing of its own."""
    values: RunValues = field(default_factory=RunValues)
    earlier: Earlier | None = None
    """What runs before this one have left."""
    redactor: Redactor = field(init=False)
    _frames: dict[NodePath, Frame] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.redactor = Redactor(self.secrets, self.program.secrets)
        roots = {**self.facts, "input": self.input, "vars": self.program.document.vars}
        self._frames[ROOT_PATH] = Frame(ROOT_PATH, "", self.program.root, roots, None)

    def locate(self, path: NodePath) -> tuple[Frame, NodeProgram]:
        """The scope in which a node stands, and the node."""
        scope, _, key = path.rpartition(".")
        frame = self.frame(NodePath(scope))
        return frame, frame.program.nodes[key]

    def number(self, path: NodePath, attempt: int) -> int:
        """The number under which an attempt is told of: those of earlier runs go before it."""
        return attempt if self.earlier is None else attempt + self.earlier.attempts.get(path, 0)

    def frame(self, path: NodePath) -> Frame:
        """An open scope by its path; one that is not known yet is made from what its container has left."""
        known = self._frames.get(path)
        if known is None:
            known = self._frames[path] = self._enter(path)
        return known

    def close(self, path: NodePath) -> None:
        """The scope has ended: its steps will not be asked for again."""
        frame = self._frames.pop(path, None)
        if frame is not None:
            for key in frame.program.nodes:
                self.values.steps.pop(NodePath(frame.prefix + key), None)

    def _enter(self, path: NodePath) -> Frame:
        container, index = split_scope(path)
        around, node = self.locate(container)
        body = node.body
        assert body is not None, f"{container} is no container"  # noqa: S101 - the graph says that it is
        place = around.place + node.place + place_step(index or 0)
        if index is None:
            assert body.document is not None, f"{container} calls nothing"  # noqa: S101 - see above
            roots = {**self.facts, "input": self.values.inputs[container], "vars": body.document.vars}
            return Frame(path, place, body, roots, None)
        if container in self.values.items:
            item = self.values.items[container][index]
            return Frame(path, place, body, {**around.roots, "item": item, "index": index}, around)
        iteration = self.iteration(container, index)
        return Frame(path, place, body, {**around.roots, "iteration": iteration}, around)

    def iteration(self, container: NodePath, index: int, previous: int | None = None) -> Json:
        """The root `iteration`; `previous` is the iteration whose output it shows, by default the one before."""
        before = index - 1 if previous is None else previous
        output = self.values.outputs.get(NodePath(f"{container}[{before}]"))
        return {"index": index, "previous": output}


def split_scope(path: NodePath) -> tuple[NodePath, int | None]:
    """The container of a scope and the index in it, None for a call's."""
    if not path.endswith("]"):
        return path, None
    container, _, index = path.rpartition("[")
    return NodePath(container), int(index[:-1])
