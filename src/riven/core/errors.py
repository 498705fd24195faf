"""Errors by whose fault they are, and the problems of a document.

RivenError                  everything riven raises on purpose
├── InvalidDocumentError    the author's: carries every Problem found
├── UnknownNodeError        the caller's: a node that the graph does not have
├── IllegalTransitionError  ours: an event that the state forbids; nothing was changed
└── StuckExecutionError     ours: work left while nothing is ready, active or awaited
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class ErrorClass(StrEnum):
    """What went wrong in a node, classified where it happened."""

    HTTP_CLIENT_ERROR = "HTTP_CLIENT_ERROR"
    HTTP_SERVER_ERROR = "HTTP_SERVER_ERROR"
    NETWORK_ERROR = "NETWORK_ERROR"
    TIMEOUT = "TIMEOUT"
    EXECUTION_ERROR = "EXECUTION_ERROR"
    VALIDATION_ERROR = "VALIDATION_ERROR"
    TEMPLATE_ERROR = "TEMPLATE_ERROR"
    SECURITY_ERROR = "SECURITY_ERROR"
    CONTROL_FLOW_ERROR = "CONTROL_FLOW_ERROR"
    DISPATCH_FAILED = "DISPATCH_FAILED"
    WORKER_LOST = "WORKER_LOST"
    INTERNAL_ERROR = "INTERNAL_ERROR"


NEVER_RETRIED = frozenset(
    {
        ErrorClass.VALIDATION_ERROR,
        ErrorClass.TEMPLATE_ERROR,
        ErrorClass.SECURITY_ERROR,
        ErrorClass.CONTROL_FLOW_ERROR,
        ErrorClass.INTERNAL_ERROR,
    }
)
"""Classes that trying again cannot mend. (A 4xx is decided by its status: see `effects.classify`.)"""


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with a document, in words that say what to do.

    `path` is dotted, as in `nodes.order.with.url` or `edges[2].to`; empty for the document as a whole. `line` and
    `column` count from 1 and are None where the document did not come from text.
    """

    path: str
    code: str
    message: str
    severity: Severity = Severity.ERROR
    line: int | None = None
    column: int | None = None


class RivenError(Exception):
    """Everything riven raises on purpose."""


class InvalidDocumentError(RivenError):
    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        errors = [p for p in self.problems if p.severity is Severity.ERROR]
        first = f": {errors[0].path}: {errors[0].message}" if errors else ""
        super().__init__(f"the document has {len(errors)} problem(s){first}")


class UnknownNodeError(RivenError):
    pass


class IllegalTransitionError(RivenError):
    pass


class StuckExecutionError(RivenError):
    pass
