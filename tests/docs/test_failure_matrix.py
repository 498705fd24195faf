"""docs/explanation/failure-matrix.md: every row names the test that causes it, and that test is where the link leads."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "explanation" / "failure-matrix.md"
ROWS = [
    cells
    for line in PAGE.read_text(encoding="utf-8").splitlines()
    if len(cells := line.strip("|").split(" | ")) == 3 and not line.startswith(("| when", "|---"))
]
NAMED = re.compile(r"\[`(test_\w+)`\]\(([^)]+\.py)\)")
SCENARIO = re.compile(r"\(\.\./\.\./tests/conformance/scenarios/[\w-]+\.yaml\)")


def test_there_are_rows() -> None:
    assert len(ROWS) > 50


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0].strip()[:60])
def test_a_row_names_tests_that_are_where_it_says(row: list[str]) -> None:
    when, then, tests = (cell.strip() for cell in row)
    assert when
    assert then
    named = NAMED.findall(tests)
    assert named or SCENARIO.search(tests)
    assert tests.count("`test_") == len(named), "every test is a link"
    for name, file in named:
        code = (PAGE.parent / file).read_text(encoding="utf-8")
        assert re.search(rf"def {name}\(", code), f"{file} has no {name}"
