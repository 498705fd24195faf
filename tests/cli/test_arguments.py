from typing import Any

import pytest

from riven.cli.arguments import (
    CallError,
    parse_decisions,
    parse_input,
    parse_secrets,
    parse_signals,
    parse_timeout,
)


def no_file(name: str) -> object:
    raise AssertionError(name)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        (["a=1"], {"a": 1}),
        (["a=1.5", "b=true", "c=null", 'd="x"', "e=[1, 2]", 'f={"g": 1}'], {"a": 1.5, "b": True, "c": None, "d": "x", "e": [1, 2], "f": {"g": 1}}),
        (["a=text", "b=", "c=x=y", "d=01", "e=NaN", "f={x"], {"a": "text", "b": "", "c": "x=y", "d": "01", "e": "NaN", "f": "{x"}),
        (['{"a": 1, "b": 2}', "b=3"], {"a": 1, "b": 3}),
        (['  {"a": "x=y"}'], {"a": "x=y"}),
        (["a=1", "a=2"], {"a": 2}),
        ([], {}),
    ],
)  # fmt: skip
def test_input_is_json_where_it_is_json_and_text_otherwise(written: list[str], value: dict[str, Any]) -> None:
    assert parse_input(written, no_file) == value


def test_input_comes_from_files_too() -> None:
    assert parse_input(["@x.json", "b=1"], lambda name: {"a": name, "b": 0}) == {"a": "x.json", "b": 1}


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ('{"a": 1', "line 1, column 8"),
        ('{"a": 1,\n "b": x}', "line 2, column 7"),
        ('{"a": NaN}', "NaN is no JSON value"),
        ('{"a": 123456789012345678901}', "beyond 64 bits"),
        ('{"a": ' + "9" * 5000 + "}", "beyond 64 bits"),
        ('{"a": 1e999}', "too large"),
        ('{"a": 1, "a": 2}', "stands twice"),
        ('{"a":' + "[" * 100_000, "nested too deeply"),
        ("a=" + "[" * 100_000, "nested too deeply"),
        ("a=123456789012345678901", "beyond 64 bits"),
        ("[1]", "is a list; the input is a JSON object"),
        ("7", "is a number; the input is a JSON object"),
        ('"x"', "is text; the input is a JSON object"),
        ("amount", "write a JSON object, @file or name=value"),
        ("=1", "write a name before the '='"),
    ],
)
def test_bad_input_is_one_line_that_says_what_to_do(written: str, said: str) -> None:
    with pytest.raises(CallError) as refused:
        parse_input([written], no_file)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.path == "input"


def test_a_file_that_holds_no_object_is_refused() -> None:
    with pytest.raises(CallError, match="--input '@x' holds a list"):
        parse_input(["@x"], lambda _: [1])


def test_signals_carry_json() -> None:
    assert parse_signals(['paid={"by": "card"}', "paid=1", "other=null"]) == [("paid", {"by": "card"}), ("paid", 1), ("other", None)]  # fmt: skip
    with pytest.raises(CallError, match="--signal 'paid' is no JSON"):
        parse_signals(["paid=card"])
    with pytest.raises(CallError, match="write name=json"):
        parse_signals(["paid"])


def test_decisions_are_approved_or_rejected() -> None:
    assert parse_decisions(["ask=approved", "each[0].ask=rejected"]) == {
        "ask": "approved",
        "each[0].ask": "rejected",
    }
    for written in (["ask"], ["ask=yes"], ["=approved"], ["ask=approved", "ask=rejected"]):
        with pytest.raises(CallError, match="--approve"):
            parse_decisions(written)


def test_secrets_never_appear_in_messages() -> None:
    assert parse_secrets(["token=a=b"]) == {"token": "a=b"}
    for written in ("hunter2", "1bad=hunter2", "=hunter2"):
        with pytest.raises(CallError) as refused:
            parse_secrets([written])
        assert "hunter2" not in str(refused.value)


def test_a_timeout_is_a_duration() -> None:
    assert parse_timeout("1m30s") == 90_000
    assert parse_timeout(None) is None
    for written in ("soon", "0s", "-1s"):
        with pytest.raises(CallError, match="--timeout"):
            parse_timeout(written)
