import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.documents.parse import Parsed, parse
from riven.wire.document import Json


def flaws(parsed: Parsed) -> list[tuple[str, tuple[int, int]]]:
    return [(flaw.code, parsed.lines.at(flaw.offset)) for flaw in parsed.flaws]


def value(text: str) -> Json:
    parsed = parse(text)
    assert parsed.tree is not None, parsed.flaws
    assert parsed.flaws == ()
    return parsed.tree.value


def test_yaml_1_2_has_few_magic_words() -> None:
    text = "on: off\nyes: no\n1: one\ntrue: false\nnull: ~\n'2': two\nx: &a [1, 'on']\ny: *a\n"
    assert value(text) == {
        "on": "off",
        "yes": "no",
        "1": "one",
        "true": False,
        "null": None,
        "2": "two",
        "x": [1, "on"],
        "y": [1, "on"],
    }


def test_quoted_and_block_text_stays_text() -> None:
    text = 'a: \'1\'\nb: "true"\nc: |\n  12\nd: >-\n  null\ne: "\\u00e9\\n"\n'
    assert value(text) == {"a": "1", "b": "true", "c": "12\n", "d": "null", "e": "é\n"}


@pytest.mark.parametrize(
    ("text", "code", "position", "words"),
    [
        ("a: b: c", "yaml_syntax", (1, 5), "needs quotes"),
        ("a:\n\tb: 1", "yaml_syntax", (2, 1), "indent with spaces"),
        ("a: @x", "yaml_syntax", (1, 4), "@ needs quotes"),
        ("a: `x", "yaml_syntax", (1, 4), "needs quotes"),
        ("a: 'x\nb: 1", "yaml_syntax", (1, 4), "not closed"),
        ('a: "\\q"', "yaml_syntax", (1, 5), "backslash is written twice"),
        ('a: "\\ud800"', "yaml_syntax", (1, 7), "surrogate"),
        ("a: [1, 2\nb: 3", "yaml_syntax", (2, 2), "closed"),
        ("a: {b: 1", "yaml_syntax", (1, 9), "closed"),
        ("- a\nb: c", "yaml_syntax", (2, 1), "begins with `- `"),
        ("a: 1\n b: 2", "yaml_syntax", (2, 3), "needs quotes"),
        ("a: 1\n---\nb: 2", "several_documents", (2, 1), "one workflow"),
        ("a: b\u2028c\nd: e", "yaml_syntax", (1, 5), "U+2028"),
        ("? " * 200, "too_deep", (1, 203), "flatten"),
    ],
)
def test_what_is_no_yaml_names_the_place_and_what_to_do(
    text: str, code: str, position: tuple[int, int], words: str
) -> None:
    parsed = parse(text)
    assert parsed.tree is None
    assert flaws(parsed) == [(code, position)]
    assert words in parsed.flaws[0].message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: 2\na: 3", [("duplicate_key", (3, 1))]),
        ("a: {b: 1, b: 2}\n'a': 3", [("duplicate_key", (1, 11)), ("duplicate_key", (2, 1))]),
        ("a: !!str 1", [("yaml_tag", (1, 4))]),
        ("a: !mine {b: 1}", [("yaml_tag", (1, 4))]),
        ("!x a: [!y b]", [("yaml_tag", (1, 1)), ("yaml_tag", (1, 8))]),
        ("a: &a {b: 1}\nc: {<<: *a}", [("merge_key", (2, 5))]),
        ("a: {{ input.x }}", [("invalid_key", (1, 5))]),
        ("a:\n  ? [b]\n  : c", [("invalid_key", (2, 5))]),
        ("a: &a b\n*a : c", [("invalid_key", (2, 1))]),
        ("a:\n  ? \n  : c", [("invalid_key", (2, 4))]),
        ('a:\n  "\\0": c', [("nul_character", (2, 3))]),
        ('a: "x\\0y"', [("nul_character", (1, 4))]),
        ("a: *b", [("unknown_alias", (1, 4))]),
        ("a: &b [*b]", [("alias_recursion", (1, 8))]),
        ("a: 9223372036854775808\nb: .inf", [("integer_range", (1, 4)), ("not_finite", (2, 4))]),
    ],
)
def test_mistakes_after_which_reading_goes_on_are_all_told(
    text: str, expected: list[tuple[str, tuple[int, int]]]
) -> None:
    parsed = parse(text)
    assert parsed.tree is not None
    assert flaws(parsed) == expected


def test_a_placeholder_without_quotes_is_told_with_its_remedy() -> None:
    [flaw] = parse("with:\n  url: {{ input.x }}\n").flaws
    assert flaw.location == ("with", "url")
    assert 'needs quotes around it: "{{ ... }}"' in flaw.message


def test_an_alias_bomb_is_stopped_early() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    parsed = parse("\n".join(lines))
    assert [flaw.code for flaw in parsed.flaws] == ["alias_expansion"]


JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(min_codepoint=32, max_codepoint=126)),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=4)
    ),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_json_is_read_the_same_by_either_reader(data: Json) -> None:
    as_json = json.dumps({"data": data})
    as_yaml = f"# not JSON\n{as_json}"
    assert value(as_json) == value(as_yaml) == {"data": data}
