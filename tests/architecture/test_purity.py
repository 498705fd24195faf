"""Rules that import contracts cannot see, because they are about calls and definitions."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "riven"
TIMERS = {
    "sleep",
    "call_later",
    "call_at",
    "timeout",
    "timeout_at",
    "wait_for",
    "wait",
    "as_completed",
    "time",
}


def name_of(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


def asynchronous(tree: ast.AST) -> list[int]:
    kinds = (ast.AsyncFunctionDef, ast.Await, ast.AsyncFor, ast.AsyncWith)
    return [node.lineno for node in ast.walk(tree) if isinstance(node, kinds)]


def timers(tree: ast.AST) -> list[tuple[int, str]]:
    """Names by which asyncio or an event loop is asked to wait for time, or for whatever comes first."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in TIMERS:
            found.append((node.lineno, node.attr))
        elif isinstance(node, ast.ImportFrom) and node.module in {"asyncio", "time"}:
            found += [(node.lineno, alias.name) for alias in node.names if alias.name in TIMERS]
    return found


def iterated_sets(tree: ast.AST) -> list[int]:
    """Loops straight over a set: their order differs from process to process."""
    loops = [n.iter for n in ast.walk(tree) if isinstance(n, (ast.For, ast.comprehension, ast.AsyncFor))]
    return [
        loop.lineno
        for loop in loops
        if isinstance(loop, (ast.Set, ast.SetComp))
        or (
            isinstance(loop, ast.Call)
            and isinstance(loop.func, ast.Name)
            and loop.func.id in {"set", "frozenset"}
        )
    ]


def test_what_breaks_the_rules_is_found() -> None:
    assert asynchronous(ast.parse("async def f(): await g()"))
    assert timers(ast.parse("import asyncio\nasyncio.sleep(1)")) == [(2, "sleep")]
    assert timers(ast.parse("loop.call_later(1, f)")) == [(1, "call_later")]
    assert timers(ast.parse("from asyncio import wait_for")) == [(1, "wait_for")]
    assert iterated_sets(ast.parse("[x for x in {1, 2}]\nfor x in set(y): pass")) == [2, 1]


@pytest.mark.parametrize("module", sorted(SOURCE.glob("core/*.py")), ids=name_of)
def test_the_core_is_synchronous(module: Path) -> None:
    assert asynchronous(ast.parse(module.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("module", sorted(SOURCE.glob("driver/*.py")), ids=name_of)
def test_the_driver_waits_for_its_inbox_and_for_no_time(module: Path) -> None:
    assert timers(ast.parse(module.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize(
    "module", sorted([*SOURCE.glob("core/*.py"), *SOURCE.glob("driver/*.py")]), ids=name_of
)
def test_what_is_replayed_walks_over_no_set(module: Path) -> None:
    assert iterated_sets(ast.parse(module.read_text(encoding="utf-8"))) == []
