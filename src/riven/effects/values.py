"""What the nodes of one run have left, by path: what templates read and what the end is told from.

In memory; an engine that resumes a run fills it from its journal. Written when something was recorded, not before, so
that nobody reads what a crash could still take back.
"""

from dataclasses import dataclass, field

from riven.core.ids import NodePath
from riven.core.messages import NodeStatus
from riven.nodes.contract import Waiting
from riven.wire.document import Json

NOT_STARTED: Json = {"status": NodeStatus.PENDING.value, "outcome": None, "error": None, "attempts": 0}


@dataclass(frozen=True, slots=True)
class Begun:
    """A wait, signal or approval under way."""

    waiting: Waiting
    config: Json
    """Its resolved configuration, as shown."""


@dataclass(slots=True)
class RunValues:
    """JSON in here is shared by all who read it: never changed, only replaced."""

    steps: dict[NodePath, Json] = field(default_factory=dict)
    """As templates see them: status, outcome, error, attempts, and `output` if the step completed."""
    outputs: dict[NodePath, Json] = field(default_factory=dict)
    """Of scopes that have ended and of containers, by path; the execution's own under the root path."""
    last: dict[NodePath, Json] = field(default_factory=dict)
    """The output of the last iteration that a repeat has ended, by the repeat's path."""
    errors: dict[NodePath, Json] = field(default_factory=dict)
    """The latest failure of a node or a scope: `{type, message}`."""
    items: dict[NodePath, list[Json]] = field(default_factory=dict)
    """What a for_each goes over."""
    inputs: dict[NodePath, Json] = field(default_factory=dict)
    """Of called documents, by the path of the call."""
    begun: dict[NodePath, Begun] = field(default_factory=dict)
    messages: dict[NodePath, Json] = field(default_factory=dict)
    """What a signal or an approval was given, until it is settled by it."""

    def step(self, path: NodePath) -> Json:
        return self.steps.get(path, NOT_STARTED)

    def running(self, path: NodePath, attempt: int) -> None:
        self.steps[path] = {
            "status": NodeStatus.RUNNING.value, "outcome": None, "error": None, "attempts": attempt,
        }  # fmt: skip

    def settled(
        self, path: NodePath, status: NodeStatus, *, outcome: str | None = None, error: Json = None
    ) -> None:
        attempts = self.step(path)["attempts"]
        self.steps[path] = {"status": status.value, "outcome": outcome, "error": error, "attempts": attempts}

    def completed(self, path: NodePath, outcome: str, output: Json) -> None:
        attempts = self.step(path)["attempts"]
        self.steps[path] = {
            "status": "COMPLETED", "outcome": outcome, "error": None, "attempts": attempts, "output": output,
        }  # fmt: skip
