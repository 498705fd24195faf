"""Expressions compile once, and fail with nothing but their own errors."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from riven.expressions.cel import compile_condition, compile_expression
from riven.expressions.errors import ExpressionError

ROOTS = {
    "input": {"a": [1, {"b": None}], "x": "t", "n": 3},
    "steps": {"x": {"output": {"z": 1}, "status": "COMPLETED", "error": None}},
    "vars": {"v": 1.5},
    "secrets": {"x": "s"},
    "iteration": {"index": 0, "previous": None},
}


@pytest.mark.parametrize("source", ["input.a", "input.a + 1", "steps.?x.?output.orValue(null)"])
def test_the_same_source_is_compiled_once(source: str) -> None:
    assert compile_expression(source) is compile_expression(source)


def test_an_expression_knows_its_source() -> None:
    expression = compile_expression("input.a + 1")
    assert expression.source == "input.a + 1"
    assert repr(expression) == "Expression('input.a + 1')"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("input.n == 3", True),
        ("input.n > 3", False),
        ("true", True),
        ("input.yes", True),
        ("has(input.n)", True),
    ],
)
def test_conditions(source: str, expected: bool) -> None:  # noqa: FBT001 - what a condition yields
    assert compile_condition(source).evaluate_condition({"input": {"n": 3, "yes": True}}) is expected


@pytest.mark.parametrize(
    "source", ["1", "'true'", "null", "1 + 1", "string(input.n)", "[true]", "{}", "[]", "size(input)"]
)
def test_a_condition_that_cannot_be_one_is_refused_at_once(source: str) -> None:
    with pytest.raises(ExpressionError, match="can never be") as caught:
        compile_condition(source)
    assert caught.value.code == "not_boolean"


@pytest.mark.parametrize(
    ("value", "what"),
    [(None, "null"), (1, "a number"), ("true", "text"), ([], "a list"), ({}, "an object"), (0.0, "a number")],
)
def test_a_condition_says_what_it_was_instead(value: object, what: str) -> None:
    with pytest.raises(ExpressionError, match=f"but this is {what}") as caught:
        compile_condition("input.v").evaluate_condition({"input": {"v": value}})
    assert caught.value.code == "not_boolean"


def test_a_missing_root_is_explained() -> None:
    for source in ("input.a", "input.a + 1", "size(input)"):
        with pytest.raises(ExpressionError) as caught:
            compile_expression(source).evaluate({})
        assert caught.value.code == "missing_path"


PIECES = st.sampled_from(
    [
        "input", ".a", ".?b", "[0]", "[?1]", "['x']", "steps.x.output", "steps", "(", ")", "[", "]", "{", "}", ",", ":", "?",
        "+", "-", "*", "/", "%", "==", "<", "in", "&&", "||", "!", "'a'", '"b"', "'''c'''", r"r'\'", "b'x'", "1", "2.5", "1u",
        "0x1F", ".map(x,", ".filter(x,", "x", ".size()", ".orValue(", "null", "true", "{{", "}}", "//", "\n", " ", "\0",
        "\ud800", "é", "😀", "`q`", "has(", "optional.none()", "optional.of(", "timestamp('2020-01-01T00:00:00Z')",
        "duration('1s')", ".getHours()", ".format([", "'%s %d %f %e %x %b'", ".matches(", "'('", "math.greatest(",
        "base64.encode(", "string(", "int(", "type(", "dyn(", r"'\u0041'", r"'\q'", "_0", "_1", "google.protobuf.Timestamp",
        "item", "secrets.x", "vars", "iteration.previous", ".join(", ".split(", ".replace(", "strings.quote(", "1e999",
        "9223372036854775807", "-9223372036854775808", "99999999999999999999", "[1,2,3]", "{'a':1}", ".optMap(x,",
        ".first()", ".reverse()", ".charAt(", "bytes(", "list", "map", "while", "=", "&", ";", "\\", "\r", "\t",
    ]
)  # fmt: skip


@settings(deadline=None, max_examples=1_000)
@given(st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=30))
@example("_0")
@example(".input")
@example("1 // \ud800")
@example("''''")
@example("[input.a, ].map(x, x).map")
@example("type(optional.none())")
@example("{1: optional.none()}")
@example("{'a': b'x'}.map(k, k)")
def test_junk_raises_nothing_else(source: str) -> None:
    try:
        compile_expression(source).evaluate(ROOTS)
    except ExpressionError as error:
        assert error.message.isprintable()  # noqa: PT017
        assert error.column is None or 1 <= error.column <= len(source) + 1  # noqa: PT017


def test_the_message_quotes_the_expression_once() -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression("input.n + nothing")
    assert caught.value.message.count("`input.n + nothing`") == 1
    with pytest.raises(ExpressionError) as caught:
        compile_expression("nothing")
    assert caught.value.message.count("`nothing`") == 1


def test_a_long_expression_is_cut_in_the_message() -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression("nothing + '" + "x" * 4_000 + "'")
    assert len(caught.value.message) < 500
