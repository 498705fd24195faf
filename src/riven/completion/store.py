"""What is durable of runs, put together for the engine that drives them in this process."""

from collections.abc import Callable, Collection, Iterable, Sequence
from uuid import UUID

from riven.catalog.versions import load_document
from riven.completion.history import load_history, load_unread
from riven.completion.journal import Begin, ExecutionJournal
from riven.completion.outcomes import rest_run
from riven.completion.recorder import Recorder
from riven.core.ids import NodePath
from riven.core.messages import ExecutionStatus
from riven.db.engine import Database
from riven.effects.history import Control, History
from riven.wire.document import Document, Json


class PostgresRunStore:
    def __init__(
        self, database: Database, recorder: Recorder, freed: Callable[[Iterable[UUID]], None]
    ) -> None:
        """`freed` is told of workspaces in which a slot has become free."""
        self._database = database
        self._recorder = recorder
        self._freed = freed

    async def document(self, version_id: UUID) -> Document | None:
        async with self._database.read() as connection:
            return await load_document(connection, version_id)

    async def history(self, execution_id: UUID, run: int) -> History:
        async with self._database.read() as connection:
            return await load_history(connection, execution_id, run)

    async def unread(self, execution_id: UUID, run: int) -> Sequence[Control]:
        async with self._database.read() as connection:
            return await load_unread(connection, execution_id, run)

    def journal(
        self,
        execution_id: UUID,
        run: int,
        token: int,
        *,
        frozen: Json,
        timeout_ms: int | None,
        type_of: Callable[[NodePath], str],
        attempts: dict[NodePath, int],
        sources: dict[int, UUID],
        lost: Callable[[], None],
    ) -> ExecutionJournal:
        return ExecutionJournal(
            self._recorder,
            execution_id,
            run,
            token,
            begin=Begin(frozen, timeout_ms),
            type_of=type_of,
            attempts=attempts,
            sources=sources,
            lost=lost,
        )

    async def park(
        self,
        execution_id: UUID,
        run: int,
        token: int,
        *,
        status: ExecutionStatus,
        kind: str | None,
        due: int | None,
        known: Collection[UUID],
    ) -> Sequence[Control] | None:
        async with self._database.transaction() as connection:
            asked, workspace_id = await rest_run(
                connection, execution_id, run, token, status, kind, due, known
            )
        if asked is None:
            self._freed((workspace_id,))
        return asked
