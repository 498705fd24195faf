"""Every example in the reference of expressions gives what the page says."""

import json
import re
from pathlib import Path
from typing import get_args

import pytest
import yaml

from riven.expressions.cel import compile_expression
from riven.expressions.errors import ExpressionCode, ExpressionError
from riven.expressions.functions import FUNCTIONS
from riven.expressions.references import ROOTS
from riven.expressions.templates import TemplateErrors, compile_template

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "expressions.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(cel|yaml (?:values|templates))\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^(?P<source>\S.*?) +(?://|#) (?P<kind>[→✗]) (?P<expected>.+)$")

BLOCKS = BLOCK.findall(PAGE)
VALUES = next(yaml.safe_load(text) for kind, text in BLOCKS if kind == "yaml values")
LINES = [(kind, line) for kind, text in BLOCKS if kind != "yaml values" for line in text.splitlines()]


def outcome(kind: str, source: str) -> tuple[str, object]:
    try:
        if kind == "cel":
            return "→", compile_expression(source).evaluate(VALUES)
        return "→", compile_template(json.loads(source)).render(VALUES)
    except ExpressionError as error:
        return "✗", error.code
    except TemplateErrors as errors:
        [(_, error)] = errors.errors
        return "✗", error.code


@pytest.mark.parametrize(("kind", "line"), LINES, ids=[line[:60] for _, line in LINES])
def test_an_example_gives_what_the_page_says(kind: str, line: str) -> None:
    example = LINE.match(line)
    assert example is not None, "every line of a block is an example"
    expected = example["expected"] if example["kind"] == "✗" else json.loads(example["expected"])
    sign, value = outcome(kind, example["source"])
    assert (sign, repr(value)) == (example["kind"], repr(expected))


def test_there_are_examples() -> None:
    assert len(LINES) > 60


def test_the_page_names_every_error() -> None:
    table = PAGE.partition("## Errors")[2]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(get_args(ExpressionCode))


def test_the_page_names_every_function_and_root() -> None:
    table = PAGE.partition("## Operators and functions")[2].partition("```")[0]
    named = set(re.findall(r"`([\w.]+)`", table))
    for function in FUNCTIONS:
        assert {function, function.rpartition(".")[2]} & named, function
    roots = PAGE.partition("## What an expression reads")[2].partition("```")[0]
    assert set(re.findall(r"`(\w+)", "".join(re.findall(r"^\| (.*?) \|", roots, re.MULTILINE)))) == set(ROOTS)


def test_the_module_explains_every_error() -> None:
    errors = Path(__file__).parents[2] / "src" / "riven" / "expressions" / "errors.py"
    table = errors.read_text(encoding="utf-8").partition("from collections")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == set(get_args(ExpressionCode))
