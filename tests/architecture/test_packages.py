"""What every package and module of the source has to be, whatever it does."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "riven"
MODULES = sorted(SOURCE.rglob("*.py"))
PACKAGES = [path for path in MODULES if path.name == "__init__.py"]
MAY_HIDE_IMPORTS = {
    "main/command.py"
}  # loads the process that was asked for, so that `riven run` starts in no time
LOADED_AS_FILES = {"db/migrations/versions"}  # by Alembic
VAGUE_NAMES = {
    *("util", "utils", "common", "helper", "helpers", "base", "misc", "manager", "managers"),
    *("service", "services", "types", "models", "v1", "v2"),
}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("package", PACKAGES, ids=name_of)
def test_a_package_holds_its_rule_as_docstring_and_nothing_else(package: Path) -> None:
    body = ast.parse(package.read_text(encoding="utf-8")).body
    assert len(body) == 1
    assert isinstance(body[0], ast.Expr)
    assert isinstance(body[0].value, ast.Constant)
    assert isinstance(body[0].value.value, str)


def test_every_folder_with_code_is_a_package() -> None:
    folders = {path.parent for path in MODULES if name_of(path.parent) not in LOADED_AS_FILES}
    assert sorted(name_of(f) for f in folders if not (f / "__init__.py").exists()) == []


def hidden_imports(tree: ast.AST) -> list[int]:
    """Lines of imports that stand in a function or under a condition."""
    nested = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.If, ast.Try)
    return sorted(
        statement.lineno
        for block in ast.walk(tree)
        if isinstance(block, nested)
        for statement in ast.walk(block)
        if isinstance(statement, (ast.Import, ast.ImportFrom))
    )


@pytest.mark.parametrize(
    "hidden",
    [
        "def f():\n    import os",
        "async def f():\n    from os import path",
        "if TYPE_CHECKING:\n    import os",
        "try:\n    import os\nexcept ImportError:\n    os = None",
        "class A:\n    def f(self):\n        import os",
    ],
)
def test_hidden_imports_are_found(hidden: str) -> None:
    assert hidden_imports(ast.parse(hidden))


@pytest.mark.parametrize("module", [m for m in MODULES if name_of(m) not in MAY_HIDE_IMPORTS], ids=name_of)
def test_imports_stand_at_the_top_of_a_module(module: Path) -> None:
    assert hidden_imports(ast.parse(module.read_text(encoding="utf-8"))) == []


def test_names_say_what_a_module_holds() -> None:
    parts = {
        part: name_of(path) for path in MODULES for part in path.relative_to(SOURCE).with_suffix("").parts
    }
    assert {part: path for part, path in parts.items() if part in VAGUE_NAMES} == {}
