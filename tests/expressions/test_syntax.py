"""Expressions are read as CEL reads them."""

import pytest
from cel_expr_python import cel
from cel_expr_python.ext import ext_encoders, ext_math, ext_optional, ext_strings

from riven.expressions.errors import ExpressionError
from riven.expressions.syntax import (
    MAX_SOURCE,
    Call,
    Expr,
    Index,
    Items,
    Literal,
    Name,
    Select,
    parse,
    unquote,
)


def shown(node: Expr) -> str:
    """The tree, with parentheses around everything."""
    match node:
        case Literal():
            return "null" if node.value is None else repr(node.value)
        case Name():
            return f".{node.name}" if node.absolute else node.name
        case Select():
            return f"({shown(node.operand)}.{'?' if node.optional else ''}{node.field})"
        case Index():
            return f"({shown(node.operand)}[{'?' if node.optional else ''}{shown(node.index)}])"
        case Items():
            return ("{%s}" if node.is_map else "[%s]") % ", ".join(map(shown, node.items))
        case Call():
            target = "" if node.target is None else f"{shown(node.target)}."
            return f"{target}{node.function}({', '.join(map(shown, node.args))})"


@pytest.mark.parametrize(
    ("source", "tree"),
    [
        ("a.b.c", "((a.b).c)"),
        ("a.?b[0][?'c']", "(((a.?b)[0])[?'c'])"),
        ("a . ? b", "(a.?b)"),
        ("a.`b-c`", "(a.b-c)"),
        (".a", ".a"),
        ("1 + 2 * 3 - 4", "-(+(1, *(2, 3)), 4)"),
        ("1 < 2 == true", "==(<(1, 2), True)"),
        ("a || b && c || d", "||(a, &&(b, c), d)"),
        ("a ? b : c ? d : e", "?(a, b, ?(c, d, e))"),
        ("!!a", "!(a)"),
        ("-a.b", "-((a.b))"),
        ("a - -1", "-(a, -(1))"),
        ("!(-a)", "!(-(a))"),
        ("x in [1, 2,]", "in(x, [1, 2])"),
        ("{'a': 1, 'b': [2]}", "{'a', 1, 'b', [2]}"),
        ("[,]", "[]"),
        ("{,}", "{}"),
        ("[?a.?b, c]", "[(a.?b), c]"),
        ("a.map(x, x * 2).size()", "a.map(x, *(x, 2)).size()"),
        ("f()", "f()"),
        ("(a + b).c", "(+(a, b).c)"),
        ("a.loop", "(a.loop)"),
        ("null == true", "==(null, True)"),
        ("0x1F", "31"),
        ("r'\\d' + '\\u00e9'", "+('\\\\d', 'é')"),
    ],
)
def test_the_tree_follows_the_grammar(source: str, tree: str) -> None:
    assert shown(parse(source)) == tree


def test_parts_know_where_they_stand() -> None:
    source = " (input . a)[0] + 'x'"
    tree = parse(source)
    assert isinstance(tree, Call)
    assert [source[arg.start : arg.end] for arg in tree.args] == ["(input . a)[0]", "'x'"]
    assert source[tree.at] == "+"


@pytest.mark.parametrize(
    ("source", "code", "hint"),
    [
        ("", "expression_empty", "missing"),
        (" \n\t", "expression_empty", "missing"),
        ("// nothing", "expression_syntax", "ends too early"),
        ("a +", "expression_syntax", "a value is missing"),
        ("a b", "expression_syntax", "already complete"),
        ("not a", "expression_syntax", "write !"),
        ("a and b", "expression_syntax", "write &&"),
        ("a or b", "expression_syntax", "write ||"),
        ("a?.b", "expression_syntax", "a.?b"),
        ("a ? b", "expression_syntax", "a : is missing"),
        ("a.in", "expression_syntax", '["in"]'),
        ("a.1", "expression_syntax", "already complete"),
        ("a.'b'", "expression_syntax", "name of a field"),
        ("(a", "expression_syntax", "a ) is missing"),
        ("[a", "expression_syntax", "a ]"),
        ("{'a' 1}", "expression_syntax", "between a key and its value"),
        ("f(a b)", "expression_syntax", "after the arguments"),
        ("f(a,)", "expression_syntax", "a value is missing"),
        ("a[0", "expression_syntax", "after the index"),
        ("!-a", "expression_syntax", "parentheses"),
        ("while", "expression_syntax", "keeps this word"),
        ("x{a: 1}", "expression_syntax", "{'key': value}"),
        ("google.protobuf.Any{}", "expression_syntax", "{'key': value}"),
        ("{{ a }}", "placeholder_in_expression", "leave out"),
        ("  {{ a }} == 1", "placeholder_in_expression", "leave out"),
        ("'\ud800'", "unsupported_text", "surrogate"),
        ("'a\0'", "unsupported_text", "NUL"),
        ("'" + "x" * MAX_SOURCE + "'", "expression_too_long", "4096"),
        ("'" + "é" * 2048 + "'", "expression_too_long", "4098 bytes"),
    ],
)
def test_what_cannot_be_read_is_explained(source: str, code: str, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        parse(source)
    assert caught.value.code == code
    assert hint in caught.value.message


DEEP = [
    lambda n: "(" * n + "1" + ")" * n,
    lambda n: "[" * n + "]" * n,
    lambda n: "{1:" * n + "1" + "}" * n,
    lambda n: "f(" * n + "1" + ")" * n,
    lambda n: "a[" * n + "1" + "]" * n,
    lambda n: "true ? 1 : " * n + "1",
    lambda n: "1" + "+1" * n,
    lambda n: "a" + ".b" * n,
    lambda n: "a" + "[0]" * n,
    lambda n: "a" + ".f()" * n,
    lambda n: "(" * n,
    lambda n: "!(" * n,
]


@pytest.mark.parametrize("deep", DEEP)
@pytest.mark.parametrize("count", [300, 10_000])
def test_depth_is_an_error_and_no_crash(deep: object, count: int) -> None:
    assert callable(deep)
    with pytest.raises(ExpressionError) as caught:
        parse(deep(count))
    assert caught.value.code in ("expression_too_deep", "expression_too_long")


@pytest.mark.parametrize("source", ["!" * 4000 + "true", "-" * 4000 + "1", "true" + "&&true" * 500])
def test_what_is_long_but_flat_is_read(source: str) -> None:
    assert isinstance(parse(source), Call)


LIBRARY = cel.NewEnv(
    variables=dict.fromkeys("abc", cel.Type.DYN),
    extensions=[
        ext_strings.ExtStrings(),
        ext_math.ExtMath(),
        ext_optional.ExtOptional(),
        ext_encoders.ExtEncoders(),
    ],
)


@pytest.mark.parametrize(
    "literal",
    [
        "'a'",
        '"a"',
        "'''a'b'''",
        '"""a"b"""',
        "''",
        "''''''",
        r"'\a\b\f\n\r\t\v\\\?\"\'\`'",
        r"'\x41\X41\101\u0041\U0001F600'",
        r"r'\n'",
        r"R'\d'",
        "'''a\nb'''",
        "'é😀'",
        r"'\377'",
    ],
)
def test_texts_have_the_value_that_cel_gives_them(literal: str) -> None:
    assert unquote(literal) == LIBRARY.compile(literal).eval().value()


@pytest.mark.parametrize(
    "literal", [r"'\q'", r"'\x4'", r"'\u004'", r"'\ud800'", r"'\U00110000'", r"'\400'", r"'\8'"]
)
def test_texts_that_cel_refuses_have_no_value(literal: str) -> None:
    assert unquote(literal) is None
    with pytest.raises(RuntimeError):
        LIBRARY.compile(literal)


@pytest.mark.parametrize(
    "source",
    [
        "a.b.c[0].?d[?'e']",
        "[a, ?a.?b, 1,]",
        "{'x': a, ?'y': a.?b,}",
        "a.map(x, x > 1, x * 2).filter(y, y in [1, 2u])",
        "!a || -b < 1 && a ? b : a ? 1 : 2",
        "a.exists(x, x.y == .a)",
        "b'x' + br'\\x' == b'''y'''",
        "1.5e3 + .5 - double(0x1F)",
        "a // comment\n + b",
        "[,]",
        "{,}",
        "a.`b-c d/e.f`",
        "has(a.b) && has(a.b.c)",
        "'a' in {'a': 1}",
        "math.greatest([1, 2]) + size('x')",
        "optional.of(1).orValue(2)",
        "string(a.b.size()).matches(b)",
    ],
)
def test_what_cel_reads_is_read_too(source: str) -> None:
    LIBRARY.compile(source)  # else the example itself is wrong
    parse(source)
