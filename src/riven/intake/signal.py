"""Signals and decisions on approvals: kept in their order, and delivered to whoever waits for them, now or later."""

from typing import Final

from riven.completion.undriven import HeldRun
from riven.db.engine import Connection, Row
from riven.documents.input import json_problems
from riven.intake.errors import ApprovalNotFoundError
from riven.intake.moves import Moved, ask, refuse_finished
from riven.nodes.decisions import Decision, decided, form_problems
from riven.queue.recover import wake_waiting
from riven.tenancy.errors import InvalidRequestError, WrongStateError, field_error
from riven.tenancy.principals import Principal
from riven.wire.document import Json

MAX_SIGNAL_NAME: Final = 255

_APPROVAL: Final = """
SELECT n.type, n.status, n.settled, n.expanded, round(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now,
       EXISTS (SELECT FROM signals s WHERE s.execution_id = n.execution_id AND s.path = n.path AND s.run = $3
                                       AND s.kind = 'APPROVAL' AND NOT s.void) AS decided
FROM workflow_execution_nodes n
WHERE n.execution_id = $1 AND n.path = $2
ORDER BY n.run DESC, n.attempt DESC
LIMIT 1
"""


async def signal_run(connection: Connection, held: HeldRun, actor: str, name: str, payload: Json) -> Moved:
    """For the node that waits for it longest; without one it is kept for the next that does."""
    refuse_finished(held, "nobody is left who could wait for a signal")
    await ask(connection, held, "SIGNAL", actor, name=name, payload=payload)
    return await _tell(connection, held)


async def decide_approval(
    connection: Connection,
    held: HeldRun,
    principal: Principal,
    path: str,
    decision: Decision,
    *,
    comment: str | None = None,
    data: Json = None,
) -> Moved:
    """Decide an approval that waits.

    Raises:
        ApprovalNotFoundError: no approval waits there.
        WrongStateError: it is decided already, or over.
        InvalidRequestError: the data of an approval, or of a rejection that has some, does not fit the form.
    """
    row = None if "\0" in path else await connection.fetch_row(_APPROVAL, held.execution_id, path, held.run)
    if row is None or row["type"] != "approval" or row["expanded"] is None:
        raise ApprovalNotFoundError(f"no approval waits at {path!r}; GET .../nodes shows those that do")
    _refuse_decided(held, path, row)
    if decision == "approved" or data is not None:
        problems = form_problems(row["expanded"]["output"]["with"].get("form"), data)
        if problems:
            raise InvalidRequestError(
                f"the data does not fit the form: {problems[0].path}: {problems[0].message}",
                problems=problems,
            )
    output = decided(decision, by=principal.name, at=row["now"], comment=comment, data=data).output
    await ask(connection, held, "APPROVAL", principal.actor, path=path, payload=output)
    return await _tell(connection, held)


def check_signal_name(name: str) -> None:
    if not 0 < len(name) <= MAX_SIGNAL_NAME or not name.strip() or not name.isprintable():
        said = f"a signal has a name of 1 to {MAX_SIGNAL_NAME} visible characters"
        raise field_error("name", "invalid_value", said)


def check_payload(root: str, value: Json) -> None:
    """Refuse what could not be kept, before it is told to a run. `root` is what the caller knows it by."""
    if problems := json_problems(value, root):
        raise InvalidRequestError(f"{problems[0].path}: {problems[0].message}", problems=problems)


def _refuse_decided(held: HeldRun, path: str, row: Row) -> None:
    ended = row["settled"]
    if row["decided"] or ended == "COMPLETED":
        raise WrongStateError(f"the approval {path!r} is decided already")
    refuse_finished(held, "the approval is over")
    if ended is not None or row["status"] != "WAITING":
        raise WrongStateError(
            f"the approval {path!r} is {ended or row['status']}: nobody can decide it any more"
        )


async def _tell(connection: Connection, held: HeldRun) -> Moved:
    if held.driven:
        return Moved(status=held.status, deliver=True)
    woken = await wake_waiting(connection, [held.execution_id])
    return Moved(status=held.status, startable=bool(woken))
