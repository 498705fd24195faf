"""A start as somebody wishes it, checked as far as that needs no database."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final
from uuid import UUID

from riven.core.errors import Problem
from riven.intake.idempotency import IdempotencyKey
from riven.tenancy.policies import Scope
from riven.wire.document import Json

MAX_BATCH: Final = 1_000
MAX_LABELS: Final = 32
MAX_LABEL: Final = 256
MAX_LABEL_VALUE: Final = 1_024
MAX_CORRELATION_ID: Final = 512
"""Characters; an index entry has room for no more than some 2,700 bytes."""
PRIORITIES: Final = range(-100, 101)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewExecution:
    """The workflow by its id or its name, and what to run it with."""

    workflow_id: UUID | None = None
    workflow_name: str | None = None
    version: int | None = None
    """None: the latest."""
    input: Json = field(default_factory=dict)
    priority: int = 0
    scheduled_for: datetime | None = None
    """None, or past: at once."""
    correlation_id: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    trigger: Json = None
    rerun_of: UUID | None = None
    rerun_from: str | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """An execution that is durable and in line."""

    execution_id: UUID
    queue_id: UUID
    repeated: bool = field(default=False, compare=False)
    """It was accepted before, by the first request with the same key."""


@dataclass(slots=True, kw_only=True, eq=False)
class Wish:
    """What one request asks for: all of it, or nothing."""

    starts: Sequence[tuple[Scope, NewExecution]]
    key: IdempotencyKey | None = None
    batch: bool = False
    """Paths of problems say which of the starts they are about."""
    size: int = 0
    """Bytes of the request; what is large is not checked in the event loop."""

    def prefix(self, index: int) -> str:
        return f"executions[{index}]." if self.batch else ""


def field_problems(new: NewExecution) -> Iterator[Problem]:
    """What is wrong with anything but the workflow and the input."""
    if (new.workflow_id is None) == (new.workflow_name is None):
        said = "name the workflow by one of workflowDefinitionId and workflowName"
        yield Problem(
            path="workflowName",
            code="missing_field" if new.workflow_id is None else "invalid_value",
            message=said,
        )
    if new.version is not None and new.version < 1:
        yield Problem(path="version", code="invalid_value", message="versions count from 1")
    if new.priority not in PRIORITIES:
        yield Problem(
            path="priority", code="invalid_value", message="a priority is a whole number from -100 to 100"
        )
    if new.scheduled_for is not None and not _is_moment(new.scheduled_for):
        said = "the time needs its offset, and must lie between the years 1 and 9999"
        yield Problem(path="scheduledFor", code="invalid_value", message=said)
    if new.correlation_id is not None:
        yield from _text_problems("correlationId", new.correlation_id, MAX_CORRELATION_ID)
    if new.labels:
        yield from _label_problems(new.labels)


def _label_problems(labels: Mapping[str, object]) -> Iterator[Problem]:
    if len(labels) > MAX_LABELS:
        yield Problem(
            path="labels", code="invalid_value", message=f"there may be at most {MAX_LABELS} labels"
        )
        return
    for name, value in labels.items():
        yield from _text_problems(f"labels.{name:.40}", name, MAX_LABEL)
        if isinstance(value, str):
            yield from _text_problems(f"labels.{name:.40}", value, MAX_LABEL_VALUE, shortest=0)
        else:
            said = "the value of a label is text"
            yield Problem(path=f"labels.{name:.40}", code="wrong_type", message=said)


def _text_problems(path: str, text: str, longest: int, shortest: int = 1) -> Iterator[Problem]:
    if not shortest <= len(text) <= longest:
        said = f"this must have {shortest} to {longest:,} characters"
        yield Problem(path=path, code="invalid_value", message=said)
    elif "\0" in text:
        yield Problem(path=path, code="nul_character", message="take the NUL character out of this text")
    elif not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        yield Problem(path=path, code="lone_surrogate", message="half of a surrogate pair is no character")


def _is_moment(moment: datetime) -> bool:
    try:
        return moment.tzinfo is not None and moment.astimezone(UTC) is not None
    except OverflowError:
        return False
