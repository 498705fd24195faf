"""An attempt in line or under way: answered exactly once, whatever happens to it."""

import asyncio
import logging
from collections.abc import Callable
from time import perf_counter

from riven.core.errors import ErrorClass
from riven.core.graph import SKIPPED
from riven.core.ids import NodePath
from riven.core.messages import NodeFailed, StartNode
from riven.effects.attempt import Attempt, Ending
from riven.effects.context import RunContext, Timer
from riven.effects.execute import ended_by, execute_node
from riven.effects.recorder import StepEnded
from riven.nodes.fair_line import CALLER
from riven.telemetry.metrics import NODE_ATTEMPTS, NODE_SECONDS

_log = logging.getLogger("riven.engine")

GRACE = 5_000
"""Milliseconds that an attempt has to end once it was asked to; then it is left to itself."""


class AttemptJob:
    __slots__ = (
        "_attempt",
        "_begun",
        "_give_up",
        "_grace",
        "_over",
        "_run",
        "_tell",
        "abandoned",
        "caller",
        "command",
    )

    def __init__(
        self,
        run: RunContext,
        command: StartNode,
        tell: Callable[[NodePath, StepEnded | None], None],
        give_up: "Callable[[AttemptJob], None]",
    ) -> None:
        """`tell` is called once, with None if its task was ended from outside, with everything else.

        `give_up` is told of an attempt that was answered for, as it does not end though it was asked to.
        """
        self.command = command
        self.abandoned = False
        self.caller = run.facts["workspace"]["id"]
        self._run = run
        self._give_up = give_up
        self._tell = tell
        self._attempt: Attempt | None = None
        self._grace: Timer | None = None
        self._begun = 0.0
        self._over = False

    async def perform(self) -> None:
        if self._over:
            return
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - whoever performs it is a task
        self._attempt = Attempt(task, self._begin_grace)
        self._begun = perf_counter()
        CALLER.set(self.caller)
        ended: StepEnded | None = None
        try:
            ended = await execute_node(self._run, self.command, self._attempt)
        except Exception as error:  # noqa: BLE001 - a bug of ours: the node still has its answer
            _log.exception("execute_broke", extra=self._ids())
            ended = self._broken(error)
        finally:
            self._finish(ended)

    def cancel(self) -> None:
        """Ask it to end; one that has not begun ends at once."""
        if self._over:
            return
        if self._attempt is None:
            self._finish(ended_by(self._run, self.command, Ending.CANCEL))
        else:
            self._attempt.end(Ending.CANCEL)

    def _begin_grace(self) -> None:
        self._grace = self._run.timers.at(self._run.clock.now() + GRACE, self._abandon)

    def _abandon(self) -> None:
        """It was asked to end and does not: answer for it, and let it be."""
        if self._over or self._attempt is None or self._attempt.ending is None:
            return
        _log.warning("attempt_abandoned", extra=self._ids())
        self._finish(ended_by(self._run, self.command, self._attempt.ending))
        self._give_up(self)

    def _finish(self, ended: StepEnded | None) -> None:
        if self._over:
            return
        self._over = True
        if self._grace is not None:
            self._grace.cancel()
        if ended is not None and self._attempt is not None:
            self._count(ended)
        self._tell(self.command.path, ended)

    def _count(self, ended: StepEnded) -> None:
        answer = ended.answer
        try:
            node = self._run.locate(self.command.path)[1].type.type
        except KeyError:  # a graph that is not its document's: the attempt has failed by it
            return
        if isinstance(answer, NodeFailed):
            status = "CANCELED" if answer.canceled else "FAILED"
        else:
            status = "SKIPPED" if answer.outcome == SKIPPED else "COMPLETED"
        NODE_ATTEMPTS.add(node, status)
        NODE_SECONDS.observe(perf_counter() - self._begun, node)

    def _broken(self, error: Exception) -> StepEnded:
        answer = NodeFailed(self.command.path, self._run.clock.now(), ErrorClass.EXECUTION_ERROR)
        message = f"the attempt broke by {type(error).__name__}, which is a bug of riven"
        failure = {"type": ErrorClass.EXECUTION_ERROR.value, "message": message}
        return StepEnded(
            answer,
            self.command.step,
            self._run.number(self.command.path, self.command.attempt),
            error=failure,
        )

    def _ids(self) -> dict[str, str]:
        return {"executionId": self._run.execution_id, "nodePath": self.command.path}
