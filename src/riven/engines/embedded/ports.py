"""What the embedded engine needs from outside. In memory, or from completion, catalog and tenancy; main injects it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol
from uuid import UUID

from riven.core.ids import NodePath
from riven.core.messages import ExecutionStatus
from riven.effects.history import Control, History
from riven.effects.recorder import Entry, Recorder
from riven.wire.document import Document, Json


class Journal(Recorder, Protocol):
    async def write(self, entry: Entry) -> None:
        """Durable when this returns."""


class RunJournal(Journal, Protocol):
    @property
    def revision(self) -> int:
        """Of the latest change that was handed in."""

    async def close(self) -> None:
        """Nothing of it is under way afterwards."""


class ReadSecrets(Protocol):
    async def __call__(self, workspace_id: UUID, names: Collection[str], /) -> Mapping[str, str]:
        """The values of those among these names that the workspace has."""


class RunStore(Protocol):
    """What is durable of runs."""

    async def document(self, version_id: UUID) -> Document | None:
        """The document of a version; None if its row is gone."""

    async def history(self, execution_id: UUID, run: int, base_seq: int) -> History:
        """`base_seq`: where the journal of this run begins; what stands before it is of earlier runs."""

    async def unread(self, execution_id: UUID, run: int) -> Sequence[Control]:
        """What was asked of a run and is not taken in yet."""

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
    ) -> RunJournal:
        """The journal of one driver.

        `about`: a node's type, and its place in document order. `attempts`: the last one of each node, in this run.
        `revision`: of the latest change before. `frozen`: what this admission stores for all later ones; None if an earlier one has. `progressed`: given for a
        run whose last owner died; called when an outcome is recorded.
        """

    async def park(
        self,
        execution_id: UUID,
        run: int,
        token: int,
        *,
        status: ExecutionStatus,
        kind: str | None,
        due: int | None,
        revision: int,
        known: Collection[UUID],
    ) -> Sequence[Control] | None:
        """Give back the slot until `due`. Not done if something was asked that is not `known`: that is answered.

        Raises:
            LostRunError: somebody else drives it.
        """

    async def hand_back(self, execution_id: UUID, run: int, token: int) -> None:
        """In line again, slot kept; returns when that is so, or when somebody else drives it."""
