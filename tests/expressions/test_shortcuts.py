"""What needs no evaluator gives what the evaluator would give."""

import pytest

from riven.expressions.cel import compile_expression
from riven.expressions.errors import ExpressionError


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ("'{{'", "{{"),
        ("null", None),
        ("true", True),
        ("42", 42),
        ("[]", []),
        ("{}", {}),
        ("(1)", 1),
        (r"'\t'", "\t"),
    ],
)
def test_constants(source: str, value: object) -> None:
    result = compile_expression(source).evaluate({})
    assert result == value
    assert type(result) is type(value)


def test_text_that_cel_cannot_take_passes() -> None:
    odd = {"a\0b": ["\0", "\ud800", 2**70], "deep": 1.0}
    assert compile_expression("input.v").evaluate({"input": {"v": odd}}) is odd
    assert compile_expression("input[?'v'].orValue(null)").evaluate({"input": {"v": odd}}) is odd


def test_keys_stay_in_order() -> None:
    value = {"z": 1, "a": 2, "m": 3}
    assert list(compile_expression("input.?v.orValue(null)").evaluate({"input": {"v": value}})) == [
        "z",
        "a",
        "m",
    ]


@pytest.mark.parametrize("source", ["input.?a", "input[?0]", "input.?a.b", "(input.a.?b)"])
def test_a_bare_optional_is_refused(source: str) -> None:
    with pytest.raises(ExpressionError, match="orValue") as caught:
        compile_expression(source)
    assert caught.value.code == "optional_result"


@pytest.mark.parametrize("source", ["9223372036854775808", r"'\q'"])
def test_constants_that_cel_refuses_are_refused(source: str) -> None:
    with pytest.raises(ExpressionError):
        compile_expression(source)


@pytest.mark.parametrize("value", ["text", [1], 7, None, True])
def test_fields_of_what_is_no_object(value: object) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression("input.a").evaluate({"input": value})
    assert caught.value.code == "not_an_object"
