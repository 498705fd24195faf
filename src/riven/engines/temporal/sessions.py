"""The runs of which a worker knows something: made when an activity asks for them, kept for the next ones."""

import asyncio
from collections import OrderedDict
from collections.abc import Collection, Mapping
from typing import TypeAlias
from uuid import UUID

from riven.core.errors import ErrorClass, InvalidDocumentError, RivenError
from riven.core.messages import ExecutionStatus
from riven.effects.history import History, RunFacts
from riven.effects.recorder import LostRunError
from riven.engines.preparing import Preparing, all_problems
from riven.engines.temporal.ports import ReadSecrets
from riven.engines.temporal.session import Session, Tools, before
from riven.nodes.registry import Registry
from riven.wire.document import Json

MOST = 2_000
"""Runs whose values are kept at a time; those of others are read again when they are asked for."""

_Key: TypeAlias = tuple[UUID, int, str]

FINISHED = frozenset({ExecutionStatus.COMPLETED, ExecutionStatus.FAILED, ExecutionStatus.CANCELED})


class UndrivableError(RivenError):
    """The run cannot be driven: its version is gone, or damaged, or of a type that this worker lacks, or we fail at it."""

    def __init__(self, error_class: ErrorClass, message: str) -> None:
        self.error_class = error_class
        super().__init__(message)


async def no_secrets(workspace_id: UUID, names: Collection[str]) -> Mapping[str, str]:
    """An installation that keeps none."""
    del workspace_id, names
    return {}


class Sessions:
    def __init__(self, tools: Tools, registry: Registry, secrets: ReadSecrets) -> None:
        self._tools = tools
        self._secrets = secrets
        self._preparing = Preparing(registry, tools.store.document)
        self._sessions: OrderedDict[_Key, Session] = OrderedDict()
        self._opening: dict[_Key, asyncio.Future[Session]] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    async def begin(self, facts: RunFacts, history_id: str, frozen: Json) -> Session:
        """The session of a workflow that begins, or goes on in a new history: from the journal, whatever was known.

        Raises UndrivableError.
        """
        key = (facts.execution_id, facts.run, history_id)
        for known in [each for each in self._sessions if each[:2] == key[:2]]:
            await self._sessions.pop(known).close()
        new = facts.frozen is None and facts.base_seq == 0  # nothing of it was ever recorded
        return self._keep(key, await self._open(facts, frozen, new=new))

    async def get(
        self, execution_id: UUID, run: int, history_id: str, seq: int, frozen: Json = None
    ) -> Session:
        """The session of a run that is under way. Raises LostRunError, UndrivableError.

        `seq`: what stands before this place of the journal is there to stay; made anew, the session is at this place.
        """
        key = (execution_id, run, history_id)
        known = self._sessions.get(key)
        if known is not None:
            self._sessions.move_to_end(key)
            return known
        opening = self._opening.get(key)
        if opening is None:
            opening = self._opening[key] = asyncio.ensure_future(self._find(key, seq, frozen))
            opening.add_done_callback(lambda _: self._opening.pop(key, None))
        return await asyncio.shield(opening)

    async def forget(self, session: Session, history_id: str) -> None:
        facts = session.facts
        self._sessions.pop((facts.execution_id, facts.run, history_id), None)
        await session.close()

    async def close(self) -> None:
        for session in list(self._sessions.values()):
            await session.close()
        self._sessions.clear()

    async def _find(self, key: _Key, seq: int, frozen: Json) -> Session:
        execution_id, run, _ = key
        facts = await self._tools.store.facts(execution_id)
        if facts is None or facts.run != run or facts.status in FINISHED:
            raise LostRunError(f"execution {execution_id} is over, or is at another run")
        return self._keep(key, await self._open(facts, frozen, seq=seq))

    async def _open(
        self, facts: RunFacts, frozen: Json, *, new: bool = False, seq: int | None = None
    ) -> Session:
        try:
            prepared = await self._preparing.prepare(facts.version_id)
        except InvalidDocumentError as error:
            raise UndrivableError(ErrorClass.VALIDATION_ERROR, all_problems(error)) from error
        if prepared is None:
            raise UndrivableError(ErrorClass.DISPATCH_FAILED, "the version of the workflow is gone")
        history = History((), {}, ())
        if not new:
            history = await self._tools.store.history(facts.execution_id, facts.run, facts.base_seq)
        if seq is not None:
            history = before(history, seq)
        names = prepared.program.secrets
        secrets = await self._secrets(facts.workspace_id, names) if names else {}
        try:
            return Session(self._tools, facts, prepared, history, secrets, facts.frozen or frozen)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            raise UndrivableError(ErrorClass.INTERNAL_ERROR, text) from error

    def _keep(self, key: _Key, session: Session) -> Session:
        self._sessions[key] = session
        while len(self._sessions) > MOST:
            self._sessions.popitem(last=False)  # who still works with it does so to the end
        return session
