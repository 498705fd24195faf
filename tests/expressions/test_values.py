"""JSON goes into CEL and comes back."""

import gc
import math
import sys

import pytest
from hypothesis import given, settings
from tests.expressions.oracle import TEXTS, VALUES, same

from riven.expressions.cel import compile_expression
from riven.expressions.errors import ExpressionError
from riven.expressions.values import UnfitError, measure, to_text, weigh


def evaluate(source: str, value: object = None) -> object:
    return compile_expression(source).evaluate({"input": {"v": value}})


@settings(deadline=None)
@given(VALUES)
def test_any_json_comes_back_as_it_went_in(value: object) -> None:
    assert same(evaluate("input.v", value), value)
    assert same(evaluate("[input.v][0]", value), value)
    assert same(evaluate("{'a': [input.v, input.v]}", value), {"a": [value, value]})
    assert same(evaluate("input.?v.or(optional.none()).orValue(0)", value), value)


@settings(deadline=None)
@given(TEXTS)
def test_text_is_computed_with_by_characters(text: str) -> None:
    assert evaluate("input.v.size()", text) == len(text)
    assert evaluate("input.v + 'é' == 'é' + input.v || true", text) is True
    assert evaluate("input.v + '!'", text) == text + "!"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("1.0 + 0.0", 1.0),
        ("2 * 3", 6),
        ("7 / 2", 3),
        ("7.0 / 2.0", 3.5),
        ("9223372036854775807 - 1", 9223372036854775806),
        ("-9223372036854775808 + 0", -(2**63)),
        ("18446744073709551615u + 0u", 2**64 - 1),
        ("b'\\xff\\x00'", "/wA="),
        ("bytes('abc')", "YWJj"),
        ("timestamp('2026-01-31T12:00:00+02:00')", "2026-01-31T10:00:00Z"),
        ("timestamp('0001-01-01T00:00:00Z')", "0001-01-01T00:00:00Z"),
        ("timestamp('9999-12-31T23:59:59.999999Z')", "9999-12-31T23:59:59.999999Z"),
        ("duration('1h30m')", "5400s"),
        ("duration('-1.5s')", "-1.5s"),
        ("duration('0s')", "0s"),
        ("type(1)", "int"),
        ("type(input.v)", "null"),
        (
            "[type(''), type([]), type({}), type(1.0), type(true)]",
            ["string", "list", "map", "double", "bool"],
        ),
        ("{'t': [timestamp(0), null], 'b': b'a'}", {"t": ["1970-01-01T00:00:00Z", None], "b": "YQ=="}),
    ],
)
def test_results_are_json(source: str, expected: object) -> None:
    assert same(evaluate(source), expected)


def test_keys_that_cel_made_are_sorted() -> None:
    source = "{" + ", ".join(f"'{key}': 1" for key in "qwertzuiop") + "}"
    assert list(evaluate(source)) == sorted("qwertzuiop")


@pytest.mark.parametrize(
    ("source", "code", "hint"),
    [
        ("1.0 / 0.0", "not_json", "infinity"),
        ("[-1.0 / 0.0]", "not_json", "minus infinity"),
        ("{'a': 0.0 / 0.0}", "not_json", "NaN"),
        ("{1: 2}", "not_json", "{'1': ...}"),
        ("[{true: 2}]", "not_json", "{'true': ...}"),
        ("optional.of(1)", "optional_result", ".orValue(null)"),
        ("optional.none()", "optional_result", ".orValue(null)"),
        ("[optional.none()]", "optional_result", ".orValue(null)"),
        ("[[optional.of(null)]]", "optional_result", ".orValue(null)"),
        ("{'a': optional.none()}", "optional_result", ".orValue(null)"),
        ("{'a': [{'b': input.?v}]}", "optional_result", ".orValue(null)"),
        ("[1].map(x, input.?v)", "optional_result", ".orValue(null)"),
        ("[1, 2].first()", "optional_result", ".orValue(null)"),
        ("[[1, 2].last()]", "optional_result", ".orValue(null)"),
        ("{'a': input.?v.or(input.?w)}", "optional_result", ".orValue(null)"),
        ("[input.?v.optMap(x, x)]", "optional_result", ".orValue(null)"),
        ("[input.v].map(x, {'a': x.?b})", "optional_result", ".orValue(null)"),
    ],
)
def test_what_json_has_not_is_an_error(source: str, code: str, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate(source, {"b": 1})
    assert caught.value.code == code
    assert hint in caught.value.message


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("a\0b", "unsupported_text"),
        (["a\0b"], "unsupported_text"),
        ({"a": {"b\0": 1}}, "unsupported_text"),
        ("\ud800", "unsupported_text"),
        ([{"x": "\udfff"}], "unsupported_text"),
        ({"\ud800": 1}, "unsupported_text"),
        (2**64, "number_out_of_range"),
        (-(2**63) - 1, "number_out_of_range"),
        ([10**30], "number_out_of_range"),
        (nested(300), "value_too_deep"),
        (nested(10_000), "value_too_deep"),
        ({1: 2}, "not_json"),
        ({"a": {1, 2}}, "not_json"),
        (object(), "not_json"),
        ((1, 2), "not_json"),
    ],
)
def test_what_cel_cannot_take_is_an_error_when_it_is_computed_with(value: object, code: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        evaluate("[input.v]", value)
    if code != "not_json" or not isinstance(value, tuple):
        assert caught.value.code == code
    # Where the value is not needed, it is no error.
    assert evaluate("true || [input.v] == []", value) is True


def test_an_escaped_backslash_is_no_nul() -> None:
    assert evaluate("[input.v]", ["\\u0000"]) == [["\\u0000"]]


@settings(deadline=None)
@given(VALUES)
def test_no_value_weighs_less_than_its_parts(value: object) -> None:
    size = measure(value, 3)
    assert size.size >= weigh(value) > 0
    if isinstance(value, list) and value:
        assert size.count == len(value)
        assert size.part().size == max(weigh(each) for each in value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\0\ud800", "as it is\0\ud800"),
        (True, "true"),
        (0, "0"),
        (1.0, "1.0"),
        (-2.5e30, "-2.5e+30"),
        ([1, None, "é"], '[1,null,"é"]'),
        ({"b": 1, "a": {}}, '{"b":1,"a":{}}'),
    ],
)
def test_text(value: object, text: str) -> None:
    assert to_text(value) == text


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (None, "null_in_text"),
        (["\ud800"], "unsupported_text"),
        ({"a": 2**70}, "number_out_of_range"),
        (nested(300), "value_too_deep"),
    ],
)
def test_what_is_no_text(value: object, code: str) -> None:
    with pytest.raises(UnfitError) as caught:
        to_text(value)
    assert caught.value.code == code


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="None is immortal there")
def test_nulls_in_results_do_not_use_none_up() -> None:
    expression = compile_expression("[input.v, {'a': [null, input.v]}, null]")
    conditional = compile_expression("input.v == 1 ? input.v : null")
    gc.collect()
    before = sys.getrefcount(None)
    for _ in range(2_000):
        assert expression.evaluate({"input": {"v": None}})[2] is None
        assert conditional.evaluate({"input": {"v": None}}) is None
    assert abs(sys.getrefcount(None) - before) < 1_000  # without care, 10,000 less


def test_zero_keeps_its_sign() -> None:
    assert math.copysign(1.0, evaluate("[input.v][0]", -0.0)) == -1.0
