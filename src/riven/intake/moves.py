"""What a control call comes to: rows it writes besides, and what has to be told after the commit."""

from dataclasses import dataclass
from typing import Final

from riven.completion.undriven import HeldRun
from riven.core.messages import ExecutionStatus
from riven.db.engine import Connection
from riven.db.identity import new_id
from riven.db.statements import load
from riven.tenancy.errors import WrongStateError
from riven.wire.document import Json

_ASK: Final = load("riven.intake", "ask")
_LAST_ASKED: Final = """
SELECT kind FROM signals
WHERE execution_id = $1 AND run = $2 AND kind = ANY ($3::text[]) AND NOT void
ORDER BY created_at DESC, id DESC LIMIT 1
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    status: ExecutionStatus
    """Of the execution after the call."""
    already: bool = False
    """It was so before: nothing was changed."""
    startable: bool = False
    """Its item may be due now, or a slot of its workspace may be free."""
    deliver: bool = False
    """Whoever drives it has something to read."""
    left_behind: bool = False
    """It was ended by its rows: an engine elsewhere that has it still is to hear of that."""


async def ask(
    connection: Connection,
    held: HeldRun,
    kind: str,
    principal: str,
    *,
    name: str | None = None,
    path: str | None = None,
    payload: Json = None,
    acted: bool = False,
) -> None:
    """Write a control event for whoever drives the run, now or later. `acted`: it was done already, nobody reads it."""
    await connection.execute(
        _ASK, new_id(), held.execution_id, kind, name, path, payload, held.run, acted, principal
    )


async def last_asked(connection: Connection, held: HeldRun, *kinds: str) -> str | None:
    """Which of these was asked last of this run, whether it was read yet or not."""
    kind: str | None = await connection.fetch_value(_LAST_ASKED, held.execution_id, held.run, list(kinds))
    return kind


def refuse_finished(held: HeldRun, what: str) -> None:
    """Raises WrongStateError for a run that is over."""
    if held.finished:
        raise WrongStateError(f"the execution is {held.status}: {what}")
