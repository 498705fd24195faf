"""The values of what a retried run keeps, and what of them the coordinator has to know."""

from riven.core.coordinator import Coordinator
from riven.core.errors import ErrorClass
from riven.core.graph import SUCCESS
from riven.core.ids import NodePath
from riven.core.messages import NodeStatus, SettleNode, Step
from riven.driver.kept import Keeping
from riven.effects.context import RunContext
from riven.effects.history import Earlier, Taken
from riven.effects.settle import keep_answer, settle
from riven.wire.kept import Kept, KeptNode, KeptStep


class KeptValues:
    """Fits `Keeper`, of one run."""

    def __init__(self, run: RunContext, earlier: Earlier) -> None:
        self._run = run
        self._earlier = earlier

    def step(self, path: NodePath, step: Step) -> None:
        steps = self._earlier.checks if step is Step.CHECK else self._earlier.scopes
        ended = steps[path].ended
        if ended is not None:
            keep_answer(self._run, ended)

    def node(self, path: NodePath) -> None:
        left, values = self._earlier.nodes[path], self._run.values
        values.running(path, left.attempt)
        if left.status is NodeStatus.COMPLETED:
            values.completed(path, left.outcome or SUCCESS, left.output)
        else:
            values.errors[path] = left.error

    def settled(self, command: SettleNode, at: int) -> None:
        settle(self._run, command, at)


def keeping(coordinator: Coordinator, run: RunContext, earlier: Earlier) -> Keeping:
    return Keeping(coordinator, KeptValues(run, earlier), kept_of(earlier))


def kept_of(earlier: Earlier) -> Kept:
    return Kept(
        {
            path: KeptNode(
                left.status,
                left.seq,
                left.outcome,
                None if left.error is None else ErrorClass(left.error["type"]),
            )
            for path, left in earlier.nodes.items()
        },
        {path: _step(taken) for path, taken in earlier.scopes.items() if taken.ended is not None},
        {path: _step(taken) for path, taken in earlier.checks.items() if taken.ended is not None},
    )


def _step(taken: Taken) -> KeptStep:
    assert taken.ended is not None  # noqa: S101 - asked before
    return KeptStep(taken.seq, taken.ended.answer)
