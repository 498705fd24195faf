"""Start an execution in a transaction of your own, next to your own rows: both happen, or neither.

    from riven.intake.enqueue import enqueue

    async with engine.begin() as connection:                  # SQLAlchemy on asyncpg, or a connection of asyncpg
        await connection.execute(orders.insert().values(id=order_id))
        started = await enqueue(connection, workspace_id=workspace, workflow="refund", input={"orderId": order_id})

For programs that share riven's database. Whoever has such a connection may do anything, so nobody is asked for a key;
everything else is checked as over HTTP. The dispatchers are woken by the commit.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from riven.db.adopt import adopt
from riven.intake.accept import Acceptor, accept_execution
from riven.intake.idempotency import make_key
from riven.intake.wish import Accepted, NewExecution
from riven.queue.wake import notify_within
from riven.tenancy.policies import Scope
from riven.tenancy.principals import Principal, Role
from riven.wire.document import Json

_REMEMBERED: Final = Acceptor()
"""Schemas of versions, by their ids, and counts: whichever connection they were read on."""


async def enqueue(
    connection: object,
    *,
    workspace_id: UUID | str,
    workflow: UUID | str,
    input: Mapping[str, Json] | None = None,
    version: int | None = None,
    priority: int = 0,
    scheduled_for: datetime | None = None,
    correlation_id: str | None = None,
    labels: Mapping[str, str] | None = None,
    idempotency_key: str | None = None,
    actor: str = "enqueue",
) -> Accepted:
    """`workflow`: its name, or its id as a UUID. `actor`: who the audit trail says it was.

    With an `idempotency_key`, the same call again answers with the first execution, as the header does over HTTP. It
    waits for another transaction that is just using the key.

    Raises:
        RefusedError: as HTTP would answer 403, 404, 409, 422 or 429. Nothing was written, and the transaction goes on.
        NotInTransactionError: begin one first.
    """
    adopted = await adopt(connection)
    workspace = UUID(str(workspace_id))
    principal = Principal(kind="library", id=actor, name=actor, workspace_id=workspace, role=Role.OPERATOR)
    new = NewExecution(
        workflow_id=workflow if isinstance(workflow, UUID) else None,
        workflow_name=None if isinstance(workflow, UUID) else workflow,
        version=version,
        input=dict(input or {}),
        priority=priority,
        scheduled_for=scheduled_for,
        correlation_id=correlation_id,
        labels=labels or {},
    )
    key = None if idempotency_key is None else make_key(workspace, idempotency_key, "enqueue", _request(new))
    accepted = await accept_execution(
        adopted, Scope(workspace, principal), new, key=key, acceptor=_REMEMBERED
    )
    await notify_within(adopted, [workspace])
    return accepted


def _request(new: NewExecution) -> Json:
    return {
        "workflow": str(new.workflow_id or new.workflow_name),
        "version": new.version,
        "input": new.input,
        "priority": new.priority,
        "scheduledFor": None if new.scheduled_for is None else new.scheduled_for.isoformat(),
        "correlationId": new.correlation_id,
        "labels": dict(new.labels),
    }
