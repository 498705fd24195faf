"""Which runs have been asked something that they have not read."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from riven.db.engine import Connection, Row
from riven.db.statements import load

_UNREAD_ELSEWHERE = load("riven.queue", "unread_elsewhere")
_ALL_UNREAD_ELSEWHERE = load("riven.queue", "all_unread_elsewhere")
_LEFT_BEHIND = load("riven.queue", "left_behind")
_FORGET_LEFT = "UPDATE signals SET void = true WHERE id = ANY ($1::uuid[]) AND seq IS NULL"
_ASKED = """
SELECT DISTINCT g.execution_id
FROM signals g
JOIN workflow_executions e ON e.id = g.execution_id
WHERE g.execution_id = ANY ($1::uuid[]) AND g.seq IS NULL AND NOT g.void AND (g.run = e.run OR g.kind = 'SIGNAL')
"""


async def find_asked(connection: Connection, executions: Sequence[UUID]) -> list[UUID]:
    """Those among them; a signal that no node of a run has taken yet is found every time."""
    return [row["execution_id"] for row in await connection.fetch(_ASKED, list(executions))]


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of a run that an engine elsewhere drives; or of one that it may still have, though it is over."""

    execution_id: UUID
    run: int
    controls: Sequence[UUID]


async def find_unread_elsewhere(connection: Connection, executions: Sequence[UUID]) -> list[Asked]:
    """Of these. A signal that no node of a run has taken yet is found every time."""
    return _asked(await connection.fetch(_UNREAD_ELSEWHERE, list(executions)))


async def find_all_unread_elsewhere(connection: Connection, after: UUID, most: int) -> list[Asked]:
    """Of all runs, a slice in the order of their ids."""
    return _asked(await connection.fetch(_ALL_UNREAD_ELSEWHERE, after, most))


async def find_left_behind(connection: Connection, most: int) -> list[Asked]:
    """Runs that were ended by their rows, with the rows by which their engine is to hear of it."""
    return _asked(await connection.fetch(_LEFT_BEHIND, most))


async def forget_left_behind(connection: Connection, controls: Sequence[UUID]) -> None:
    """The engine has heard of it."""
    await connection.execute(_FORGET_LEFT, list(controls))


def _asked(rows: Sequence[Row]) -> list[Asked]:
    return [Asked(row["execution_id"], row["run"], row["controls"]) for row in rows]
