"""Finds the loops of an expression that can be gone through in pieces: `list.filter(...).map(...)` over a path."""

from collections.abc import Sequence
from dataclasses import dataclass

from riven.expressions.references import Read, is_macro
from riven.expressions.syntax import Call, Expr, Index, Items, Name, Select


@dataclass(frozen=True, slots=True)
class Loop:
    node: Call
    """The outermost `map` or `filter` of the chain."""
    over: Read
    """The list that the innermost one goes through."""


def find_loops(tree: Expr, reads: Sequence[Read]) -> list[Loop]:
    """Loops that are not inside of another one's body."""
    found: list[Loop] = []
    pending = [tree]
    while pending:
        node = pending.pop()
        match node:
            case Select():
                pending.append(node.operand)
            case Index():
                pending += [node.operand, node.index]
            case Items():
                pending += node.items
            case Call():
                if _makes_list(node) and (over := _over(node, reads)) is not None:
                    found.append(Loop(node, over))
                    continue
                if node.target is not None:
                    pending.append(node.target)
                if not is_macro(node):
                    pending += node.args
            case _:
                pass
    return sorted(found, key=lambda loop: loop.node.start)


def _makes_list(node: Expr) -> bool:
    return (
        isinstance(node, Call)
        and node.function in ("map", "filter")
        and is_macro(node)
        and isinstance(node.args[0], Name)
    )


def _over(node: Call, reads: Sequence[Read]) -> Read | None:
    inner: Expr = node
    while isinstance(inner, Call) and inner.target is not None and _makes_list(inner):
        inner = inner.target
    over = next((read for read in reads if (read.start, read.end) == (inner.start, inner.end)), None)
    return None if over is None or over.asked or over.path.optional else over
