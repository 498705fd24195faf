import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.documents.test_yaml_text import flaws, value

from riven.documents.parse import parse
from riven.wire.document import Json


def test_json_is_read_in_its_own_right() -> None:
    text = (
        '\t{"a": "\\ud83d\\ude00\\/\\t\\"", "b": [1, -0, 1.5e3, true, null, {}, []],\n\t"c\\u0041": ""}\r\n'
    )
    assert value(text) == {"a": '😀/\t"', "b": [1, 0, 1500.0, True, None, {}, []], "cA": ""}


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ('{"a": 1,}', (1, 9), "delete the comma"),
        ('{"a": [1,]}', (1, 10), "delete the comma"),
        ('{"a": 1', (1, 8), "} is missing"),
        ('{"a": [1, 2', (1, 12), "] is missing"),
        ('{"a"', (1, 5), "a : is missing"),
        ('{"a" 1}', (1, 6), "a : is missing"),
        ('{"a":}', (1, 6), "a value is missing before }"),
        ('{"a":', (1, 6), "a value is missing"),
        ('{"a": 1 "b": 2}', (1, 9), "a comma, or }, is missing"),
        ('{"a": [1 2]}', (1, 10), "a comma, or ], is missing"),
        ('{"a": [1}', (1, 9), "closed by ], not by }"),
        ('{"a": 1}]', (1, 9), "already complete"),
        ('{"a": 1} {"b": 2}', (1, 10), "already complete"),
        ('{"a": True}', (1, 7), "True is written true"),
        ('{"a": None}', (1, 7), "None is written null"),
        ("{\"a\": 'x'}", (1, 7), "double quotes"),
        ('{"a": 1, b: 2}', (1, 10), "double quotes"),
        ('{"a": x}', (1, 7), "x is no value"),
        ('{"a": 01}', (1, 7), "not how JSON writes a number"),
        ('{"a": +1}', (1, 7), "not how JSON writes a number"),
        ('{"a": .5}', (1, 7), "not how JSON writes a number"),
        ('{"a": 1.}', (1, 7), "not how JSON writes a number"),
        ('{"a": 0x10}', (1, 7), "not how JSON writes a number"),
        ('{"a": "x}\n', (1, 7), "not closed"),
        ('{"a": "x\ty"}', (1, 9), "\\t"),
        ('{"a": "\\x"}', (1, 8), "written twice"),
        ('{"a": "\\u12"}', (1, 8), "written twice"),
        ('{"a": 1, # no\n}', (1, 10), "double quotes"),
        ('{"a": 1, /* no */ "b": 2}', (1, 10), "double quotes"),
    ],
)
def test_what_is_no_json_names_the_place_and_what_to_do(
    text: str, position: tuple[int, int], words: str
) -> None:
    parsed = parse(text)
    assert parsed.tree is None
    assert flaws(parsed) == [("json_syntax", position)]
    assert words in parsed.flaws[0].message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"a": 1, "a": 2}', [("duplicate_key", (1, 10))]),
        ('{"a": NaN, "b": -Infinity}', [("not_finite", (1, 7)), ("not_finite", (1, 17))]),
        ('{"a": 1e400}', [("not_finite", (1, 7))]),
        ('{"a": [9223372036854775808]}', [("integer_range", (1, 8))]),
        ('{"a": "\\u0000"}', [("nul_character", (1, 7))]),
        ('{"a": "\\ud800x", "\\udc00": 1}', [("lone_surrogate", (1, 7)), ("lone_surrogate", (1, 18))]),
    ],
)
def test_mistakes_after_which_reading_goes_on_are_all_told(
    text: str, expected: list[tuple[str, tuple[int, int]]]
) -> None:
    parsed = parse(text)
    assert parsed.tree is not None
    assert flaws(parsed) == expected


ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text("ab\u00e9\n", max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(ANY_JSON, st.sampled_from([None, 1, "\t"]), st.booleans())
def test_all_json_is_read_as_it_was_written(data: Json, indent: int | str | None, escaped: bool) -> None:  # noqa: FBT001
    text = json.dumps({"data": data}, indent=indent, ensure_ascii=escaped)
    read = value(text) if escaped or text.isascii() else _value_or_refused(text)
    assert read is None or read == {"data": data}


def _value_or_refused(text: str) -> Json:
    """Characters such as U+FFFE may be escaped, but do not stand in a text."""
    parsed = parse(text)
    if parsed.tree is None:
        assert [flaw.code for flaw in parsed.flaws] == ["control_character"]
        return None
    return parsed.tree.value


@given(st.text('{}[]":,\\u0a1e- tfn\n', max_size=30))
def test_what_the_standard_library_refuses_is_refused(tail: str) -> None:
    text = '{"' + tail
    try:
        expected = json.loads(text, parse_constant=lambda name: name)
    except ValueError:
        assert parse(text).flaws
    else:
        parsed = parse(text)
        assert parsed.tree is not None
        assert parsed.flaws or parsed.tree.value == expected
