"""Control calls. Each locks item and execution, only then looks, writes, and after the commit wakes who has to act.

If nobody drives the run, what is asked is done in the same transaction. Otherwise its owner delivers it: a row in
`signals` says what, a notification that there is something to read.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID

from riven.completion.undriven import HeldRun, hold_run
from riven.core.messages import ExecutionStatus
from riven.db.channels import CHANGES, CONTROL, notify_of
from riven.db.engine import Connection, Database
from riven.db.errors import DatabaseError
from riven.intake.cancel import cancel_run
from riven.intake.moves import Moved
from riven.intake.pause import pause_run, resume_run
from riven.intake.retry import retry_run
from riven.intake.signal import check_payload, check_signal_name, decide_approval, signal_run
from riven.nodes.decisions import Decision
from riven.telemetry.crashpoints import crash_point
from riven.tenancy.activity import Activity, record_activity
from riven.tenancy.errors import ForeignWorkspaceError
from riven.tenancy.policies import Scope
from riven.views.errors import ExecutionNotFoundError
from riven.wire.document import Json

_log: Final = logging.getLogger("riven.intake")


@dataclass(frozen=True, slots=True)
class Answer:
    execution_id: UUID
    status: ExecutionStatus
    already: bool
    """It was so before the call."""


@dataclass(frozen=True, slots=True)
class _Deed:
    """What the audit trail tells of a call that changed something."""

    action: str
    details: dict[str, Json] = field(default_factory=dict)


class Controls:
    """One for each process that takes control calls in."""

    def __init__(
        self,
        database: Database,
        announce: Callable[[Iterable[UUID]], None],
    ) -> None:
        """After the commit `announce` is told of workspaces in which something may be startable."""
        self._database = database
        self._announce = announce

    async def cancel(self, scope: Scope, execution_id: UUID) -> Answer:
        actor = scope.principal.actor
        deed = _Deed("execution.canceled")
        return await self._call(scope, execution_id, deed, lambda c, held: cancel_run(c, held, actor))

    async def pause(self, scope: Scope, execution_id: UUID) -> Answer:
        actor = scope.principal.actor
        deed = _Deed("execution.paused")
        return await self._call(scope, execution_id, deed, lambda c, held: pause_run(c, held, actor))

    async def resume(self, scope: Scope, execution_id: UUID) -> Answer:
        actor = scope.principal.actor
        deed = _Deed("execution.resumed")
        return await self._call(scope, execution_id, deed, lambda c, held: resume_run(c, held, actor))

    async def retry(self, scope: Scope, execution_id: UUID) -> Answer:
        return await self._call(scope, execution_id, _Deed("execution.retried"), retry_run)

    async def signal(self, scope: Scope, execution_id: UUID, name: str, payload: Json) -> Answer:
        """Raises InvalidRequestError for what is no name of a signal, and for a payload that cannot be kept."""
        check_signal_name(name)
        check_payload("payload", payload)
        actor = scope.principal.actor
        deed = _Deed("execution.signaled", {"name": name})
        return await self._call(
            scope, execution_id, deed, lambda c, held: signal_run(c, held, actor, name, payload)
        )

    async def decide(
        self,
        scope: Scope,
        execution_id: UUID,
        path: str,
        decision: Decision,
        *,
        comment: str | None = None,
        data: Json = None,
    ) -> Answer:
        check_payload("comment", comment)
        check_payload("data", data)
        deed = _Deed("execution.decided", {"path": path, "decision": decision})

        async def decide(connection: Connection, held: HeldRun) -> Moved:
            return await decide_approval(
                connection, held, scope.principal, path, decision, comment=comment, data=data
            )

        return await self._call(scope, execution_id, deed, decide)

    async def _call(
        self,
        scope: Scope,
        execution_id: UUID,
        deed: _Deed,
        move: Callable[[Connection, HeldRun], Awaitable[Moved]],
    ) -> Answer:
        """Raises ExecutionNotFoundError, ForeignWorkspaceError, and what the move raises: then nothing was changed."""
        async with self._database.transaction() as connection:
            held = await hold_run(connection, execution_id)
            if held is None:
                raise ExecutionNotFoundError(f"there is no execution {execution_id}")
            if held.workspace_id != scope.workspace_id:
                raise ForeignWorkspaceError("the execution belongs to another workspace")
            moved = await move(connection, held)
            if not moved.already:
                await record_activity(connection, _activity(scope, execution_id, deed))
            crash_point("during_control")
        crash_point("after_control")
        await self._tell(held, moved)
        return Answer(execution_id, moved.status, moved.already)

    async def _tell(self, held: HeldRun, moved: Moved) -> None:
        if moved.already:
            return
        if moved.startable:
            self._announce((held.workspace_id,))
        # whoever drives it reads what was written, whoever follows it sees what was changed
        channels = [CHANGES, CONTROL] if moved.left_behind else [CONTROL if moved.deliver else CHANGES]
        try:
            for channel in channels:
                await notify_of(self._database, channel, (held.execution_id,))
        except DatabaseError as error:  # it is written, and is looked for from time to time
            _log.warning("control_unannounced", extra={"error": str(error)})


def _activity(scope: Scope, execution_id: UUID, deed: _Deed) -> Activity:
    return Activity(
        workspace_id=scope.workspace_id,
        actor=scope.principal.actor,
        action=deed.action,
        subject=f"execution:{execution_id}",
        details=deed.details,
    )
