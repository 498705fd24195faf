from datetime import UTC, datetime, timedelta, timezone
from uuid import uuid4

import pytest

from riven.intake.wish import NewExecution, Wish, field_problems


def problems(**fields) -> list[str]:
    fields.setdefault("workflow_name", "a")
    return [f"{each.path} {each.code}" for each in field_problems(NewExecution(**fields))]


def test_a_plain_start_is_right() -> None:
    assert problems() == []
    assert problems(workflow_name=None, workflow_id=uuid4()) == []


def test_all_that_is_wrong_is_told_at_once() -> None:
    assert problems(workflow_name=None, version=0, priority=101, correlation_id="", labels={"": "x"}) == [
        "workflowName missing_field",
        "version invalid_value",
        "priority invalid_value",
        "correlationId invalid_value",
        "labels. invalid_value",
    ]


def test_a_workflow_is_named_one_way() -> None:
    assert problems(workflow_id=uuid4()) == ["workflowName invalid_value"]


@pytest.mark.parametrize("priority", [-100, 0, 100])
def test_priorities_have_ends(priority: int) -> None:
    assert problems(priority=priority) == []
    assert problems(priority=priority * 2 + 101 if priority >= 0 else priority - 1) == [
        "priority invalid_value"
    ]


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2026, 11, 19, 8),  # noqa: DTZ001 - that is what is wrong with it
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=14))),
        datetime(9999, 12, 31, 23, tzinfo=timezone(timedelta(hours=-14))),
    ],
)
def test_a_moment_is_one_that_the_database_can_hold(moment: datetime) -> None:
    assert problems(scheduled_for=moment) == ["scheduledFor invalid_value"]
    assert problems(scheduled_for=datetime(1, 1, 1, tzinfo=UTC)) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "invalid_value"),
        ("x" * 513, "invalid_value"),
        ("a\0", "nul_character"),
        ("\ud800", "lone_surrogate"),
    ],
)
def test_a_correlation_id_is_a_short_text(text: str, code: str) -> None:
    assert problems(correlation_id=text) == [f"correlationId {code}"]
    assert problems(correlation_id="é" * 512) == []


def test_labels_are_few_short_texts() -> None:
    assert problems(labels={str(n): "" for n in range(32)}) == []
    assert problems(labels={str(n): "" for n in range(33)}) == ["labels invalid_value"]
    assert problems(labels={"a": "\0", "b": "x" * 1_025, "c\0": "x", "d": 3}) == [
        "labels.a nul_character",
        "labels.b invalid_value",
        "labels.c\0 nul_character",
        "labels.d wrong_type",
    ]


def test_paths_say_which_start_of_a_batch() -> None:
    assert Wish(starts=()).prefix(3) == ""
    assert Wish(starts=(), batch=True).prefix(3) == "executions[3]."
