"""A retried run goes on from what the runs before it completed.

The coordinator of the new run starts from the beginning and hears of every step that is kept as soon as it asks for it,
in the order of the old journal: nothing of it is performed, recorded or waited for. So the journal of the new run holds
only what is new, and a replay of it, the same coordinator asking the same questions, comes to the same point.

Kept is what completed, and each failure that changed nothing for the worse: one that was handled by an edge or by
`continueOnError`, or that a for_each collected, here or in a scope around. What failed otherwise, was canceled or
skipped is decided anew. A container that did not end goes on inside: a for_each over the items that it had.
"""

import heapq
import itertools
from collections.abc import Sequence
from typing import Any, Protocol

from riven.core.coordinator import Coordinator
from riven.core.errors import ErrorClass
from riven.core.graph import ALWAYS, DONE, FAILURE, SUCCESS, Graph, Node, NodeKind, OnItemFailure
from riven.core.ids import NodeKey, NodePath, TimerId
from riven.core.messages import (
    CancelNode,
    Command,
    Event,
    NodeCompleted,
    NodeFailed,
    NodeStatus,
    SettleNode,
    StartNode,
    StartTimer,
    Step,
    TimerFired,
)
from riven.wire.kept import Kept, KeptStep

_DELAY = "delay:"
_ENDED = frozenset({NodeStatus.FAILED, NodeStatus.CANCELED})


class Keeper(Protocol):
    """Who has the values of what is kept."""

    def step(self, path: NodePath, step: Step) -> None:
        """What this step has left is there again."""

    def node(self, path: NodePath) -> None:
        """What this node has left is there again."""

    def settled(self, command: SettleNode, at: int) -> None:
        """It stands as it stood before: nothing is to be recorded."""


class Keeping:
    """Stands before the coordinator of a run that is not the first, for the driver and for the replay alike."""

    def __init__(self, coordinator: Coordinator, keeper: Keeper, kept: Kept) -> None:
        self._coordinator = coordinator
        self._keeper = keeper
        self._kept = kept
        self._entered = _scopes_of(kept)
        self._begun: set[NodePath] = set()
        """What was asked of somebody else, in this run."""
        self._rounds: dict[NodePath, int] = {}
        """The last iteration that has ended, of each repeat."""
        # Of one call of `receive`:
        self._at = 0
        self._out: list[Command] = []
        self._asked: list[tuple[int, int, StartNode]] = []
        """Steps whose answers are known, by their old place in the journal."""
        self._numbers = itertools.count()
        self._timers: list[TimerId] = []
        """Delays that are over."""
        self._gone: list[NodePath] = []
        """What was asked for and taken back at once."""

    def receive(self, event: Event) -> Sequence[Command]:
        self._at, self._out = event.at, []
        self._take(self._coordinator.receive(event))
        while self._asked or self._timers or self._gone:
            if self._gone:
                path = self._gone.pop(0)
                canceled = NodeFailed(path, self._at, ErrorClass.EXECUTION_ERROR, canceled=True)
                self._take(self._coordinator.receive(canceled))
            elif self._timers:
                self._take(self._coordinator.receive(TimerFired(self._timers.pop(), self._at)))
            else:
                self._answer(heapq.heappop(self._asked)[2])
        return self._out

    def _take(self, commands: Sequence[Command]) -> None:
        for command in commands:
            match command:
                case StartNode():
                    seq = self._known(command)
                    if seq is None:
                        self._begun.add(command.path)
                        self._out.append(command)
                    else:
                        heapq.heappush(self._asked, (seq, next(self._numbers), command))
                case CancelNode():
                    self._cancel(command)
                case SettleNode() if self._as_before(command):
                    self._keeper.settled(command, self._at)
                case SettleNode():
                    self._count_round(command)
                    self._out.append(command)
                case StartTimer() if command.timer.startswith(_DELAY) and self._went_on(command.timer):
                    self._timers.append(command.timer)
                case _:
                    self._out.append(command)

    # ---- what is known -----------------------------------------------------------------------------------------------

    def _known(self, command: StartNode) -> int | None:
        """The old place of the answer to this step; None: it is to be done."""
        taken = self._of_scope(command)
        if taken is not None:
            return taken.seq
        left = self._kept.nodes.get(command.path)
        if left is None or command.step is Step.OUTPUT or command.attempt > 1:
            return None
        if left.status is NodeStatus.COMPLETED:
            return left.seq
        if left.status is NodeStatus.FAILED and left.error_class is not None and self._absorbed(command.path):
            return left.seq
        return None

    def _of_scope(self, command: StartNode) -> KeptStep | None:
        """The output of an item or an iteration, or what was decided on going on."""
        if command.step is Step.CHECK:
            taken = self._kept.checks.get(command.path)
        elif command.step is Step.OUTPUT and command.path.endswith("]"):
            taken = self._kept.scopes.get(command.path)
        else:
            return None
        if taken is None or isinstance(taken.answer, NodeCompleted):
            return taken
        return taken if self._absorbed(command.path) else None

    def _absorbed(self, path: NodePath) -> bool:
        """Whether a failure there, of a node or of a scope, failed nothing but what stands up to where it was handled."""
        levels = list(_levels(self._coordinator.graph, path))
        is_scope = path.endswith("]")
        for graph, node in reversed(levels):
            if is_scope and node.kind is NodeKind.FOR_EACH and node.on_item_failure is OnItemFailure.COLLECT:
                return True
            if _handles(graph, node):
                return True
            is_scope = True
        return False

    def _went_on(self, timer: TimerId) -> bool:
        """Whether an earlier run has begun the iteration before which this delay stands."""
        container = NodePath(timer.removeprefix(_DELAY))
        following = NodePath(f"{container}[{self._rounds.get(container, -1) + 1}]")
        return following in self._entered

    def _count_round(self, command: SettleNode) -> None:
        if command.path.endswith("]"):
            container, _, index = command.path.rpartition("[")
            self._rounds[NodePath(container)] = int(index[:-1])

    def _as_before(self, command: SettleNode) -> bool:
        """Whether this tells of a node what its rows say already."""
        left = self._kept.nodes.get(command.path)
        return (
            left is not None
            and command.path not in self._begun
            and command.status is left.status
            and command.status in _ENDED
        )

    # ---- what the coordinator hears ----------------------------------------------------------------------------------

    def _answer(self, command: StartNode) -> None:
        step = self._of_scope(command)
        if step is not None:
            self._keeper.step(command.path, command.step)
            self._take(self._coordinator.receive(_now(step.answer, self._at)))
            return
        path, left = command.path, self._kept.nodes[command.path]
        self._keeper.node(path)
        answer: NodeCompleted | NodeFailed
        if left.status is NodeStatus.COMPLETED:
            outcome = left.outcome or SUCCESS
            answer = NodeCompleted(path, self._at, outcome, whole=command.step is Step.EXPAND)
            commands = self._coordinator.receive(answer)
            # all of it is known: no more is said of it
            self._take(
                [each for each in commands if not (isinstance(each, SettleNode) and each.path == path)]
            )
        else:
            error_class = left.error_class or ErrorClass.EXECUTION_ERROR
            self._take(self._coordinator.receive(NodeFailed(path, self._at, error_class)))

    # ---- snapshot ----------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, Any]:
        """JSON from which `restore` makes this again, beside the coordinator's own."""
        return {"begun": sorted(self._begun), "rounds": dict(self._rounds)}

    def restore(self, snapshot: dict[str, Any]) -> None:
        self._begun.update(snapshot["begun"])
        self._rounds.update(snapshot["rounds"])

    def _cancel(self, command: CancelNode) -> None:
        path = command.path
        if any(asked.path == path for _, _, asked in self._asked):
            return  # it was answered in spite of it
        for index, each in enumerate(self._out):
            if isinstance(each, StartNode) and each.path == path:
                del self._out[index]
                self._begun.discard(path)
                self._gone.append(path)
                return
        self._out.append(command)


def _now(answer: NodeCompleted | NodeFailed, at: int) -> NodeCompleted | NodeFailed:
    if isinstance(answer, NodeCompleted):
        return NodeCompleted(answer.path, at, answer.outcome)
    return NodeFailed(answer.path, at, answer.error_class)


def _levels(graph: Graph, path: NodePath) -> "Sequence[tuple[Graph, Node]]":
    """The nodes on the way to a path, outermost first, each with the graph that it stands in."""
    found: list[tuple[Graph, Node]] = []
    inner: Graph | None = graph
    for part in path.split("."):
        if inner is None:
            break
        key = NodeKey(part.partition("[")[0])
        node = next((node for node in inner.nodes if node.key == key), None)
        if node is None:
            break
        found.append((inner, node))
        inner = node.body
    return found


def _handles(graph: Graph, node: Node) -> bool:
    return node.continue_on_error or any(
        edge.source == node.key and edge.outcome in (FAILURE, DONE, ALWAYS) for edge in graph.edges
    )


def _scopes_of(kept: Kept) -> frozenset[NodePath]:
    """Items and iterations in which anything ever happened."""
    found = {*kept.scopes, *kept.checks}
    for path in kept.nodes:
        end = path.find("]")
        while end >= 0:
            found.add(NodePath(path[: end + 1]))
            end = path.find("]", end + 1)
    return frozenset(found)
