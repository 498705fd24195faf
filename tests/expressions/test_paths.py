"""Paths are followed as CEL follows them, and say what is there instead."""

import pytest
from hypothesis import given, settings
from tests.expressions.oracle import NESTED, BareError, bare, paths, same

from riven.expressions.cel import compile_expression
from riven.expressions.errors import ExpressionError

ROOTS = {
    "input": {
        "a": {"b": 1, "none": None, "list": [1, {"x": 5}], "text": "t", "ID": 7},
        "order-id": 3,
        "empty": {},
    },
    "steps": {
        "done": {
            "status": "COMPLETED",
            "outcome": "success",
            "error": None,
            "attempts": 1,
            "output": {"id": 7},
        },
        "skipped": {"status": "SKIPPED", "outcome": None, "error": None, "attempts": 0},
    },
    "secrets": {"token": "s3cret"},
    "vars": {f"key{number:03}": number for number in range(100)},
}


def value(source: str) -> object:
    return compile_expression(source).evaluate(ROOTS)


def failure(source: str) -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        value(source)
    return caught.value


@settings(deadline=None)
@given(source=paths(), input=NESTED)
def test_paths_lead_where_cel_leads(source: str, input: object) -> None:
    asked = f"[({source})]" if "?" not in source else f"({source}).orValue('absent')"
    try:
        expected = bare(asked, {"input": input})
    except BareError:
        with pytest.raises(ExpressionError):
            compile_expression(asked).evaluate({"input": input})
    else:
        assert same(compile_expression(asked).evaluate({"input": input}), expected)


@settings(deadline=None)
@given(source=paths(optional=False), input=NESTED)
def test_has_asks_as_cel_asks(source: str, input: object) -> None:
    asked = f"has({source}.a)"
    try:
        expected = bare(asked, {"input": input})
    except BareError:
        with pytest.raises(ExpressionError):
            compile_expression(asked).evaluate({"input": input})
    else:
        assert compile_expression(asked).evaluate({"input": input}) is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("steps.?skipped.?output.?body.?id.orValue(null)", None),
        ("steps.?nowhere.?output.?body.?id.orValue(null)", None),
        ("steps.?done.?output.?body.?id.orValue(null)", None),
        ("steps.?done.?output.?id.orValue(null)", 7),
        ("steps.skipped.?output.?id.orValue('none')", "none"),
        ("input.a.list[?9].orValue([])", []),
        ("input.a.?none.orValue(1)", None),
        ("input[?'order-id'].orValue(0)", 3),
        ("input.`order-id`", 3),
        ("has(steps.skipped.output)", False),
        ("has(steps.done.output)", True),
        ("steps.skipped.status", "SKIPPED"),
    ],
)
def test_maybe(source: str, expected: object) -> None:
    assert value(source) == expected


def test_a_missing_key_names_those_that_exist_and_the_nearest() -> None:
    error = failure("input.a.id")
    assert (error.code, error.column) == ("missing_path", 1)
    assert error.message == (
        "`input.a.id` is missing: `input.a` has `b`, `none`, `list`, `text`, `ID`; did you mean `ID`?; "
        "to allow that it is missing, write input.a.?id.orValue(null)"
    )


def test_a_long_list_of_keys_is_cut_short() -> None:
    message = failure("vars.key99 + 1").message
    assert "`key011` and 88 more" in message
    assert "did you mean `key099`?" in message
    assert "(in `vars.key99 + 1`)" in message


def test_long_and_odd_keys_do_not_flood_the_message() -> None:
    roots = {"input": {"x" * 100_000: 1, "a\0\n\x1b[31m": 2, "\ud800": 3}}
    with pytest.raises(ExpressionError) as caught:
        compile_expression("input.b").evaluate(roots)
    message = caught.value.message
    assert len(message) < 400
    assert message.isprintable()


def test_a_step_without_output_says_why_and_what_to_write() -> None:
    expected = (
        "step `skipped` has no output (it was SKIPPED): to allow that, use "
        "steps.?skipped.?output.?body.?id.orValue(null)"
    )
    assert failure("steps.skipped.output.body.id").reason == expected
    assert failure("steps.skipped.output.body.id + 1").reason == expected


@pytest.mark.parametrize(
    ("source", "code", "hint"),
    [
        ("input.a.none.x", "not_an_object", "`input.a.none` is null, so it has no field `x`"),
        ("input.a.text.x", "not_an_object", "is text"),
        ("input.a.b.x", "not_an_object", "is a number"),
        ("input.a.list.x", "not_an_object", "`input.a.list[0]`"),
        (
            "input.a.?none.?x.orValue(1)",
            "not_an_object",
            "ask first: input.a.?none.orValue(null) == null ? null : input.a.none.x",
        ),
        ("input.a.list[2]", "missing_path", "has 2 items, the first is [0]"),
        ("input.a.b[0]", "not_an_object", "no item [0]"),
        ("input.empty.x", "missing_path", "has no keys at all"),
        ("steps.nowhere.output", "missing_path", "there is no step `nowhere`"),
        ("secrets.tokn", "missing_path", "did you mean `token`?"),
        ("item.x", "missing_path", "in the body of a for_each only"),
        ("iteration.index", "missing_path", "in a repeat only"),
        ("workspace.id", "missing_path", "does not exist here"),
    ],
)
def test_what_is_not_there_is_explained(source: str, code: str, hint: str) -> None:
    error = failure(source)
    assert error.code == code
    assert hint in error.message


def test_no_message_holds_a_secret() -> None:
    for source in [
        "secrets.token.x",
        "secrets.token[0]",
        "int(secrets.token)",
        "input.a[secrets.token]",
        "input.a.text.matches('(' + secrets.token)",
    ]:
        assert "s3cret" not in failure(source).message


def test_a_path_yields_the_value_itself() -> None:
    assert value("input.a") is ROOTS["input"]["a"]  # type: ignore[index]
