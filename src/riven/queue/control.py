"""Which runs have been asked something that they have not read."""

from collections.abc import Sequence
from uuid import UUID

from riven.db.engine import Connection

_ASKED = """
SELECT DISTINCT execution_id FROM signals
WHERE execution_id = ANY ($1::uuid[]) AND seq IS NULL AND NOT void
"""


async def find_asked(connection: Connection, executions: Sequence[UUID]) -> list[UUID]:
    """Those among them; a signal that no node of a run has taken yet is found every time."""
    return [row["execution_id"] for row in await connection.fetch(_ASKED, list(executions))]
