"""What an expression reads is known before it runs."""

import pytest

from riven.expressions.cel import compile_expression
from riven.expressions.errors import ExpressionError
from riven.expressions.references import References, StepReference


def steps(source: str) -> list[tuple[str, bool]]:
    return [(step.key, step.maybe) for step in compile_expression(source).references.steps]


@pytest.mark.parametrize(
    ("source", "roots"),
    [
        ("1 + 1", set()),
        ("input.a", {"input"}),
        ("input.a + vars.b", {"input", "vars"}),
        ("'input.a' + \"steps.b\"", set()),
        ("1 // input.a", set()),
        ("input.steps.vars", {"input"}),
        ("[1].map(input, input + 1)", set()),
        ("[1].map(input, input + .input.a)", {"input"}),
        ("input.items.map(steps, steps.x)", {"input"}),
        ("input.a.filter(vars, vars.b).map(item, item.c)", {"input"}),
        ("input.a.map(x, x.b.map(y, y == x && index == 0))", {"input", "index"}),
        ("{'vars': item}", {"item"}),
        ("has(vars.x) ? iteration.previous : trigger", {"vars", "iteration", "trigger"}),
        ("input.?a.optMap(execution, execution.b).orValue(workspace.id)", {"input", "workspace"}),
        ("dyn(execution.id)", {"execution"}),
        ("[1].exists(math, math > 0)", set()),
    ],
)
def test_roots(source: str, roots: set[str]) -> None:
    assert compile_expression(source).references.roots == roots


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("steps.a.output", [("a", False)]),
        ("steps.a.output.b[0]", [("a", False)]),
        ("steps['a'].output", [("a", False)]),
        ('steps["a"]["output"]', [("a", False)]),
        ("(steps).a.output == 1", [("a", False)]),
        ("(steps.a).output == 1", [("a", False)]),
        ("steps.?a.output.orValue(1)", [("a", True)]),
        ("steps[?'a'].?output.orValue(1)", [("a", True)]),
        ("steps.a.?output.b.orValue(1)", [("a", True)]),
        ("steps.a.output.?b.orValue(1)", [("a", False)]),
        ("steps.a.status", [("a", True)]),
        ("steps.a.outcome", [("a", True)]),
        ("steps.a.error.message", [("a", True)]),
        ("steps.a.attempts", [("a", True)]),
        ("steps.a", [("a", True)]),
        ("has(steps.a.output)", [("a", True)]),
        ("has(steps.a.output.b)", [("a", False)]),
        ("has(steps.a.output) ? steps.a.output : 1", [("a", False)]),
        ("steps.a.status == 'COMPLETED' && steps.b.output.c", [("a", True), ("b", False)]),
        ("steps.b.output + steps.a.output + steps.b.output", [("b", False), ("a", False)]),
        ("steps.size.output", [("size", False)]),
        ("[steps.a.output].map(x, steps.b.output + x)", [("a", False), ("b", False)]),
    ],
)
def test_steps(source: str, expected: list[tuple[str, bool]]) -> None:
    assert steps(source) == expected


def test_secrets() -> None:
    references = compile_expression("secrets.a + secrets['b-c'] + secrets.a").references
    assert references.secrets == {"a", "b-c"}
    assert references.roots == {"secrets"}


@pytest.mark.parametrize(
    "source",
    [
        "steps",
        "steps[input.x]",
        "steps['a' + 'b']",
        "steps[0]",
        "steps.map(x, x)",
        "steps.size()",
        "size(steps)",
        "[steps]",
        "'a' in steps",
        "steps[dyn('a')].output",
        "input.a.map(x, steps[x].output)",
        "[1].map(steps, .steps)",
        "secrets",
        "secrets[input.x]",
        "{'a': secrets}",
        "(secrets)",
        "has(steps.a) || steps == null",
    ],
)
def test_computed_steps_and_secrets_are_refused(source: str) -> None:
    with pytest.raises(ExpressionError, match="must be named") as caught:
        compile_expression(source)
    assert caught.value.code == "dynamic_reference"
    assert caught.value.column is not None


@pytest.mark.parametrize(
    ("source", "column", "hint"),
    [
        ("inputs.a", 1, "did you mean `input`?"),
        ("1 + step.a.output", 5, "did you mean `steps`?"),
        ("foo", 1, "text stands in quotes: 'foo'"),
        ("input.order-id", 13, '["order-id"]'),
        ("True", 1, "write true"),
        ("None", 1, "write null"),
        ("output.a", 1, "steps.order.output"),
        ("[1].map(elem, elm)", 15, "did you mean `elem`?"),
        ("[1].map(x, x) + x", 17, "unknown"),
        ("_0 + input.a", 1, "unknown"),
        ("[1].map(x, .x)", 12, "unknown"),
        ("google.foo", 7, "unknown"),
        ("all(x, x)", 5, "unknown"),
    ],
)
def test_unknown_names_suggest_the_nearest(source: str, column: int, hint: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compile_expression(source)
    assert (caught.value.code, caught.value.column) == ("unknown_name", column)
    assert hint in caught.value.message


def test_union_adds_up() -> None:
    first = References(frozenset({"steps"}), (StepReference("a", maybe=True), StepReference("b", maybe=True)))
    second = References(frozenset({"steps", "secrets"}), (StepReference("b", maybe=False),), frozenset({"s"}))
    assert first.union(second) == References(
        frozenset({"steps", "secrets"}),
        (StepReference("a", maybe=True), StepReference("b", maybe=False)),
        frozenset({"s"}),
    )
    assert first.union() is first
