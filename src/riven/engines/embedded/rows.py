"""The rows of one run: one for every node path, as a database would keep them, and the object that shows them."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from riven.core.graph import NodeKind
from riven.core.ids import ROOT_PATH, NodeKey, NodePath, node_path, scope_path
from riven.core.messages import NodeStatus, SkipReason
from riven.effects.program import NodeProgram, Program, ScopeProgram
from riven.wire.document import Json
from riven.wire.shown import show_attempt, show_node


@dataclass(slots=True)
class AttemptRow:
    attempt: int
    started_at: int
    status: NodeStatus = NodeStatus.RUNNING
    finished_at: int | None = None
    error: Json = None
    next_retry_at: int | None = None


@dataclass(slots=True)
class NodeRow:
    path: NodePath
    type: str
    name: str | None
    status: NodeStatus = NodeStatus.PENDING
    outcome: str | None = None
    attempts: list[AttemptRow] = field(default_factory=list)
    finished_at: int | None = None
    input: Json = None
    output: Json = None
    error: Json = None
    skip_reason: SkipReason | None = None
    items: int | None = None
    """How many a for_each has, once it knows."""

    @property
    def attempt(self) -> int:
        return self.attempts[-1].attempt if self.attempts else 0

    @property
    def started_at(self) -> int | None:
        return self.attempts[0].started_at if self.attempts else None


class Rows:
    """Rows appear when a node is first told of; the others of its scope are known from the program."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._rows: dict[NodePath, NodeRow] = {}
        self._programs: dict[NodePath, ScopeProgram] = {ROOT_PATH: program.root}
        self._indexes: dict[NodePath, int] = {}
        """How many scopes each container has opened."""

    def row(self, path: NodePath) -> NodeRow:
        known = self._rows.get(path)
        if known is None:
            scope, _, key = path.rpartition(".")
            node = self._scope(NodePath(scope)).nodes[key]
            known = self._rows[path] = NodeRow(path, node.type.type, node.name)
        return known

    def _scope(self, path: NodePath) -> ScopeProgram:
        known = self._programs.get(path)
        if known is None:
            container, bracket, index = path.rpartition("[") if path.endswith("]") else (path, "", "")
            scope, _, key = container.rpartition(".")
            body = self._scope(NodePath(scope)).nodes[key].body
            assert body is not None, f"{container} is no container"  # noqa: S101 - the graph says that it is
            known = self._programs[path] = body
            seen = self._indexes.get(NodePath(container), 0)
            self._indexes[NodePath(container)] = max(seen, int(index[:-1]) + 1 if bracket else 1)
        return known

    def in_order(self) -> Iterator[NodeRow]:
        """Every row, in document order, a container before its body, items and iterations by index."""
        return self._in_scope(ROOT_PATH, self._program.root)

    def _in_scope(self, scope: NodePath, program: ScopeProgram) -> Iterator[NodeRow]:
        for key, node in program.nodes.items():
            path = node_path(scope, NodeKey(key))
            yield self.row(path)
            if node.body is not None:
                yield from self._in_body(path, node, node.body)

    def _in_body(self, container: NodePath, node: NodeProgram, body: ScopeProgram) -> Iterator[NodeRow]:
        for index in range(self._indexes.get(container, 0)):
            scope = scope_path(container, None if node.type.kind is NodeKind.CALL else index)
            if scope in self._programs:
                yield from self._in_scope(scope, body)


def show_row(row: NodeRow) -> dict[str, Json]:
    """A node as `riven run --json` and the API show it."""
    return show_node(
        path=row.path,
        type=row.type,
        name=row.name,
        status=row.status.value,
        outcome=row.outcome,
        attempt=row.attempt,
        attempts=[
            show_attempt(
                each.attempt,
                each.status.value,
                each.started_at,
                each.finished_at,
                each.error,
                each.next_retry_at,
            )
            for each in row.attempts
        ],
        started_at=row.started_at,
        finished_at=row.finished_at,
        input=row.input,
        output=row.output,
        error=row.error,
        skip_reason=row.skip_reason and row.skip_reason.value,
    )
