"""ARCHITECTURE.md says what is there."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "riven"
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
NAMED = re.findall(r"`([\w/.-]+\.py): ([\w.]+)`( \(not yet\))?", PAGE)
BY_HAND = re.sub(r"<!-- generated.*?<!-- /generated -->", "", PAGE, flags=re.DOTALL)
PATHS = re.findall(r"`([\w.-]+/[\w/.-]*)`( \(not yet\))?", BY_HAND)


def defines(path: str, name: str) -> bool:
    """Whether a module under src/riven defines a function, class, method or constant of that name."""
    module = SOURCE / path
    if not module.exists():
        return False
    body: list[ast.stmt] = ast.parse(module.read_text(encoding="utf-8")).body
    for part in name.split("."):
        found = [statement for statement in body if part in names(statement)]
        if not found:
            return False
        body = getattr(found[0], "body", [])
    return True


def names(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return []


def test_the_stage_table_names_every_stage() -> None:
    stages = re.findall(r"^\| (\d+) \| \w+ \| `", PAGE, re.MULTILINE)
    assert stages == [str(number) for number in range(1, 11)]


@pytest.mark.parametrize(("path", "name", "mark"), NAMED, ids=lambda value: value.strip() or "exists")
def test_what_the_page_names_exists_unless_it_says_not_yet(path: str, name: str, mark: str) -> None:
    if mark:
        assert not defines(path, name), "it exists now: take the mark (not yet) away"
    else:
        assert defines(path, name)


@pytest.mark.parametrize(("path", "mark"), PATHS, ids=lambda value: value.strip() or "exists")
def test_every_path_exists_unless_the_page_says_not_yet(path: str, mark: str) -> None:
    assert ((SOURCE / path).exists() or (ROOT / path).exists()) is not bool(mark)
