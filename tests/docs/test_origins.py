"""docs/reference/origins.md: each system is linked to its module and its tests, and those are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "origins.md").read_text(encoding="utf-8")
SYSTEMS = re.findall(r"^\| (\*\*.+) \|$", PAGE, re.MULTILINE)


def linked(text: str) -> list[str]:
    return re.findall(r"\]\(\.\./\.\./((?:src|tests)/[^)#]+)", text)


def test_every_system_is_linked_to_its_module_and_its_tests() -> None:
    assert len(SYSTEMS) >= 7
    for row in SYSTEMS:
        _, here, tests, *_ = row.split(" | ")
        assert any(path.startswith("src/") for path in linked(here)), row
        assert any(path.startswith("tests/") for path in linked(tests)), row


def test_every_link_exists() -> None:
    assert [path for path in linked(PAGE) if not (ROOT / path).exists()] == []


def test_every_test_that_is_named_exists() -> None:
    tests = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests").rglob("test_*.py"))
    )
    named = re.findall(r"`(test_\w+)`", PAGE)
    assert named
    assert [name for name in named if f"def {name}(" not in tests] == []
