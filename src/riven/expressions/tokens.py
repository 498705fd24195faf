"""Cuts an expression into tokens, and finds where one ends inside of a text.

Follows the lexical grammar of CEL, so that quotes, comments and braces are seen as the evaluator sees them.
"""

import re
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from riven.expressions.errors import ExpressionError, shorten


class TokenKind(Enum):
    NAME = auto()
    QUOTED_NAME = auto()
    """A field between backticks: `input.`order-id``."""
    INT = auto()
    UINT = auto()
    DOUBLE = auto()
    STRING = auto()
    BYTES = auto()
    SIGN = auto()
    END = auto()


@dataclass(frozen=True, slots=True)
class Token:
    kind: TokenKind
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


_RAW: Final = r'(?:"""(?:.|\n)*?"""|\'\'\'(?:.|\n)*?\'\'\'|"[^"\r\n]*"|\'[^\'\r\n]*\')'
_COOKED: Final = (
    r'(?:"""(?:[^\\]|\\(?:.|\n))*?"""|\'\'\'(?:[^\\]|\\(?:.|\n))*?\'\'\''
    r'|"(?:[^"\\\r\n]|\\.)*"|\'(?:[^\'\\\r\n]|\\.)*\')'
)
_STRING: Final = rf"[rR]{_RAW}|{_COOKED}"
_BYTES: Final = rf"[bB][rR]{_RAW}|[bB]{_COOKED}"

_TOKEN: Final = re.compile(
    rf"(?P<SKIP>[ \t\r\n\f]+|//[^\n]*)"
    rf"|(?P<BYTES>{_BYTES})"
    rf"|(?P<STRING>{_STRING})"
    r"|(?P<DOUBLE>[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<UINT>(?:0x[0-9a-fA-F]+|[0-9]+)[uU])"
    r"|(?P<INT>0x[0-9a-fA-F]+|[0-9]+)"
    r"|(?P<NAME>[A-Za-z_][A-Za-z0-9_]*)"
    r"|(?P<QUOTED_NAME>`[A-Za-z0-9_.\-/ ]+`)"
    r"|(?P<SIGN>&&|\|\||[=!<>]=|[-\[\](){}.,!?:+*/%<>])"
)

_INSTEAD: Final = {
    "=": "to compare, write ==",
    "&": "for «and», write &&",
    "|": "for «or», write ||",
    ";": "an expression is one value, without ;",
    "$": "names are written without $",
    "`": "a field between backticks needs its second backtick, and no unusual characters",
    "\N{LEFT DOUBLE QUOTATION MARK}": 'use straight quotes: "',
    "\N{RIGHT DOUBLE QUOTATION MARK}": 'use straight quotes: "',
    "\N{LEFT SINGLE QUOTATION MARK}": "use straight quotes: '",
    "\N{RIGHT SINGLE QUOTATION MARK}": "use straight quotes: '",
}


def tokenise(source: str) -> list[Token]:
    """All tokens of an expression, an END token last."""
    tokens: list[Token] = []
    position = 0
    while position < len(source):
        found = _TOKEN.match(source, position)
        if found is None:
            raise _unreadable(source, position)
        kind = found.lastgroup
        if kind is not None and kind != "SKIP":
            tokens.append(Token(TokenKind[kind], found.group(), position))
        position = found.end()
    tokens.append(Token(TokenKind.END, "", len(source)))
    return tokens


def _unreadable(source: str, position: int) -> ExpressionError:
    char = source[position]
    if char in "'\"":
        reason = f"the text that begins with {char} is not closed: it needs the same quote at its end, on the same line"
    else:
        shown = shorten(char) or f"U+{ord(char):04X}"
        reason = f"the character {shown} has no meaning here"
        if char in _INSTEAD:
            reason += f"; {_INSTEAD[char]}"
    return ExpressionError("expression_syntax", reason, source, position + 1)


_NOTABLE: Final = re.compile(rf"{_BYTES}|{_STRING}|//|[\"'{{}}]|[A-Za-z0-9_]+")


class UnclosedError(Exception):
    """The end of an expression was not found; `position` is where looking stopped, `quote` what was left open."""

    def __init__(self, position: int, quote: str) -> None:
        self.position = position
        self.quote = quote
        super().__init__(position, quote)


def placeholder_end(text: str, start: int, limit: int) -> int:
    """Where the `}}` stands that closes the expression beginning at `start`.

    It is the first one outside of its strings and balanced braces. A comment hides quotes and braces, but not the end.
    Looks no further than `limit` characters.
    """
    end = min(len(text), start + limit)
    depth = 0
    position = start
    while (found := _NOTABLE.search(text, position, end)) is not None:
        sign = found.group()
        position = found.end()
        if sign == "//":
            line_end = text.find("\n", position, end)
            close = text.find("}}", position, line_end if line_end >= 0 else end)
            if close >= 0 and depth == 0:
                return close
            position = line_end if line_end >= 0 else end
        elif sign == "{":
            depth += 1
        elif sign == "}":
            if depth:
                depth -= 1
            elif text.startswith("}", position):
                return found.start()
            else:
                raise UnclosedError(found.start(), "}")
        elif sign in "'\"":
            raise UnclosedError(found.start(), sign)
    raise UnclosedError(end, "")
