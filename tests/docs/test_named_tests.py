"""Pages name the tests that enforce what they say; those are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"`(test_\w+)`")
PAGES = [page for page in sorted(ROOT.glob("docs/**/*.md")) if NAME.search(page.read_text(encoding="utf-8"))]
TESTS = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py")))


def test_there_are_such_pages() -> None:
    assert len(PAGES) > 5


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_test_that_is_named_exists(page: Path) -> None:
    named = NAME.findall(page.read_text(encoding="utf-8"))
    assert [name for name in named if f"def {name}(" not in TESTS] == []
