import math
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.core.errors import Problem
from riven.documents.input import MAX_PROBLEMS, check_input
from riven.wire.document import Document, Json


def check(schema: Json, value: Json) -> tuple[Json, tuple[Problem, ...]]:
    return check_input(Document(name="x", input=schema), value)


def problems(schema: Json, value: Json) -> list[str]:
    return [f"{problem.path} {problem.code}" for problem in check(schema, value)[1]]


ORDER = {
    "type": "object",
    "required": ["orderId", "amount"],
    "properties": {
        "orderId": {"type": "string", "minLength": 1},
        "amount": {"type": "number", "exclusiveMinimum": 0},
        "currency": {"type": "string", "enum": ["EUR", "USD"], "default": "EUR"},
        "lines": {"type": "array", "items": {"type": "object", "properties": {"count": {"type": "integer", "default": 1}}}},
    },
    "additionalProperties": False,
}  # fmt: skip


def test_a_fitting_input_comes_back_with_its_defaults() -> None:
    given_input = {"orderId": "A", "amount": 3, "lines": [{}, {"count": 2}]}
    value, found = check(ORDER, given_input)
    assert found == ()
    assert value == {"orderId": "A", "amount": 3, "currency": "EUR", "lines": [{"count": 1}, {"count": 2}]}
    assert given_input == {"orderId": "A", "amount": 3, "lines": [{}, {"count": 2}]}


def test_every_mistake_is_told_with_its_path() -> None:
    value = {"amount": "many", "currency": "EURO", "lines": [{"count": 1.5}, 3], "amuont": 3}
    assert sorted(problems(ORDER, value)) == [
        "input.amount wrong_type",
        "input.amuont unknown_field",
        "input.currency invalid_value",
        "input.lines[0].count wrong_type",
        "input.lines[1] wrong_type",
        "input.orderId missing_field",
    ]


def test_messages_say_what_is_wanted_and_what_is_there() -> None:
    _, found = check(ORDER, {"orderId": "", "amount": 0, "currency": "eur", "amuont": 1})
    said = {problem.path: problem.message for problem in found}
    assert said["input.orderId"] == "this must not be empty"
    assert said["input.amount"] == "this must be more than 0, not the number 0"
    assert (
        said["input.currency"]
        == "this must be one of \"EUR\", \"USD\", not the text 'eur'; did you mean 'EUR'?"
    )
    assert said["input.amuont"] == "there is no field `amuont` here; did you mean 'amount'?"


@pytest.mark.parametrize("value", [None, [], "x", 3, True])
def test_the_input_is_a_mapping(value: Json) -> None:
    assert problems(None, value) == ["input wrong_type"]
    assert problems(ORDER, value) == ["input wrong_type"]


def test_without_a_schema_any_mapping_fits() -> None:
    value = {"a": [1, None, {"b": "c"}]}
    assert check(None, value) == (value, ())


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": 2**63}, "input.a integer_range"),
        ({"a": [1, -(2**63) - 1]}, "input.a[1] integer_range"),
        ({"a": math.nan}, "input.a not_finite"),
        ({"a": -math.inf}, "input.a not_finite"),
        ({"a": "x\0"}, "input.a nul_character"),
        ({"a": "\ud800"}, "input.a lone_surrogate"),
        ({"a\0": 1}, 'input["a\ufffd"] nul_character'),
        ({1: 1}, "input invalid_key"),
        ({"a": {1, 2}}, "input.a wrong_type"),
        ({"a": b"x"}, "input.a wrong_type"),
    ],
)
def test_what_is_no_json_of_ours_is_told(value: Json, expected: str) -> None:
    assert problems(None, value) == [expected]
    assert problems({}, value) == [expected]


def test_the_largest_integers_fit() -> None:
    assert problems({}, {"a": 2**63 - 1, "b": -(2**63)}) == []


def test_an_input_nested_without_end_is_one_problem() -> None:
    value: dict[str, Any] = {}
    inner = value
    for _ in range(100_000):
        inner["a"] = {}
        inner = inner["a"]
    [problem] = check({}, value)[1]
    assert problem.code == "too_deep"


def test_more_problems_than_anybody_reads_are_not_told() -> None:
    schema = {"properties": {"a": {"items": {"type": "integer"}}}}
    assert len(check(schema, {"a": ["x"] * 10_000})[1]) == MAX_PROBLEMS


def test_patterns_that_would_run_for_ever_do_not() -> None:
    begun = time.process_time()
    for pattern in ("(a+)+$", "(?=a)(a+)+$", "(a|a)*$", "(.*)*\\1$"):
        problems({"properties": {"a": {"pattern": pattern}}}, {"a": "a" * 50_000 + "!"})
    assert time.process_time() - begun < 5


def deep(levels: int) -> Json:
    value: Json = 1
    for _ in range(levels):
        value = {"a": value}
    return value


TWICE = {"allOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]}


@pytest.mark.parametrize("levels", [5, 25, 90])
def test_schemas_that_refer_to_themselves_many_times_end_soon(levels: int) -> None:
    begun = time.process_time()
    found = problems(TWICE, deep(levels))
    assert time.process_time() - begun < 2
    assert found == ([] if levels == 5 else ["input too_deep"])


def test_where_the_explanation_would_take_too_long_the_answer_is_short() -> None:
    chain: Json = {"required": ["zz"]}
    definitions = {"d0": chain}
    for number in range(1, 19):
        inner = {"$ref": f"#/$defs/d{number - 1}"}
        definitions[f"d{number}"] = {
            "anyOf": [{"allOf": [inner, {}]}, {"allOf": [inner, {"maxProperties": 99}]}]
        }
    schema = {"$defs": definitions, "$ref": "#/$defs/d18"}
    begun = time.process_time()
    assert problems(schema, {}) == ["input invalid_value"]
    assert problems(schema, {"zz": 1}) == []
    assert time.process_time() - begun < 2


def test_a_damaged_schema_is_a_problem() -> None:
    assert problems({"type": "nope"}, {}) == ["input invalid_schema"]
    assert problems({"$ref": "http://127.0.0.1:9/x"}, {}) == ["input invalid_schema"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab$", max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)
SCHEMAS = st.recursive(
    st.booleans()
    | st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", "object", "array"]),
            "default": VALUES,
            "minimum": st.integers(-3, 3),
            "pattern": st.sampled_from(["^a", "b$"]),
            "required": st.lists(st.sampled_from(["a", "b"]), unique=True),
            "$ref": st.just("#"),
        },
    ),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "properties": st.dictionaries(st.sampled_from(["a", "b"]), inner),
            "items": inner,
            "allOf": st.lists(inner, min_size=1, max_size=2),
            "additionalProperties": inner,
        },
    ),
    max_leaves=6,
)


@given(
    SCHEMAS.filter(lambda schema: isinstance(schema, dict)),
    st.dictionaries(st.sampled_from(["a", "b"]), VALUES),
)
def test_any_input_fits_any_schema_or_is_told_why_not(schema: Json, value: Json) -> None:
    filled, found = check(schema, value)
    assert all(problem.path.startswith("input") and problem.message for problem in found)
    if not found:
        assert set(filled) >= set(value)
        if "$ref" not in str(schema):  # a default of a schema within itself goes one step deeper each time
            assert check(schema, filled) == (filled, ())


def test_a_default_within_itself_is_filled_one_step_deep() -> None:
    schema: Json = {"properties": {"a": {"$ref": "#", "default": {}}}}
    assert check(schema, {}) == ({"a": {}}, ())
    assert check(schema, {"a": {}}) == ({"a": {"a": {}}}, ())


def test_defaults_that_would_fill_the_memory_are_a_problem() -> None:
    schema = {"properties": {"items": {"items": {"properties": {"x": {"default": "a" * 100_000}}}}}}
    assert problems(schema, {"items": [{} for _ in range(1_000)]}) == ["input too_large"]
