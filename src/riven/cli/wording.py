"""How the state of a node or a run is put into words, the same on a terminal and in a pipe."""

from riven.cli.lettering import printable
from riven.cli.progress import Change, Row
from riven.core.graph import SUCCESS
from riven.core.messages import NodeStatus


def duration_words(milliseconds: float) -> str:
    if milliseconds < 1_000:
        return f"{max(0, round(milliseconds))} ms"
    seconds = milliseconds / 1_000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}m {rest:02d}s"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours}h {minutes:02d}m"
    return f"{hours // 24}d {hours % 24:02d}h"


def count_words(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def error_words(change: Change) -> str | None:
    """Class and message in one line."""
    if change.error is None:
        return None
    kind, message = change.error
    return printable(": ".join(part for part in (kind, " ".join(message.split())) if part))


def change_words(change: Change, row: Row, now: int) -> list[str]:
    """What is worth saying beside the status; `now` is the time since the epoch."""
    words: list[str] = []
    match change.status:
        case NodeStatus.COMPLETED:
            if change.outcome is not None and (len(row.labels) > 1 or change.outcome != SUCCESS):
                words.append(printable(change.outcome))
        case NodeStatus.SKIPPED:
            words.append("" if change.reason is None else change.reason.value)
        case NodeStatus.WAITING if change.due is not None:
            words.append(f"{duration_words(change.due - now)} left")
        case NodeStatus.RETRYING:
            again = "" if change.due is None else f", again in {duration_words(change.due - now)}"
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


def items_words(row: Row) -> str:
    total = row.items or 0
    kind = "item" if row.type == "for_each" else "iteration"
    if row.status is NodeStatus.COMPLETED:
        return count_words(total, kind)
    return (
        f"{row.ended_items:,} of {count_words(total, kind)}" if kind == "item" else count_words(total, kind)
    )
