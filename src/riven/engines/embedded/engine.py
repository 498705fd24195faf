"""One run inside this process: coordinator, driver and performer put together, and the door for control from outside."""

import logging
from typing import get_args

from riven.core.coordinator import Coordinator
from riven.core.errors import Problem, RivenError
from riven.core.graph import Graph, RetryPolicy
from riven.core.ids import NodePath
from riven.core.messages import CancelRequested, ExecutionStarted, Finish, PauseRequested, ResumeRequested
from riven.driver.inbox import Inbox
from riven.driver.loop import drive
from riven.effects.context import RunContext
from riven.effects.plain import NotJsonError, copy_json
from riven.engines.embedded.lanes import Lanes
from riven.engines.embedded.mailbox import Message
from riven.engines.embedded.performer import EmbeddedPerformer
from riven.engines.embedded.ports import Journal
from riven.nodes.decisions import Decision, decided, form_problems
from riven.wire.document import Json

_log = logging.getLogger("riven.engine")


class ControlError(RivenError):
    """What was asked of a run cannot be done; nothing was changed."""


class UnknownApprovalError(ControlError):
    pass


class DecidedApprovalError(ControlError):
    pass


class InvalidDecisionError(ControlError):
    def __init__(self, problems: tuple[Problem, ...]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{problem.path}: {problem.message}" for problem in problems))


class EmbeddedRun:
    def __init__(self, context: RunContext, graph: Graph, lanes: Lanes, journal: Journal) -> None:
        self._context = context
        self._inbox = Inbox()
        self.coordinator = Coordinator(graph)
        self._performer = EmbeddedPerformer(context, self._inbox, lanes, journal)

    def begin(self, at: int, retry: RetryPolicy) -> None:
        """Once, before anything else. What is asked of the run from now on reaches it, in this order."""
        self._inbox.post(ExecutionStarted(at, retry))

    async def drive(self) -> Finish:
        """From the start to the end; afterwards, however it ends, nothing of it is left."""
        context = self._context
        fields = {"executionId": context.execution_id, "workflow": context.program.document.name}
        _log.info("execution_started", extra=fields)
        try:
            return await drive(self.coordinator, self._performer, self._inbox)
        finally:
            await self._performer.close()

    def cancel(self) -> None:
        self._performer.post(CancelRequested(self._context.clock.now()))

    def pause(self) -> None:
        """Start nothing new, fire no timer but the execution's own deadline; what runs goes on."""
        self._performer.post(PauseRequested(self._context.clock.now()))

    def resume(self) -> None:
        self._performer.post(ResumeRequested(self._context.clock.now()))

    def signal(self, name: str, payload: Json = None) -> None:
        """For the node that waits for it longest; without one it is kept.

        Raises:
            ControlError: the payload is no JSON.
        """
        now = self._context.clock.now()
        self._performer.signal(name, Message(self._plain(payload, "payload"), now))

    def approve(
        self,
        path: str,
        decision: Decision,
        *,
        comment: str | None = None,
        data: Json = None,
        by: str | None = None,
    ) -> None:
        """Decide an approval that waits.

        Raises:
            UnknownApprovalError: no approval waits there.
            DecidedApprovalError: somebody was faster.
            InvalidDecisionError: the data of an approval, or of a rejection that has some, does not fit the form.
        """
        values = self._context.values
        begun = values.begun.get(NodePath(path))
        if begun is None or begun.waiting.signal is not None or begun.waiting.output is None:
            raise UnknownApprovalError(f"no approval waits at {path!r}")
        if path in values.messages:
            raise DecidedApprovalError(f"the approval {path!r} is decided already")
        if decision not in get_args(Decision):
            allowed = " or ".join(get_args(Decision))
            raise InvalidDecisionError(
                (Problem(path="decision", code="invalid", message=f"write {allowed}"),)
            )
        data = self._plain(data, "data")
        if decision == "approved" or data is not None:
            problems = form_problems(begun.config.get("form"), data)
            if problems:
                raise InvalidDecisionError(problems)
        now = self._context.clock.now()
        result = decided(decision, by=by, at=now, comment=comment, data=data)
        message = Message(self._context.redactor.value(result.output), now)
        self._performer.decide(NodePath(path), message, decision)

    def _plain(self, value: Json, name: str) -> Json:
        try:
            return self._context.redactor.value(copy_json(value).value)
        except NotJsonError as error:
            raise ControlError(f"{name}: {error}") from None
