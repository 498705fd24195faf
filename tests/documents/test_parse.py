import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.documents.builder import MAX_SIZE
from riven.documents.parse import Parsed, parse


def codes(parsed: Parsed) -> list[str]:
    return [flaw.code for flaw in parsed.flaws]


@pytest.mark.parametrize(
    "text",
    [
        "a: é",
        b"a: \xc3\xa9",
        b"\xef\xbb\xbfa: \xc3\xa9",
        "\ufeffa: é",
        "a: é".encode("utf-16"),
        b"\xfe\xff" + "a: é".encode("utf-16-be"),
        '{"a": "é"}',
        '\ufeff{"a": "\\u00e9"}',
    ],
)
def test_text_may_come_in_any_of_the_usual_encodings(text: str | bytes) -> None:
    parsed = parse(text)
    assert parsed.tree is not None
    assert parsed.tree.value == {"a": "é"}
    assert parsed.flaws == ()


def test_a_byte_order_mark_is_no_column() -> None:
    parsed = parse("\ufeffa: .inf")
    assert parsed.lines.at(parsed.flaws[0].offset) == (1, 4)


@pytest.mark.parametrize(
    ("text", "code", "position"),
    [
        ("", "empty_document", (1, 1)),
        (b"", "empty_document", (1, 1)),
        ("# nothing\n", "empty_document", (1, 1)),
        (" \n\t\n", "empty_document", (1, 1)),
        ("---\n", "empty_document", (1, 1)),
        ("- a\n", "not_a_mapping", (1, 1)),
        ("[]", "not_a_mapping", (1, 1)),
        ('  ["a"]', "not_a_mapping", (1, 3)),
        ("word", "not_a_mapping", (1, 1)),
        ("null", "empty_document", (1, 1)),
        ("12", "not_a_mapping", (1, 1)),
        ('"name"', "not_a_mapping", (1, 1)),
        (b"a: \xff", "encoding", (1, 4)),
        (b"a: 1\nb: \xc3", "encoding", (2, 4)),
        (b"\xff\xfea", "encoding", (1, 1)),
        ("a: 1\nb: \0", "nul_character", (2, 4)),
        ("a: \x07", "control_character", (1, 4)),
        ("a: \x7f", "control_character", (1, 4)),
        ("a: \ufffe", "control_character", (1, 4)),
        ("a: \ud800", "lone_surrogate", (1, 4)),
        ('{"a": "\ud800"}', "lone_surrogate", (1, 8)),
        ("%TAG ! x\n---\na: 1", "yaml_tag", (1, 1)),
    ],
)
def test_a_text_that_is_no_document_is_one_clear_problem(
    text: str | bytes, code: str, position: tuple[int, int]
) -> None:
    parsed = parse(text)
    assert parsed.tree is None
    assert codes(parsed) == [code]
    assert parsed.lines.at(parsed.flaws[0].offset) == position


@pytest.mark.parametrize(
    "text",
    [
        "x" * (MAX_SIZE + 1),
        b"x" * (MAX_SIZE + 1),
        "a: " + "é" * (MAX_SIZE // 2),
        "a: " + "\ud800" * (MAX_SIZE + 1),
    ],
    ids=["text", "bytes", "characters of two bytes", "surrogates"],
)
def test_more_than_four_mebibytes_are_refused(text: str | bytes) -> None:
    assert codes(parse(text)) == ["too_large"]


def test_four_mebibytes_are_not_too_much() -> None:
    parsed = parse("a: " + "x" * (MAX_SIZE - 3))
    assert parsed.tree is not None
    assert parsed.flaws == ()


@pytest.mark.parametrize(
    "opening",
    ["[", "{a: ", '{"a": ', '[{"a":', "- ", "? "],
)
def test_ten_thousand_levels_are_one_clear_problem(opening: str) -> None:
    parsed = parse(opening * 10_000)
    assert parsed.tree is None
    assert codes(parsed) == ["too_deep"]


def test_ten_thousand_levels_by_indentation_are_one_clear_problem() -> None:
    assert codes(parse("\n".join(f"{' ' * level}a:" for level in range(2_000)))) == ["too_deep"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    [
        "? ",
        "? a\n",
        "- 1\n",
        "a, ",
        "&a x\n- ",
        "#\n",
        "\n",
        "'a",
        '"a\n',
        "!a ",
        "| \n",
        "a: |\n  x\n",
        "]",
        "{a,",
    ],
)
def test_four_mebibytes_of_anything_end_in_seconds(unit: str) -> None:
    for head in ("", "{", "a: [", '{"a": [', "- "):
        parse((head + unit * (MAX_SIZE // len(unit)))[:MAX_SIZE])


@given(st.text())
def test_any_text_is_a_document_or_a_problem(text: str) -> None:
    parsed = parse(text)
    assert (parsed.tree is not None) or parsed.flaws


@given(st.binary())
def test_any_bytes_are_a_document_or_a_problem(data: bytes) -> None:
    parsed = parse(data)
    assert (parsed.tree is not None) or parsed.flaws


@given(st.text("ab01:-?{}[],&*!|>'\"%@`#~ \n\t.\\"))
def test_any_signs_of_yaml_are_a_document_or_a_problem(text: str) -> None:
    parsed = parse(text)
    assert (parsed.tree is not None) or parsed.flaws
