"""Expressions that need no evaluator: a constant, a path, and a path with a constant for when it is absent.

They are most of what stands in documents. What they yield is what CEL would yield, by reference and unchanged: the order
of keys, and text that CEL cannot take, included.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

from riven.expressions.errors import ExpressionError
from riven.expressions.paths import ABSENT, Path
from riven.expressions.references import Read
from riven.expressions.syntax import Call, Expr, Items, Literal
from riven.expressions.tokens import TokenKind
from riven.wire.document import Json

Evaluate: TypeAlias = Callable[[Mapping[str, Json]], Json]

_INTEGERS: Final = range(-(2**63), 2**63)
_UNKNOWN: Final = object()


def shortcut(source: str, tree: Expr, reads: list[Read]) -> Evaluate | None:
    """How to evaluate it without CEL; None if that needs CEL."""
    constant = _constant(tree)
    if constant is not _UNKNOWN:
        return lambda _: constant
    if len(reads) != 1:
        return None
    read = reads[0]
    if (read.start, read.end) == (tree.start, tree.end) and not read.asked:
        if read.path.optional:
            raise ExpressionError(
                "optional_result",
                f"with .? the value may be absent: say what it is then, by `{read.path.text()}.orValue(null)`",
                source,
                read.start + 1,
            )
        return follow(read.path, source, read.start + 1)
    match tree:
        case Call(function="orValue", target=target, args=(default,)) if target is not None:
            otherwise = _constant(default)
            on_path = (read.start, read.end) == (target.start, target.end)
            if on_path and read.path.optional and otherwise is not _UNKNOWN:
                return _follow_or(read.path, otherwise, source, read.start + 1)
        case _:
            pass
    return None


def follow(path: Path, source: str, column: int) -> Evaluate:
    if any(isinstance(link.key, int) for link in path.links):
        return lambda roots: path.follow(roots, source, column)
    keys = (path.root, *(link.key for link in path.links))

    def evaluate(roots: Mapping[str, Json]) -> Json:
        value: Json = roots
        try:
            for key in keys:
                value = value[key]
        except (LookupError, TypeError):
            return path.follow(roots, source, column)  # finds out why, and says so
        return value

    return evaluate


def _follow_or(path: Path, otherwise: Json, source: str, column: int) -> Evaluate:
    def evaluate(roots: Mapping[str, Json]) -> Json:
        value = path.follow(roots, source, column)
        return otherwise if value is ABSENT else value

    return evaluate


def _constant(node: Expr) -> Json:
    match node:
        case Literal(kind=TokenKind.STRING, value=str() as value):
            return value
        case Literal(kind=TokenKind.NAME, value=value):
            return value
        case Literal(kind=TokenKind.INT, value=int() as value) if value in _INTEGERS:
            return value
        case Items(items=(), is_map=is_map):
            return {} if is_map else []
        case _:
            return _UNKNOWN
