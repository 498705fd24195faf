"""The API's nodes as changes that the screens of `riven run` show."""

from typing import Any

import pytest

from riven.cli.follow import change_of
from riven.core.messages import NodeStatus, SkipReason
from riven.wire.times import from_rfc3339

NOW = 1_000_000_000_000
T1, T2, T3 = "2026-11-19T08:30:00.000Z", "2026-11-19T08:30:01.000Z", "2026-11-19T08:30:05.500Z"
AT1, AT2, AT3 = map(from_rfc3339, (T1, T2, T3))


def node(**fields: Any) -> dict[str, Any]:  # noqa: ANN401 - JSON
    return {
        "path": "a",
        "type": "set",
        "name": None,
        "status": "PENDING",
        "attempt": 0,
        "attempts": [],
        **fields,
    }


def test_a_node_that_never_started() -> None:
    change = change_of(node(), NOW)
    assert (change.status, change.attempt, change.started_at) == (NodeStatus.PENDING, 0, None)


def test_a_running_one_runs_since_its_start() -> None:
    change = change_of(node(status="RUNNING", attempt=1, startedAt=T1), NOW)
    assert (change.at, change.started_at) == (AT1, AT1)


def test_a_completed_one_has_its_times_and_its_outcome() -> None:
    change = change_of(node(status="COMPLETED", attempt=2, outcome="true", startedAt=T1, finishedAt=T2), NOW)
    assert (change.at, change.started_at, change.outcome, change.attempt) == (AT2, AT1, "true", 2)


def test_a_retrying_one_says_why_and_until_when() -> None:
    error = {"type": "NETWORK_ERROR", "message": "no route"}
    attempts = [{"attempt": 1, "status": "FAILED", "error": error, "nextRetryAt": T3}]
    change = change_of(node(status="RETRYING", attempt=1, startedAt=T1, attempts=attempts), NOW)
    assert (change.error, change.next_retry_at) == (error, AT3)


def test_a_failed_one_says_why() -> None:
    error = {"type": "EXECUTION_ERROR", "message": "no"}
    change = change_of(node(status="FAILED", attempt=1, error=error, startedAt=T1, finishedAt=T2), NOW)
    assert change.error == error


def test_a_skipped_one_says_why() -> None:
    change = change_of(node(status="SKIPPED", skipReason="not_chosen"), NOW)
    assert change.skip_reason is SkipReason.NOT_CHOSEN


@pytest.mark.parametrize(
    ("type", "config", "kind", "name"),
    [
        ("wait", {"for": "1h"}, "timer", None),
        ("signal", {"name": "paid"}, "signal", "paid"),
        ("approval", {"title": "Really"}, "approval", None),
        ("approval", None, "approval", None),
    ],
)
def test_a_waiting_one_says_for_what(type: str, config: Any, kind: str, name: str | None) -> None:  # noqa: ANN401
    waiting = change_of(node(type=type, status="WAITING", input=config), NOW).waiting
    assert waiting is not None
    assert (waiting.kind, waiting.name, waiting.config) == (kind, name, config)
