"""What the library says is put in words that say what to write."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riven.expressions.cel import compile_expression
from riven.expressions.errors import ExpressionError
from riven.expressions.functions import FUNCTIONS

ROOTS = {
    "input": {
        "n": 3,
        "d": 1.5,
        "text": "abc",
        "yes": True,
        "none": None,
        "list": [1, 2],
        "object": {"a": 1},
        "big": 2**63 - 1,
        "unsigned": 2**63,
    },
    "secrets": {"token": "s3cret"},
}


def failure(source: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source).evaluate(ROOTS)
    return caught.value


@pytest.mark.parametrize(
    ("source", "column", "reason"),
    [
        ("input.n * 1.5", 9, "`*` cannot mix a whole number and a decimal number: write double(input.n) * 1.5"),
        ("1.5 - input.n", 5, "`-` cannot mix a whole number and a decimal number: write 1.5 - double(input.n)"),
        ("2 * 1.5", 3, "`*` cannot mix a whole number and a decimal number: write double(2) * 1.5"),
        ("input.d + input.n", 9, "`+` cannot mix a whole number and a decimal number: write input.d + double(input.n)"),
        ("input.unsigned + 1", 16, "`+` cannot mix an unsigned number and a whole number: write int(input.unsigned) + 1"),
        ("input.text + 1", 12, "`+` cannot join text and a whole number: write input.text + string(1)"),
        ("input.yes + ''", 11, "`+` cannot join true or false and text: write string(input.yes) + ''"),
        ("input.text * 2", 12, "`*` cannot take text and a whole number: to read the text as a number, write int(input.text)"),
        ("input.none + 1", 12, "`+` cannot take null, and `input.none` is null: ask first, `input.none == null ? ... : ...`"),
        ("1 < input.none", 3, "`<` cannot take null, and `input.none` is null: ask first, `input.none == null ? ... : ...`"),
        ("input.list + 1", 12, "`+` cannot take a list and a whole number"),
        ("true ? 1 : 'a'", 6, "both values of `condition ? a : b` must be of one type, but they are a whole number and text; to allow it, write dyn(1)"),
        ("input.n.size()", 9, "`size` does not take a whole number"),
        ("input.text.sizes()", 12, "there is no function `sizes` here; did you mean `size`?"),
        ("input.text.toUpperCase()", 12, "there is no function `toUpperCase` here; did you mean `upperAscii`?"),
        ("len(input.list)", 1, "there is no function `len` here; did you mean `size`?"),
        ("now()", 1, "there is no function `now` here"),
        ("math.max(1, 2)", 6, "there is no function `math.max` here; did you mean `math.greatest`?"),
        ("input.n.orValue(1)", 9, "orValue(...) is for what may be absent: mark it by .? first, as in input.?name.orValue('nobody')"),
        ("math.greatest(input.text, 1)", 6, "`math.greatest` does not take text, a whole number"),
        ("string(input.none)", 1, "string(...) takes numbers, times and the like, but not null"),
        ("-input.text", 1, "`-` does not take text"),
    ],
)  # fmt: skip
def test_operations_say_what_to_write(source: str, column: int, reason: str) -> None:
    error = failure(source)
    assert error.reason == reason
    assert error.column == column
    assert error.code in ("type_mismatch", "unknown_function")


@pytest.mark.parametrize(
    ("source", "code", "hint"),
    [
        ("input.n / 0", "division_by_zero", "zero"),
        ("input.n % 0", "division_by_zero", "zero"),
        ("input.big + 1", "number_out_of_range", "64 bits"),
        ("int(1e30)", "number_out_of_range", "64 bits"),
        ("99999999999999999999", "number_out_of_range", "64 bits"),
        ("uint(-1)", "number_out_of_range", "64 bits"),
        ("input.list[input.n]", "missing_path", "there is no item 3: the list has 2"),
        ("[][input.n]", "missing_path", "is empty"),
        ("input.list['a' + 'b']", "type_mismatch", "counted"),
        ("input.n[input.text]", "type_mismatch", "this is a whole number"),
        ("input.object[input.text]", "missing_path", "the key `abc`"),
        ("input.object[[1]]", "type_mismatch", "must be text, but this is a list"),
        ("input.list.map(x, x.a)", "not_an_object", "`x` is no object, so it has no field `a`"),
        ("input.list.map(x, x.a.b)", "not_an_object", "no object"),
        ("(1).a", "not_an_object", "from a whole number"),
        ("[input.n].map(x, x.?a.orValue(1))", "not_an_object", "look into objects and lists"),
        ("input.n.map(x, x)", "type_mismatch", "neither"),
        ("input.n ? 1 : 2", "type_mismatch", "must be true or false"),
        ("input.list.filter(x, x)", "type_mismatch", "must be true or false"),
        ("!input.n", "type_mismatch", "must be true or false"),
        ("input.n && true", "type_mismatch", "must be true or false"),
        ("1 && true", "type_mismatch", "must be true or false"),
        ("1 ? 2 : 3", "type_mismatch", "must be true or false, but is a whole number"),
        ("1 in input.text", "type_mismatch", "in a list, or for a key in an object"),
        ("input.?nothing.value()", "missing_path", "orValue"),
        ("input.text.matches('a(')", "invalid_value", "RE2"),
        ("int(input.text)", "invalid_value", "no whole number"),
        ("double(input.text)", "invalid_value", "no number"),
        ("bool(input.text)", "invalid_value", "no true or false"),
        ("timestamp(input.text)", "invalid_value", "2026-01-31T12:00:00Z"),
        ("duration(input.text)", "invalid_value", "1h30m"),
        ("input.text.charAt(9)", "invalid_value", "charAt(...)"),
        ("input.text.substring(2, 1)", "invalid_value", "substring(...)"),
        ("'%s %s'.format([1])", "invalid_value", "more % in its text"),
        ("{'a': 1, 'a': 2}", "invalid_value", "twice"),
        ("base64.decode('!')", "evaluation_failed", "base64"),
        ("'a'.replace('b')", "unknown_function", "not called this way"),
        ("has(input)", "expression_syntax", "has(input.name)"),
        ("has(input['n'])", "expression_syntax", "has(input.name)"),
        ("input.map(1, 2)", "expression_syntax", "map(x, ...)"),
        (r"'\q'", "expression_syntax", "backslash"),
        (r"'\ud800'", "expression_syntax", "cannot be read"),
        ("[1]" + ".map(x, x)" * 40, "expression_too_deep", "`set` node"),
        ("[1, 2].map(x, x.y)", "not_an_object", "which has none"),
        ("[?input.n]", "type_mismatch", "may be absent"),
    ],
)  # fmt: skip
def test_failures_are_explained(source: str, code: str, hint: str) -> None:
    error = failure(source)
    assert error.code == code
    assert hint in error.message
    assert "overload" not in error.message
    assert "INVALID_ARGUMENT" not in error.message


@pytest.mark.parametrize(
    "source",
    [
        "input.object[secrets.token]",
        "int(secrets.token)",
        "input.text.matches(secrets.token + '(')",
        "duration(secrets.token)",
        "secrets.token * 2",
        "'%s %s'.format([secrets.token])",
        "[secrets.token].map(x, x.y)",
        "base64.decode(secrets.token + '!')",
        "{secrets.token: 1, secrets.token: 2}",
    ],
)
def test_nothing_computed_from_a_secret_is_shown(source: str) -> None:
    assert "s3cret" not in failure(source).message


@settings(deadline=None)
@given(st.text(max_size=20))
def test_what_the_data_says_is_not_taken_for_what_the_library_says(key: str) -> None:
    for text in (
        key,
        f'No value with name "_0" found in Activation{key}',
        f"overflow {key}",
        f"Iteration budget exceeded{key}",
    ):
        try:
            value = compile_expression("input.object[input.text] == 1").evaluate(
                {"input": {"object": {}, "text": text}}
            )
        except ExpressionError as error:
            assert error.code in ("missing_path", "unsupported_text")  # noqa: PT017
        else:
            raise AssertionError(value)


def test_columns_count_through_lines() -> None:
    assert failure("input.n +\n  // a comment\n  input.text.sizes()").column == 39


def test_every_function_that_is_named_exists() -> None:
    calls = {
        "math.": "{}(1)",
        "base64.": "{}(b'')",
        "strings.": "{}('')",
        "optional.": "{}(1)",
    }
    for name in FUNCTIONS:
        prefix = next((each for each in calls if name.startswith(each)), None)
        forms = (
            [calls[prefix].format(name)]
            if prefix
            else [
                f"{name}(input)",
                f"input.{name}()",
                f"input.{name}(x, x)",
                f"input.{name}('')",
                f"input.{name}([])",
                f"input.{name}('', '')",
                "has(input.a)",
            ]
        )
        said = []
        for form in forms:
            try:
                compile_expression(form)
            except ExpressionError as error:
                said.append(error.message)
            else:
                said.append("")
        assert not all(f"there is no function `{name.rpartition('.')[2]}`" in each for each in said), name
