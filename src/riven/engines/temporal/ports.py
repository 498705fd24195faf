"""What the Temporal engine needs from outside: completion, catalog and tenancy fit it, main injects it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from riven.core.errors import ErrorClass
from riven.core.ids import NodePath
from riven.core.messages import ExecutionStatus
from riven.effects.history import Control, History, RunFacts, Taken
from riven.effects.recorder import Entry, Recorder, StepEnded
from riven.wire.document import Document, Json


class Since(Protocol):
    @property
    def taken(self) -> Sequence[Taken]: ...
    @property
    def loose(self) -> Sequence[StepEnded]: ...
    @property
    def attempts(self) -> Mapping[NodePath, int]: ...


class SharedJournal(Recorder, Protocol):
    def admitted(self, token: int) -> None: ...

    def known(self, path: NodePath, attempt: int) -> None: ...

    def placeless(self, ended: StepEnded) -> None: ...

    async def write_together(self, performed: Sequence[StepEnded], entries: Sequence[Entry]) -> None:
        """Durable when this returns."""

    async def close(self) -> None: ...


class ReadSecrets(Protocol):
    async def __call__(self, workspace_id: UUID, names: Collection[str], /) -> Mapping[str, str]:
        """The values of those among these names that the workspace has."""


class SharedStore(Protocol):
    """What is durable of runs that several processes drive together."""

    async def document(self, version_id: UUID) -> Document | None:
        """The document of a version; None if its row is gone."""

    async def facts(self, execution_id: UUID) -> RunFacts | None:
        """None: its row is gone."""

    async def history(self, execution_id: UUID, run: int, base_seq: int) -> History: ...

    async def since(self, execution_id: UUID, run: int, after: int) -> Since: ...

    async def unread(self, execution_id: UUID, run: int) -> Sequence[Control]: ...

    async def controls(self, ids: Sequence[UUID]) -> Mapping[UUID, Control]: ...

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
    ) -> SharedJournal: ...

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
        """Give back the slot until `due`. Not done if something was asked that is not `known`: that is answered.

        Raises LostRunError.
        """

    async def ask_cancel(self, execution_id: UUID, run: int) -> None: ...

    async def wake(self, execution_id: UUID) -> None: ...

    async def end_resting(
        self, facts: RunFacts, status: ExecutionStatus, error_class: ErrorClass | None, message: str | None
    ) -> None: ...

    async def end_undrivable(
        self, facts: RunFacts, frozen: Json, error_class: ErrorClass, message: str
    ) -> None:
        """A run that is RUNNING, and that nobody can drive, has failed. Raises LostRunError."""
