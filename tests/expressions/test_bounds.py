"""What an expression may cost is known before it runs, and is never less than what it costs."""

import subprocess
import sys
import time

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.expressions.oracle import NESTED, expressions

from riven.expressions.bounds import LIMIT, Size, bound
from riven.expressions.cel import compile_expression
from riven.expressions.errors import ExpressionError
from riven.expressions.references import read_expression
from riven.expressions.syntax import parse
from riven.expressions.values import measure


def bound_of(source: str, size: Size) -> float:
    tree = parse(source)
    reads = read_expression(source, tree).reads
    return bound(tree, {(read.start, read.end): size for read in reads}, given=size.size).work


@settings(deadline=None)
@given(source=expressions(), input=NESTED)
def test_no_result_is_larger_than_its_bound(source: str, input: object) -> None:
    roots = {"input": input, "vars": {"a": input, "b": [1]}}
    try:
        tree = parse(source)
        reads = read_expression(source, tree).reads
        result = compile_expression(source).evaluate(roots)
    except ExpressionError:
        return
    size = measure(roots, 0)
    sizes = {(read.start, read.end): Size(size.size) for read in reads}
    assert len(orjson.dumps(result)) <= bound(tree, sizes, given=size.size).size + 8


@settings(deadline=None)
@given(source=expressions(), size=st.floats(8, 1e5), factor=st.floats(1, 10))
def test_bounds_grow_with_sizes(source: str, size: float, factor: float) -> None:
    try:
        smaller = bound_of(source, Size(size))
    except ExpressionError:
        return
    assert smaller <= bound_of(source, Size(size * factor)) or smaller > LIMIT


@pytest.mark.parametrize(
    "source",
    [
        "input.a == 1 && input.b.contains('x')",
        "input.items.map(x, x.id)",
        "input.items.filter(x, x.ok && x.total > 10.0).map(x, x.name).join(', ')",
        "input.rows.map(r, r.cells.map(c, '<td>' + c + '</td>').join('')).join('\\n')",
        "input.text.replace('\\n', '<br>').replace('\"', '&quot;').trim().lowerAscii()",
        "'%s: %d of %.2f'.format([input.name, input.n, input.total])",
        "input.xs.filter(x, x in input.ys)",
        "input.email.matches('^[\\\\w.+-]+@[\\\\w-]+\\\\.\\\\w{2,}$')",
        "input.xs.map(x, input.index[x].name + '!')",
        "input.csv.split('\\n').map(line, line.split(',')).filter(cells, cells.size() > 3)",
        "'id-' + input.id + '-' + string(input.n) + '-' + vars.suffix",
        "base64.encode(bytes(input.user + ':' + input.password))",
    ],
)
def test_what_people_write_is_affordable(source: str) -> None:
    lines = "some words in a line, a second cell, a third\n" * 500
    assert bound_of(source, Size(100_000.0, 500.0, Size(1_000.0, 20.0, Size(100.0, 20.0)), lines)) <= LIMIT


TEXT = "x" * 1_000_000
ROOTS = {
    "input": {
        "text": TEXT,
        "list": list(range(150)),
        "rows": [{"id": number, "name": f"row {number}"} for number in range(9_000)],
        "pattern": "(a|b){1000}c",
        "layout": "%s" * 200_000,
        "object": {str(number): number for number in range(20_000)},
    }
}

HOSTILE = {
    "cubic": "input.list.map(a, input.list.map(b, input.list.map(c, 1)))",
    "cubic all": "input.list.all(a, input.list.all(b, input.list.all(c, true)))",
    "quadratic": "input.rows.exists(a, input.rows.exists(b, a.id == b.id + 10000))",
    "too many elements": "input.object.all(key, key != '')",
    "doubled text": "['x']" + ".map(a, a + a)" * 28,
    "doubled lists": "[1]" + ".map(a, [a, a])" * 28,
    "doubled objects": "[1]" + ".map(a, {'a': a, 'b': a})" * 28 + "[0].a",
    "compared": "[[1]]" + ".map(a, [a, a, a, a])" * 14 + ".map(a, a == a)",
    "searched": "[[1]]" + ".map(a, [a, a, a, a])" * 14 + ".map(a, [1] in a)",
    "printed": "[[1]]" + ".map(a, [a, a, a, a])" * 14 + ".map(a, '%s'.format([a]))",
    "replaced": "'aaaaaaaaaa'" + ".replace('', 'aaaaaaaaaa')" * 12,
    "replaced by itself": "input.text.replace('x', input.text)",
    "replaced by a computed": "input.text.replace(input.text.substring(0, 1), input.text)",
    "joined": "input.text.split('').join(input.text)",
    "joined again": "['a', 'b']" + ".map(a, [a, a].join(a + a))" * 20,
    "formatted": "input.layout.format([input.text])",
    "formatted digits": "input.layout.format([1.0])",
    "added": "input.text" + " + input.text" * 28,
    "copied": "input.rows.map(x, input.text + x.name).size()",
    "copied by index": "input.rows.map(x, [input.text + x.name][0].size())",
    "pattern": "input.text.matches('(a|b|x){1000}c')",
    "given pattern": "input.text.matches(input.pattern)",
    "patterns": "input.rows.exists(x, x.name.matches('(a{1,30}){1,30}' + x.name))",
    "nested loops": "[1].map(a, " * 12 + "a" + ")" * 12,
    "quoted": "input.text" + ".map(x, x)" * 0 + " + strings.quote(input.text)" * 20,
    "split": "[input.text, input.text, input.text, input.text].map(t, t.split(''))",
    "encoded": "[input.text]" + ".map(t, base64.encode(bytes(t + t)))" * 10,
    "in parts": "(" * 10 + "input.text" + " + input.text) + input.text" * 10,
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_expressions_end_at_once(source: str) -> None:
    began = time.process_time()
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source).evaluate(ROOTS)
    assert caught.value.code in ("expression_budget", "text_too_large")
    assert time.process_time() - began < 3


@pytest.mark.slow
def test_hostile_expressions_take_little_memory() -> None:
    program = """
import resource, sys
from tests.expressions.test_bounds import HOSTILE, ROOTS
from riven.expressions.cel import compile_expression
from riven.expressions.errors import ExpressionError
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for source in HOSTILE.values():
    try:
        compile_expression(source).evaluate(ROOTS)
    except ExpressionError:
        pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    run = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=100
    )
    unit = 1024 if sys.platform == "darwin" else 1
    assert int(run.stdout) / unit < 300 * 1024


def test_a_large_result_is_refused() -> None:
    source = "[" + ", ".join(["input.text"] * 20) + "]"
    with pytest.raises(ExpressionError, match="the limit is 16 MiB") as caught:
        compile_expression(source).evaluate(ROOTS)
    assert caught.value.code == "text_too_large"
    assert compile_expression(source + ".size()").evaluate(ROOTS) == 20


def test_what_was_affordable_is_not_judged_for_larger_values() -> None:
    expression = compile_expression("input.a.replace('', input.a).size()")
    for size in (10, 1_000, 3_000):
        assert expression.evaluate({"input": {"a": "x" * size}}) == size * (size + 2)
    with pytest.raises(ExpressionError, match="work"):
        expression.evaluate({"input": {"a": TEXT}})
    assert expression.evaluate({"input": {"a": "x" * 2_000}}) == 2_000 * 2_002
