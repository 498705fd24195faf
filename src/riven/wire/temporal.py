"""What a run's workflow, its activities and those who start it say to each other: in Temporal's history, for ever.

Ids, paths, labels, counts and times, and nothing of what a tenant has named or stored. Fields are only ever added, with
defaults: histories that were recorded before are replayed.
"""

from dataclasses import dataclass, field
from typing import Any

WORKFLOW_TYPE = "riven.execution"
ADMITTED = "admitted"
"""Signal: the run was admitted with this token, and may go on."""
CONTROL = "control"
"""Signal: these control rows are to be read."""

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
    snapshot: dict[str, Any] | None = None
    """Where the history before this one has ended."""


@dataclass
class RunResult:
    execution_id: str
    status: str
    """Of the execution; `SUPERSEDED` if it was not this workflow's to drive."""
    nodes: dict[str, str] = field(default_factory=dict)
    """Status of every path that is no plain success."""
