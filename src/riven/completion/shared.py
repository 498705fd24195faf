"""What is durable of runs that several processes drive together, each doing some of their steps.

None of them holds a run: what one of them has not seen it reads, and what it writes is ordered by the database.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from uuid import UUID

from riven.completion.history import Since, load_controls, load_facts, load_since
from riven.completion.journal import Begin, ExecutionJournal
from riven.completion.store import PostgresRunStore
from riven.completion.undriven import end_undriven
from riven.core.errors import ErrorClass
from riven.core.ids import NodePath
from riven.core.messages import ExecutionStatus
from riven.db.identity import new_id
from riven.effects.history import Control, RunFacts
from riven.effects.recorder import Entry, ExecutionEnded
from riven.queue.recover import wake_waiting
from riven.wire.document import Json

_log = logging.getLogger("riven.engine")
_ASK_CANCEL = """
INSERT INTO signals (id, execution_id, kind, run, principal)
SELECT $1, id, 'CANCEL', run, 'temporal' FROM workflow_executions WHERE id = $2 AND run = $3 AND finished_at IS NULL
"""


class SharedRunStore(PostgresRunStore):
    async def facts(self, execution_id: UUID) -> RunFacts | None:
        """None: its row is gone."""
        return await self._read(lambda connection: load_facts(connection, execution_id))

    async def since(self, execution_id: UUID, run: int, after: int) -> Since:
        """What was recorded or taken in after a place in the journal."""
        return await self._read(lambda connection: load_since(connection, execution_id, run, after))

    async def controls(self, ids: Sequence[UUID]) -> Mapping[UUID, Control]:
        return await self._read(lambda connection: load_controls(connection, ids))

    def shared_journal(
        self,
        execution_id: UUID,
        run: int,
        token: int,
        *,
        frozen: Json,
        timeout_ms: int | None,
        about: Callable[[NodePath], tuple[str, str]],
        attempts: dict[NodePath, int],
        sources: dict[int, UUID],
        lost: Callable[[], None],
    ) -> ExecutionJournal:
        async def readmitted(refused: int) -> int | None:
            facts = await self.facts(execution_id)
            if facts is None or facts.run != run or facts.status is not ExecutionStatus.RUNNING:
                return None
            return facts.token if facts.token > refused else None

        return ExecutionJournal(
            self._recorder,
            execution_id,
            run,
            token,
            begin=Begin(frozen, timeout_ms),
            about=about,
            attempts=attempts,
            sources=sources,
            lost=lost,
            shared=True,
            readmitted=readmitted,
        )

    async def ask_cancel(self, execution_id: UUID, run: int) -> None:
        """Somebody has canceled the run by the engine's own means: as if he had asked for it here."""
        async with self._database.transaction() as connection:
            await connection.execute(_ASK_CANCEL, new_id(), execution_id, run)

    async def wake(self, execution_id: UUID) -> None:
        """The run waits, and has something to go on with."""
        async with self._database.transaction() as connection:
            workspaces = await wake_waiting(connection, [execution_id])
        self._freed(workspaces)

    async def end_resting(
        self, facts: RunFacts, status: ExecutionStatus, error_class: ErrorClass | None, message: str | None
    ) -> None:
        """End a run that waits, is paused or in line, which nothing drives."""
        async with self._database.transaction() as connection:
            ended = await end_undriven(connection, facts.execution_id, status, error_class, message)
        if ended:
            self._freed((facts.workspace_id,))
            self._changed((facts.execution_id,))

    async def end_undrivable(
        self, facts: RunFacts, frozen: Json, error_class: ErrorClass, message: str
    ) -> None:
        """A run that is RUNNING, and that nobody can drive, has failed. Raises LostRunError."""
        journal = self.shared_journal(
            facts.execution_id,
            facts.run,
            facts.token,
            frozen=None if facts.frozen else frozen,
            timeout_ms=None,
            about=lambda _: ("", ""),
            attempts={},
            sources={},
            lost=lambda: None,
        )
        error = {"node": None, "type": error_class.value, "message": message}
        end = ExecutionEnded(ExecutionStatus.FAILED, 0, error=error)
        await journal.write_together((), [Entry(1, (), (), (), end)])
        fields = {"executionId": str(facts.execution_id), "status": "FAILED", "error": error}
        _log.error("execution_finished", extra=fields)
