import ast
from pathlib import Path
from typing import get_args

import pytest

from riven.core.validation import GraphCode
from riven.documents.codes import MEANINGS, Code
from riven.expressions.errors import ExpressionCode

ROOT = Path(__file__).parents[2]
SOURCES = [*(ROOT / "src/riven/documents").glob("*.py"), *(ROOT / "src/riven/wire").glob("*.py")]


def test_every_code_has_a_meaning_and_says_what_to_do() -> None:
    assert set(MEANINGS) == {*Code, *GraphCode}
    for meaning, remedy in MEANINGS.values():
        assert meaning.endswith(".")
        assert remedy.endswith(".")


def test_the_reference_has_every_code_once() -> None:
    page = (ROOT / "docs/reference/problems.md").read_text(encoding="utf-8")
    every = [*(code.value for code in (*Code, *GraphCode)), *get_args(ExpressionCode)]
    assert {code: page.count(f"\n| `{code}` |") for code in every} == {
        code: every.count(code) for code in every
    }


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_module_uses_a_code_that_is_not_in_the_table(path: Path) -> None:
    known = {*Code, *GraphCode}
    makers = {"UnreadableError", "Flaw", "_refused", "NumberRangeError", "flaw"}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
        literals = [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        literals += node.args[:1] if name in makers else []
        for literal in literals:
            if isinstance(literal, ast.Constant) and isinstance(literal.value, str):
                assert literal.value in known, f"{path.name}:{node.lineno}"
