"""How the state of a node or a run is put into words, the same on a terminal and in a pipe."""

from riven.cli.lettering import printable
from riven.cli.progress import Row
from riven.cli.quantities import count_words, duration_words
from riven.core.graph import SUCCESS
from riven.core.messages import NodeStatus
from riven.engines.embedded.journal import Awaited
from riven.wire.document import Json


def error_words(error: Json) -> str | None:
    """Class and message of `{type, message}` in one line."""
    if error is None:
        return None
    parts = (str(error.get("type") or ""), " ".join(str(error.get("message") or "").split()))
    return printable(": ".join(part for part in parts if part))


def row_words(row: Row, now: int) -> list[str]:
    """What is worth saying beside the status; `now` in milliseconds since the epoch."""
    words: list[str] = []
    change = row.last
    if change is None:
        return words
    match row.status:
        case NodeStatus.COMPLETED:
            if change.outcome is not None and (len(row.labels) > 1 or change.outcome != SUCCESS):
                words.append(printable(change.outcome))
            if change.attempt > 1:
                words.append(f"attempt {change.attempt}")
        case NodeStatus.SKIPPED:
            words.append("" if change.skip_reason is None else change.skip_reason.value)
        case NodeStatus.WAITING if change.waiting is not None:
            words += _waiting_words(change.waiting, now)
        case NodeStatus.RETRYING:
            due = change.next_retry_at
            again = "" if due is None else f", again in {duration_words(due - now)}"
            words.append(f"attempt {change.attempt} failed{again}")
        case NodeStatus.FAILED if change.attempt > 1:
            words.append(f"after {change.attempt} attempts")
        case NodeStatus.RUNNING if change.attempt > 1:
            words.append(f"attempt {change.attempt}")
        case _:
            pass
    if row.items is not None:
        words.append(items_words(row))
    return [word for word in words if word]


def _waiting_words(awaited: Awaited, now: int) -> list[str]:
    words = []
    if awaited.kind == "signal":
        words.append(f"for the signal {printable(awaited.name or '')}")
    elif awaited.kind == "approval":
        words.append("for a decision")
    if awaited.until is not None:
        words.append(f"{duration_words(awaited.until - now)} left")
    return words


def items_words(row: Row) -> str:
    total = row.items or 0
    kind = "item" if row.type == "for_each" else "iteration"
    if row.status is NodeStatus.COMPLETED:
        return count_words(total, kind)
    return (
        f"{row.ended_items:,} of {count_words(total, kind)}" if kind == "item" else count_words(total, kind)
    )
