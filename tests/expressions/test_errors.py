"""Errors are complete sentences that any terminal can show."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riven.expressions.errors import ExpressionError, dotted, shorten


def test_the_message_quotes_the_expression() -> None:
    assert ExpressionError("unknown_name", "no", "a + b", 1).message == "no (in `a + b`)"
    assert ExpressionError("unknown_name", "`a` is no", "a", 1).message == "`a` is no"
    assert ExpressionError("expression_empty", "no", "").message == "no"


def test_an_error_can_be_put_in_its_place() -> None:
    error = ExpressionError("null_in_text", "no", "a", 2).at(("json", "items", 3, "id"))
    assert (error.code, error.reason, error.source, error.column) == ("null_in_text", "no", "a", 2)
    assert (error.field, error.location) == ("json.items[3].id", ("json", "items", 3, "id"))
    assert str(error) == error.message


@pytest.mark.parametrize(
    ("location", "path"),
    [((), ""), (("a",), "a"), ((0,), "[0]"), (("a", 0, 1, "b"), "a[0][1].b"), ((2, "x-y"), "[2].x-y")],
)
def test_places_are_dotted(location: tuple[str | int, ...], path: str) -> None:
    assert dotted(location) == path


@settings(deadline=None)
@given(st.text(), st.integers(1, 50))
def test_what_is_shown_is_short_and_printable(text: str, limit: int) -> None:
    shown = shorten(text, limit)
    assert len(shown) <= limit
    assert shown.isprintable()
