"""From what was raised to what went wrong: the class that decides about retries, and words for it.

Nodes raise `NodeError` where they know better. Everything else is put in order here, once.
"""

import socket
import ssl
from dataclasses import dataclass

from pydantic import ValidationError

from riven.core.errors import NEVER_RETRIED, ErrorClass
from riven.nodes.contract import NodeError

MAX_MESSAGE = 4_000

RETRIED: dict[ErrorClass, bool] = {
    error_class: error_class not in NEVER_RETRIED and error_class is not ErrorClass.HTTP_CLIENT_ERROR
    for error_class in ErrorClass
}
"""Whether an error of the class is tried again when whoever raised it does not say: 408, 425 and 429 do say."""


@dataclass(frozen=True, slots=True)
class Fault:
    """A classified failure. `retry_after` in milliseconds; `message` not yet redacted, of any length."""

    error_class: ErrorClass
    message: str
    retryable: bool
    retry_after: int | None = None
    unforeseen: bool = False
    """Nobody classified it where it happened: its traceback is worth logging."""


def fault(error_class: ErrorClass, message: str) -> Fault:
    return Fault(error_class, message, RETRIED[error_class])


def classify(error: BaseException) -> Fault:
    """What a node type or a function raised while it ran."""
    if isinstance(error, BaseExceptionGroup):
        return _classify_group(error)
    if isinstance(error, NodeError):
        retryable = RETRIED[error.error_class] if error.retryable is None else error.retryable
        after = None if error.retry_after is None else max(0, round(error.retry_after * 1_000))
        foreign = error.error_class is ErrorClass.EXECUTION_ERROR and error.__cause__ is not None
        return Fault(error.error_class, error.message, retryable, after, unforeseen=foreign)
    if isinstance(error, TimeoutError):
        return fault(ErrorClass.TIMEOUT, say(error))
    if isinstance(error, (ConnectionError, socket.gaierror, ssl.SSLError)):
        return fault(ErrorClass.NETWORK_ERROR, say(error))
    return Fault(ErrorClass.EXECUTION_ERROR, say(error), RETRIED[ErrorClass.EXECUTION_ERROR], unforeseen=True)


def _classify_group(group: BaseExceptionGroup) -> Fault:
    """Several at once: the first that must not be retried decides, else the first."""
    faults = [classify(error) for error in group.exceptions]
    if len(faults) == 1:
        return faults[0]
    first = next((one for one in faults if not one.retryable), faults[0])
    message = "; ".join(one.message for one in faults)
    return Fault(
        first.error_class,
        message,
        first.retryable,
        first.retry_after,
        any(one.unforeseen for one in faults),
    )


def say(error: BaseException) -> str:
    """The type and the text of an exception, whatever its `__str__` does."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        text = "(its text cannot be read)"
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def say_invalid(error: ValidationError, where: str) -> str:
    """Every field that a model refuses, without the values: they may be long, or secret."""
    parts = []
    for detail in error.errors(include_url=False, include_input=False, include_context=False):
        field = ""
        for step in detail["loc"]:
            field += f"[{step}]" if isinstance(step, int) else f".{step}"
        message = detail["msg"].removeprefix("Value error, ")
        parts.append(f"{where}{field}: {message}")
    return "; ".join(parts)


def shortened(message: str) -> str:
    """A message that a person reads and a database takes. After the redaction: half a secret is not found any more."""
    clean = message.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()
    return clean if len(clean) <= MAX_MESSAGE else clean[: MAX_MESSAGE - 1] + "…"
