"""What a run's workflow, its activities and those who start it say to each other: in Temporal's history, for ever.

Ids, paths, labels, counts and times, and nothing of what a tenant has stored. Fields are only ever added, with defaults:
histories that were recorded before are replayed.
"""

from dataclasses import dataclass, field
from typing import Any

WORKFLOW_TYPE = "riven.execution"
ADMITTED = "admitted"
"""Signal: the run was admitted with this token, and may go on."""
CONTROL = "control"
"""Signal: these control rows are to be read."""

ATTEMPT = "riven.attempt"
BEGIN = "riven.begin"
STEPS = "riven.steps"
RECORD = "riven.record"
LOOK = "riven.look"
PARK = "riven.park"
WAKE = "riven.wake"
STOP = "riven.stop"
COMPLETE = "riven.complete"

SUPERSEDED = "SUPERSEDED"
"""Status of a workflow that has found that the run is not its to drive."""
LOST_RUN = "LostRun"
"""Type of the error by which an activity says so."""

CONTINUE_AFTER = 8_000
"""Events of a history after which the workflow goes on in a new one; the server ends it at 51,200."""


@dataclass
class RunInput:
    """Of the workflow."""

    execution_id: str
    workspace_id: str
    version_id: str
    run: int
    token: int
    rules_version: int
    frozen: dict[str, Any]
    """What the first admission has decided for all later ones: start and retry defaults."""
    continue_after: int = CONTINUE_AFTER


@dataclass
class RunResult:
    execution_id: str
    status: str
    """Of the execution, or SUPERSEDED."""
    nodes: dict[str, str] = field(default_factory=dict)
    """Status of every path that has come to an end."""


@dataclass
class Taken:
    """Events that the workflow has decided on and that may not be recorded yet, as `wire.events` writes them."""

    execution_id: str
    run: int
    token: int
    seq: int
    """Of the first of them."""
    events: list[list[Any]]
    frozen: dict[str, Any] | None = None
    """As in RunInput, as long as it may not be recorded."""


@dataclass
class BeginInput:
    execution_id: str
    run: int
    token: int
    version_id: str
    frozen: dict[str, Any]


@dataclass
class Begun:
    state: str
    """GO, SUPERSEDED, or FAILED: it cannot be driven, and has ended so."""
    graph: dict[str, Any] | None = None
    """As `wire.graphs` writes it."""
    started_at: int = 0
    """The first admission of this run."""
    next_seq: int = 1
    snapshot: dict[str, Any] | None = None
    """Of the coordinator, where the run was driven before."""
    outstanding: list[list[Any]] = field(default_factory=list)
    """Commands that are not answered yet, as `wire.commands` writes them."""
    asked: list[list[Any]] = field(default_factory=list)
    """What was asked of the run and is not taken in: see Looked."""
    kept: dict[str, Any] | None = None
    """What earlier runs have left, of a run that is not the first, as `wire.kept` writes it."""
    keeping: dict[str, Any] | None = None
    """What this run has kept of that, beside the snapshot."""
    timeout: int = 0
    """Milliseconds for an attempt of a node that says nothing of its own, at most."""
    error_class: str | None = None


GO = "GO"
FAILED = "FAILED"


@dataclass
class AttemptInput:
    taken: Taken
    path: str
    attempt: int
    timeout: int | None = None
    limit: int | None = None


@dataclass
class StepsInput:
    taken: Taken
    steps: list[list[Any]]
    """Each a StartNode, as `wire.commands` writes it."""


@dataclass
class LookInput:
    taken: Taken
    awaiting: list[str]
    """Paths that wait for a signal or an approval, longest first, and that none is on its way to."""
    known: list[str]
    """Ids of rows that the workflow has already."""


@dataclass
class Looked:
    events: list[list[Any]] = field(default_factory=list)
    """As `wire.events` writes them, each with the id of its row."""


@dataclass
class ParkInput:
    taken: Taken
    status: str
    kind: str | None
    due: int | None
    awaiting: list[str]
    known: list[str]


@dataclass
class Parked:
    parked: bool
    events: list[list[Any]] = field(default_factory=list)
    """What was asked of the run, if it does not rest."""
    token: int = 0
    """By which it rests: only a newer one admits it again."""


@dataclass
class StopInput:
    """Attempts to end soon, where they run in the same process; others hear of it by Temporal."""

    execution_id: str
    run: int
    paths: list[str]


@dataclass
class CompleteInput:
    taken: Taken
    status: str
    cause: str | None = None
    error_class: str | None = None
    message: str | None = None
    close_as_canceled: bool = False
    """The workflow is to be canceled by a request of its own, so that it closes as that."""
