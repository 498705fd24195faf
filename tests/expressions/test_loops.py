"""Which loops of an expression can go through their list in pieces."""

import pytest

from riven.expressions.errors import ExpressionError
from riven.expressions.loops import find_loops
from riven.expressions.references import read_expression
from riven.expressions.syntax import parse


@pytest.mark.parametrize(
    ("source", "loops"),
    [
        ("input.a.map(x, x)", ["input.a.map(x, x)"]),
        ("input.a.filter(x, x).map(y, y).size()", ["input.a.filter(x, x).map(y, y)"]),
        ("[input.a.map(x, x), vars.b.filter(x, x)]", ["input.a.map(x, x)", "vars.b.filter(x, x)"]),
        ("input.a.map(x, input.a.size())", ["input.a.map(x, input.a.size())"]),
        ("input.a.map(x, vars.b.map(y, y))", ["input.a.map(x, vars.b.map(y, y))"]),
        ("input.a.exists(x, vars.b.map(y, y) == x)", []),
        ("input.?a.map(x, x)", []),
        ("[1].map(x, input.a)", []),
        ("input.a.map(x)", []),
        ("input.a.all(x, x)", []),
    ],
)
def test_loops_over_paths_are_found(source: str, loops: list[str]) -> None:
    tree = parse(source)
    try:
        reads = read_expression(source, tree).reads
    except ExpressionError:
        assert loops == []
        return
    assert [source[loop.node.start : loop.node.end] for loop in find_loops(tree, reads)] == loops
