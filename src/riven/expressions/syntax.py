"""Reads an expression into a tree, as far as riven must understand it: which names it reads, how much it can grow.

What an expression *means* is decided by the CEL library alone. The grammar here is CEL's, without messages
(`Name{field: value}`), which have no place in JSON.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from riven.expressions.errors import ExpressionError, shorten
from riven.expressions.tokens import Token, TokenKind, tokenise

MAX_SOURCE: Final = 4096
"""Bytes of one expression."""
MAX_NESTING: Final = 32
MAX_DEPTH: Final = 200
"""Levels of the tree: a chain `a + b + c` has one level for each sign, `a && b && c` has one in all."""


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant. `value` is None for null and for what is only measured (bytes, numbers that JSON has not)."""

    start: int
    end: int
    kind: TokenKind
    value: str | int | float | bool | None = None
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Name:
    start: int
    end: int
    name: str
    absolute: bool = False
    """Written `.name`: a root, also where a macro has a variable of that name."""
    depth: int = 0


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field` or `operand.?field`."""

    start: int
    end: int
    operand: "Expr"
    field: str
    optional: bool
    depth: int


@dataclass(frozen=True, slots=True)
class Index:
    """`operand[index]` or `operand[?index]`."""

    start: int
    end: int
    operand: "Expr"
    index: "Expr"
    optional: bool
    depth: int


@dataclass(frozen=True, slots=True)
class Call:
    """`function(args)`, `target.function(args)`, or an operator: then `function` is its sign (`?` the ternary)."""

    start: int
    end: int
    function: str
    target: "Expr | None"
    args: tuple["Expr", ...]
    at: int
    """Where the function's name or the sign stands."""
    depth: int


@dataclass(frozen=True, slots=True)
class Items:
    """`[a, b]`, and `{a: b}` with keys and values in turn."""

    start: int
    end: int
    items: tuple["Expr", ...]
    is_map: bool
    optional: bool
    """One of them is written `?item`."""
    depth: int


Expr: TypeAlias = Literal | Name | Select | Index | Call | Items

_OPERATORS: Final = {
    "||": 1,
    "&&": 2,
    **dict.fromkeys(("==", "!=", "<", "<=", ">", ">=", "in"), 3),
    **dict.fromkeys(("+", "-"), 4),
    **dict.fromkeys(("*", "/", "%"), 5),
}
_CONSTANTS: Final = {"true": True, "false": False, "null": None}
RESERVED: Final = frozenset(
    (
        "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
        "namespace", "return", "var", "void", "while",
    )
)  # fmt: skip
"""Names that CEL keeps for itself; they can be fields, but neither roots nor variables."""

_WORDS: Final = {
    "and": "&&",
    "or": "||",
    "not": "!",
    "True": "true",
    "False": "false",
    "None": "null",
    "nil": "null",
}
_ESCAPE: Final = re.compile(
    r"\\(?:[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-3][0-7]{2})|(.))", re.DOTALL
)
_SIMPLE: Final = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    **{char: char for char in "\\?\"'`"},
}  # fmt: skip


def parse(source: str) -> Expr:
    check_source(source)
    if source.lstrip().startswith("{{"):
        raise ExpressionError(
            "placeholder_in_expression",
            "here the expression stands alone: leave out the {{ and }}",
            source,
            1,
        )
    parser = _Parser(source, tokenise(source))
    return parser.whole()


def check_source(source: str) -> None:
    """Raise for what is wrong with an expression before it is read."""
    if not source or source.isspace():
        raise ExpressionError("expression_empty", "an expression is missing here", source, 1)
    try:
        size = len(source.encode())
    except UnicodeEncodeError as error:
        raise ExpressionError(
            "unsupported_text", "the expression has half of a surrogate pair in it", source, error.start + 1
        ) from None
    if size > MAX_SOURCE:
        raise ExpressionError(
            "expression_too_long",
            f"the expression has {size} bytes, the limit is {MAX_SOURCE}: compute a part of it in a `set` node before",
            source,
        )
    if (nul := source.find("\0")) >= 0:
        raise ExpressionError("unsupported_text", "the expression has a NUL character in it", source, nul + 1)


class _Parser:
    def __init__(self, source: str, tokens: Sequence[Token]) -> None:
        self.source = source
        self.tokens = tokens
        self.position = 0
        self.nesting = 0

    # ---- tokens ---------------------------------------------------------------------------------------------------

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def next(self) -> Token:
        token = self.tokens[self.position]
        self.position += 1
        return token

    def take(self, sign: str) -> bool:
        token = self.tokens[self.position]
        if token.text == sign and token.kind is TokenKind.SIGN:
            self.position += 1
            return True
        return False

    def expect(self, sign: str, why: str) -> Token:
        if not self.take(sign):
            raise self.unexpected(f"{why} a {sign} is missing")
        return self.tokens[self.position - 1]

    def unexpected(self, reason: str) -> ExpressionError:
        token = self.token
        if token.kind is TokenKind.END:
            said = f"the expression ends too early: {reason}"
        else:
            said = f"{shorten(token.text, 40)} cannot stand here: {reason}"
            if token.text in _WORDS:
                said += f"; write {_WORDS[token.text]}"
            elif token.text == "?":
                said += "; for a value that may be missing, the ? comes after the dot: a.?b"
        return ExpressionError("expression_syntax", said, self.source, token.start + 1)

    # ---- bounds ---------------------------------------------------------------------------------------------------

    def enter(self) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            raise too_deep(self.source, self.token.start + 1)

    def leave(self) -> None:
        self.nesting -= 1

    def depth(self, at: int, *below: Expr) -> int:
        depth = 1 + max((node.depth for node in below), default=0)
        if depth > MAX_DEPTH:
            raise too_deep(self.source, at + 1)
        return depth

    def call(self, function: Token, target: Expr | None, args: tuple[Expr, ...], *, start: int) -> Call:
        below = args if target is None else (target, *args)
        depth = self.depth(function.start, *below)
        return Call(start, self.ended(), function.text, target, args, function.start, depth)

    # ---- grammar --------------------------------------------------------------------------------------------------

    def whole(self) -> Expr:
        found = self.expression()
        if self.token.kind is not TokenKind.END:
            before = self.tokens[self.position - 1].text
            hint = f"; for «{before}», write {_WORDS[before]}" if before in _WORDS else ""
            raise self.unexpected(f"the expression is already complete before it{hint}")
        return found

    def expression(self) -> Expr:
        self.enter()
        condition = self.binary(1)
        if self.token.text == "?" and self.token.kind is TokenKind.SIGN:
            sign = self.next()
            then = self.binary(1)
            self.expect(":", "(for a value that may be missing, write a.?b) after `condition ? value`")
            other = self.expression()
            condition = self.call(sign, None, (condition, then, other), start=condition.start)
        self.leave()
        return condition

    def binary(self, level: int) -> Expr:
        left = self.unary()
        while True:
            token = self.token
            operator = _OPERATORS.get(token.text, 0) if token.kind in (TokenKind.SIGN, TokenKind.NAME) else 0
            if operator < level:
                return left
            self.next()
            parts = [left, self.binary(operator + 1)]
            # The evaluator balances these two, so that long ones are not deep.
            while operator <= 2 and self.take(token.text):
                parts.append(self.binary(operator + 1))
            left = self.call(token, None, tuple(parts), start=left.start)

    def unary(self) -> Expr:
        token = self.token
        if token.kind is not TokenKind.SIGN or token.text not in "!-":
            return self.member()
        while self.take(token.text):
            pass
        if self.token.text in ("!", "-") and self.token.kind is TokenKind.SIGN:
            raise self.unexpected("put what comes after the sign before it in parentheses")
        return self.call(token, None, (self.member(),), start=token.start)

    def member(self) -> Expr:
        node = self.primary()
        while True:
            if self.take("."):
                optional = self.take("?")
                name = self.field_name()
                if not optional and name.kind is TokenKind.NAME and self.take("("):
                    node = self.call(name, node, self.arguments(), start=node.start)
                else:
                    depth = self.depth(name.start, node)
                    node = Select(node.start, name.end, node, name.text.strip("`"), optional, depth)
            elif self.take("["):
                optional = self.take("?")
                index = self.expression()
                closed = self.expect("]", "after the index")
                depth = self.depth(index.start, node, index)
                node = Index(node.start, closed.end, node, index, optional, depth)
            elif self.token.text == "{" and isinstance(node, Name | Select):
                raise self.unexpected("to make an object, write {'key': value} without a name before it")
            else:
                return node

    def field_name(self) -> Token:
        token = self.token
        if token.kind is TokenKind.QUOTED_NAME:
            return self.next()
        if token.kind is not TokenKind.NAME or token.text in _CONSTANTS or token.text == "in":
            hint = f'["{token.text}"]' if token.kind is TokenKind.NAME else '["any name"]'
            raise self.unexpected(f"after a dot comes the name of a field; other names are written {hint}")
        return self.next()

    def primary(self) -> Expr:
        token = self.next()
        match token.kind:
            case TokenKind.NAME:
                return self.name(token)
            case TokenKind.STRING:
                return Literal(token.start, token.end, token.kind, unquote(token.text))
            case TokenKind.INT:
                return Literal(
                    token.start, token.end, token.kind, int(token.text, 0 if "x" in token.text else 10)
                )
            case TokenKind.DOUBLE:
                return Literal(token.start, token.end, token.kind, float(token.text))
            case TokenKind.UINT | TokenKind.BYTES:
                return Literal(token.start, token.end, token.kind)
            case TokenKind.SIGN if token.text in "([{.":
                return self.bracketed(token)
            case _:
                self.position -= 1
                raise self.unexpected("a value is missing")

    def name(self, token: Token) -> Expr:
        if token.text in _CONSTANTS:
            return Literal(token.start, token.end, token.kind, _CONSTANTS[token.text])
        if token.text == "in":
            self.position -= 1
            raise self.unexpected("a value is missing")
        if token.text in RESERVED:
            self.position -= 1
            raise self.unexpected("CEL keeps this word for itself")
        if self.take("("):
            return self.call(token, None, self.arguments(), start=token.start)
        return Name(token.start, token.end, token.text)

    def bracketed(self, token: Token) -> Expr:
        match token.text:
            case "(":
                inner = self.expression()
                self.expect(")", "at the end")
                return replace(inner, start=token.start, end=self.ended())
            case "[":
                return self.items(token, "]")
            case "{":
                return self.items(token, "}")
            case _:
                name = self.next()
                if name.kind is not TokenKind.NAME or name.text in _CONSTANTS or name.text == "in":
                    self.position -= 1
                    raise self.unexpected("a name is missing after the dot")
                return Name(token.start, name.end, name.text, absolute=True)

    def arguments(self) -> tuple[Expr, ...]:
        if self.take(")"):
            return ()
        found = [self.expression()]
        while self.take(","):
            found.append(self.expression())
        self.expect(")", "after the arguments")
        return tuple(found)

    def items(self, token: Token, closing: str) -> Expr:
        found: list[Expr] = []
        optional = False
        while not self.take(closing):
            if found:
                self.expect(",", f"between two of these, or at the end a {closing}:")
            elif self.take(","):
                self.expect(closing, "at the end")
                break
            if found and self.take(closing):
                break
            optional |= self.take("?")
            found.append(self.expression())
            if closing == "}":
                self.expect(":", "between a key and its value")
                found.append(self.expression())
        depth = self.depth(token.start, *found)
        return Items(token.start, self.ended(), tuple(found), closing == "}", optional, depth)

    def ended(self) -> int:
        return self.tokens[self.position - 1].end


def too_deep(source: str, column: int | None) -> ExpressionError:
    return ExpressionError(
        "expression_too_deep",
        "this is nested too deep, or too many operations follow each other (about 30 are possible): "
        "compute a part of it in a `set` node before, or write a text with several placeholders",
        source,
        column,
    )


def unquote(text: str) -> str | None:
    """The value of a string literal; None where an escape makes no character, which the library reports."""
    raw = text[0] in "rR"
    body = text[1:] if raw else text
    quote = 3 if body[:3] in ('"""', "'''") and len(body) >= 6 else 1
    body = body[quote:-quote]
    if raw or "\\" not in body:
        return body
    wrong = False

    def character(found: re.Match[str]) -> str:
        nonlocal wrong
        point = next((int(digits, 16) for digits in found.group(1, 2, 3) if digits), None)
        if point is None and found.group(4):
            point = int(found.group(4), 8)
        if point is None and found.group(5) in _SIMPLE:
            return _SIMPLE[found.group(5)]
        if point is None or point > 0x10FFFF or 0xD800 <= point < 0xE000:
            wrong = True
            return ""
        return chr(point)

    decoded = _ESCAPE.sub(character, body)
    return None if wrong else decoded
