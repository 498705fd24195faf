"""Cancel: at once where nobody drives the run, otherwise by whoever does."""

from riven.completion.undriven import HeldRun, end_held
from riven.core.messages import ExecutionStatus
from riven.db.engine import Connection
from riven.intake.moves import Moved, ask, last_asked, refuse_finished


async def cancel_run(connection: Connection, held: HeldRun, principal: str) -> Moved:
    if held.status is ExecutionStatus.CANCELED:
        return Moved(status=held.status, already=True)
    refuse_finished(held, "there is nothing left to cancel")
    if held.driven:
        if await last_asked(connection, held, "CANCEL") is None:
            await ask(connection, held, "CANCEL", principal)
        return Moved(status=held.status, deliver=True)
    await ask(connection, held, "CANCEL", principal, acted=True)
    await end_held(connection, held, ExecutionStatus.CANCELED)
    return Moved(status=ExecutionStatus.CANCELED, startable=True, left_behind=True)
