"""What is durable of runs, put together for the engine that drives them in this process.

A run outlives the absence of its database: what is asked of it here is asked until it answers.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from typing import TypeVar
from uuid import UUID

from riven.catalog.versions import load_document
from riven.completion.history import load_history, load_unread
from riven.completion.journal import Begin, ExecutionJournal
from riven.completion.outcomes import rest_run
from riven.completion.recorder import Recorder
from riven.core.ids import NodePath
from riven.core.messages import ExecutionStatus
from riven.db.engine import Connection, Database
from riven.db.errors import ConflictError, DatabaseUnavailableError
from riven.effects.history import Control, History
from riven.effects.recorder import LostRunError
from riven.queue.recover import hand_back_run
from riven.telemetry.crashpoints import crash_point
from riven.wire.document import Document, Json

AWAY_DELAY = 0.2
LONGEST_AWAY_DELAY = 2.0

_WORKSPACE = "SELECT workspace_id FROM workflow_executions WHERE id = $1"

_log = logging.getLogger("riven.completion")
ResultT = TypeVar("ResultT")


class PostgresRunStore:
    def __init__(
        self,
        database: Database,
        recorder: Recorder,
        freed: Callable[[Iterable[UUID]], None],
        changed: Callable[[Iterable[UUID]], None] = lambda _: None,
    ) -> None:
        """`freed` is told of workspaces in which a slot has become free, `changed` of executions that rest."""
        self._database = database
        self._recorder = recorder
        self._freed = freed
        self._changed = changed

    async def document(self, version_id: UUID) -> Document | None:
        return await self._read(lambda connection: load_document(connection, version_id))

    async def history(self, execution_id: UUID, run: int, base_seq: int) -> History:
        return await self._read(lambda connection: load_history(connection, execution_id, run, base_seq))

    async def unread(self, execution_id: UUID, run: int) -> Sequence[Control]:
        return await self._read(lambda connection: load_unread(connection, execution_id, run))

    def journal(
        self,
        execution_id: UUID,
        run: int,
        token: int,
        *,
        frozen: Json,
        timeout_ms: int | None,
        about: Callable[[NodePath], tuple[str, str]],
        attempts: dict[NodePath, int],
        revision: int,
        sources: dict[int, UUID],
        lost: Callable[[], None],
        progressed: Callable[[], None] | None,
    ) -> ExecutionJournal:
        return ExecutionJournal(
            self._recorder,
            execution_id,
            run,
            token,
            begin=Begin(frozen, timeout_ms, progressed),
            about=about,
            attempts=attempts,
            revision=revision,
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
        revision: int | None,
        known: Collection[UUID],
    ) -> Sequence[Control] | None:
        async def rest() -> tuple[Sequence[Control] | None, UUID]:
            crash_point("before_rest")
            async with self._database.transaction() as connection:
                return await rest_run(
                    connection, execution_id, run, token, status, kind, due, revision, known
                )

        delay, uncertain = AWAY_DELAY, False
        while True:
            try:
                asked, workspace_id = await rest()
            except (DatabaseUnavailableError, ConflictError) as error:
                uncertain = True  # it may have committed all the same
                delay = await _away(error, delay)
            except LostRunError:
                if uncertain:  # it rests already, perhaps, and then a slot is free
                    await self._free(execution_id)
                raise
            else:
                crash_point("after_rest")
                if asked is None:
                    self._freed((workspace_id,))
                    self._changed((execution_id,))
                return asked

    async def hand_back(self, execution_id: UUID, run: int, token: int) -> None:
        async def back() -> UUID | None:
            async with self._database.transaction() as connection:
                return await hand_back_run(connection, execution_id, run, token)

        workspace_id = await _until_it_answers(back)
        if workspace_id is not None:
            self._freed((workspace_id,))

    async def _free(self, execution_id: UUID) -> None:
        workspace_id = await self._read(lambda connection: connection.fetch_value(_WORKSPACE, execution_id))
        if workspace_id is not None:
            self._freed((workspace_id,))

    async def _read(self, ask: Callable[[Connection], Awaitable[ResultT]]) -> ResultT:
        async def read() -> ResultT:
            async with self._database.read() as connection:
                return await ask(connection)

        return await _until_it_answers(read)


async def _until_it_answers(ask: Callable[[], Awaitable[ResultT]]) -> ResultT:
    delay = AWAY_DELAY
    while True:
        try:
            return await ask()
        except (DatabaseUnavailableError, ConflictError) as error:
            delay = await _away(error, delay)


async def _away(error: Exception, delay: float) -> float:
    _log.warning("database_away", extra={"error": str(error)})
    await asyncio.sleep(delay)
    return min(delay * 2, LONGEST_AWAY_DELAY)
