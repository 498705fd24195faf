"""Expressions are cut as CEL cuts them."""

import pytest

from riven.expressions.errors import ExpressionError
from riven.expressions.tokens import TokenKind, UnclosedError, placeholder_end, tokenise


def kinds(source: str) -> list[tuple[TokenKind, str]]:
    return [(token.kind, token.text) for token in tokenise(source)[:-1]]


@pytest.mark.parametrize(
    ("source", "kind"),
    [
        ("input", TokenKind.NAME),
        ("_x9", TokenKind.NAME),
        ("`order-id`", TokenKind.QUOTED_NAME),
        ("12", TokenKind.INT),
        ("0x1F", TokenKind.INT),
        ("12u", TokenKind.UINT),
        ("0xFFu", TokenKind.UINT),
        ("1.5", TokenKind.DOUBLE),
        (".5", TokenKind.DOUBLE),
        ("1e3", TokenKind.DOUBLE),
        ("1.5E-3", TokenKind.DOUBLE),
        ("'a'", TokenKind.STRING),
        (r"'it\'s'", TokenKind.STRING),
        ('"a"', TokenKind.STRING),
        ("'''a\n'b''c'''", TokenKind.STRING),
        ('"""a "quoted" b"""', TokenKind.STRING),
        (r"r'\d+'", TokenKind.STRING),
        (r"R'''\d'''", TokenKind.STRING),
        ("b'abc'", TokenKind.BYTES),
        (r"br'\x'", TokenKind.BYTES),
        ("&&", TokenKind.SIGN),
        ("<=", TokenKind.SIGN),
        ("?", TokenKind.SIGN),
    ],
)
def test_one_token(source: str, kind: TokenKind) -> None:
    assert kinds(source) == [(kind, source)]


def test_blanks_and_comments_are_left_out() -> None:
    assert [text for _, text in kinds("input // don't 'mind' {{\n . a")] == ["input", ".", "a"]


def test_positions_count_characters() -> None:
    assert [(token.text, token.start, token.end) for token in tokenise("'é😀' + a")] == [
        ("'é😀'", 0, 4),
        ("+", 5, 6),
        ("a", 7, 8),
        ("", 8, 8),
    ]


@pytest.mark.parametrize(
    ("source", "column", "hint"),
    [
        ("a = 1", 3, "write =="),
        ("a & b", 3, "write &&"),
        ("a | b", 3, "write ||"),
        ("'open", 1, "not closed"),
        ("a + 'b\nc'", 5, "not closed"),
        ("a # b", 3, "no meaning"),
        ("\N{LEFT DOUBLE QUOTATION MARK}a\N{RIGHT DOUBLE QUOTATION MARK}", 1, "straight quotes"),
        ("a;", 2, "without ;"),
        ("a\N{BELL}", 2, "no meaning"),
    ],
)
def test_what_cannot_be_cut_says_what_to_write(source: str, column: int, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        tokenise(source)
    assert (caught.value.code, caught.value.column) == ("expression_syntax", column)
    assert hint in caught.value.message


@pytest.mark.parametrize(
    "inside",
    [
        " a ",
        "{'a': {'b': 1}}",
        "'}}'",
        '"}}"',
        "'''}}'}}'''",
        '"""}}"}}"""',
        r"r'\}}'",
        r"'\'}}'",
        "b'}}'",
        "[{'a': '}'}]",
        " a // don't\n + b ",
        " a // } \n ",
        "",
    ],
)
def test_an_expression_ends_at_the_braces_outside_of_strings(inside: str) -> None:
    text = "{{" + inside + "}} and }} more '"
    assert placeholder_end(text, 2, 4096) == 2 + len(inside)


def test_a_comment_ends_with_the_expression() -> None:
    assert placeholder_end("{{ a // don't }} b", 2, 4096) == 14


@pytest.mark.parametrize(
    ("text", "position", "quote"),
    [
        ("{{ a", 4, ""),
        ("{{ a }", 5, "}"),
        ("{{ 'a }}", 3, "'"),
        ('{{ "a }}', 3, '"'),
        ("{{ {'a': 1 }}", 12, "}"),
        ("{{ {'a': 1", 10, ""),
        ("{{ // a", 7, ""),
    ],
)
def test_an_open_end_is_told(text: str, position: int, quote: str) -> None:
    with pytest.raises(UnclosedError) as caught:
        placeholder_end(text, 2, 4096)
    assert (caught.value.position, caught.value.quote) == (position, quote)


def test_the_end_is_not_looked_for_beyond_the_limit() -> None:
    with pytest.raises(UnclosedError) as caught:
        placeholder_end("{{" + " " * 100 + "}}", 2, 50)
    assert caught.value.position == 52
