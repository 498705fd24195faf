"""Compiles and evaluates CEL expressions over JSON, bounded, with errors that anybody can read.

A path or a constant is followed in Python (`shortcuts`), everything else is a `program` of the CEL library.

An `Expression` is immutable and shared between threads.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from riven.expressions.errors import ExpressionCode, ExpressionError
from riven.expressions.paths import Link, Path, kind_of
from riven.expressions.program import compile_program
from riven.expressions.references import ROOTS, Read, References, read_expression, references_of
from riven.expressions.shortcuts import Evaluate, follow, shortcut
from riven.expressions.syntax import MAX_SOURCE, Items, Literal, parse
from riven.wire.document import Json

__all__ = ["Expression", "ExpressionCode", "ExpressionError", "compile_condition", "compile_expression"]

CACHED: Final = 16_384
"""Compiled expressions that a process keeps."""


class Expression:
    """A compiled expression. `boolean` is False if it can be told before that it yields no truth value."""

    __slots__ = ("_evaluate", "boolean", "references", "source")

    def __init__(self, source: str, references: References, evaluate: Evaluate, *, boolean: bool) -> None:
        self.source = source
        self.references = references
        self.boolean = boolean
        self._evaluate = evaluate

    def __repr__(self) -> str:
        return f"Expression({self.source!r})"

    def evaluate(self, roots: Mapping[str, Json]) -> Json:
        """The value, as plain JSON. It may be a part of `roots` itself: neither may be changed afterwards.

        `roots` needs what `references` names. Raises ExpressionError, and nothing else.
        """
        return self._evaluate(roots)

    def evaluate_condition(self, roots: Mapping[str, Json]) -> bool:
        """The value of a condition; what is neither true nor false is an error."""
        value = self._evaluate(roots)
        if isinstance(value, bool):
            return value
        raise ExpressionError(
            "not_boolean", f"a condition must be true or false, but this is {kind_of(value)}", self.source
        )


def compile_expression(source: str) -> Expression:
    """Raises ExpressionError. The same source gives the same Expression."""
    found = _PLAIN.fullmatch(source)
    if found is not None and found[1] in ROOTS and len(source) <= MAX_SOURCE:
        return _compile_plain(source)
    return _compile(source)


def compile_condition(source: str) -> Expression:
    """As `compile_expression`, for what must be true or false: refuses what can be told to be neither."""
    expression = compile_expression(source)
    if not expression.boolean:
        reason = "a condition must be true or false, which this can never be: compare it with something, `x == 'yes'`"
        raise ExpressionError("not_boolean", reason, source)
    return expression


_PLAIN: Final = re.compile(r"([a-z]+)(?:\.(?!(?:in|true|false|null)(?![A-Za-z0-9_]))[A-Za-z_][A-Za-z0-9_]*)*")


@lru_cache(CACHED)
def _compile_plain(source: str) -> Expression:
    """A path of names only, most of what stands in documents: a fraction of the time that `_compile` takes."""
    root, *fields = source.split(".")
    if root in ("steps", "secrets") and not fields:
        return _compile(source)  # which raises
    path = Path(root, tuple(Link(name) for name in fields))
    references = references_of([Read(path, 0, len(source))])
    return Expression(source, references, follow(path, source, 1), boolean=True)


@lru_cache(CACHED)
def _compile(source: str) -> Expression:
    tree = parse(source)
    reading = read_expression(source, tree)
    references = references_of(reading.reads)
    direct = shortcut(source, tree, reading.reads)
    if direct is not None:
        boolean = isinstance(tree.value, bool) if isinstance(tree, Literal) else not isinstance(tree, Items)
        return Expression(source, references, direct, boolean=boolean)
    program = compile_program(
        source, tree, reading.reads, careful=reading.resolves_optionals, secret=bool(references.secrets)
    )
    return Expression(source, references, program.evaluate, boolean=program.boolean)
