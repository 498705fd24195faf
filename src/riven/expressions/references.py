"""What an expression reads, known before it runs: roots, steps, secrets, and the paths that are written out.

Steps and secrets are named literally (`steps.order`, `steps["order"]`), so that a document can be checked, and so that
a run loads nothing but what is read.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from riven.expressions.errors import ExpressionError
from riven.expressions.paths import Link, Path, nearest
from riven.expressions.syntax import Call, Expr, Index, Items, Literal, Name, Select
from riven.expressions.tokens import TokenKind

ROOTS: Final = (
    "input", "steps", "vars", "execution", "workspace", "trigger", "item", "index", "iteration", "secrets",
)  # fmt: skip
NAMESPACES: Final = frozenset({"math", "base64", "strings", "optional"})
TYPES: Final = frozenset(
    (
        "bool", "bytes", "double", "int", "list", "map", "null_type", "optional_type", "string", "type", "uint",
        "google",  # as in google.protobuf.Timestamp
    )
)  # fmt: skip
MACROS: Final = {
    "all": (2,), "exists": (2,), "exists_one": (2,), "map": (2, 3), "filter": (2,), "optMap": (2,), "optFlatMap": (2,),
}  # fmt: skip
"""Macros and how many arguments make them one; the first is the name of their variable."""

_NEVER_FAIL: Final = frozenset({"status", "outcome", "error", "attempts"})


@dataclass(frozen=True, slots=True)
class StepReference:
    """`maybe`: read so that a step which did not complete does not fail the expression."""

    key: str
    maybe: bool


@dataclass(frozen=True, slots=True)
class References:
    roots: frozenset[str] = frozenset()
    steps: tuple[StepReference, ...] = ()
    """In the order in which they are first read; one for each step, `maybe` if all its reads are."""
    secrets: frozenset[str] = frozenset()
    vars: frozenset[str] = frozenset()
    """Constants that are read without `?`, by name."""

    def union(self, *others: "References") -> "References":
        if not others:
            return self
        every = (self, *others)
        return References(
            roots=frozenset().union(*(each.roots for each in every)),
            steps=_merged(step for each in every for step in each.steps),
            secrets=frozenset().union(*(each.secrets for each in every)),
            vars=frozenset().union(*(each.vars for each in every)),
        )


@dataclass(frozen=True, slots=True)
class Read:
    """One path as it stands in the expression, from `start` to `end`."""

    path: Path
    start: int
    end: int
    asked: bool = False
    """It is the argument of `has(...)`."""


@dataclass(slots=True)
class Reading:
    """What was found in one expression."""

    source: str
    reads: list[Read] = field(default_factory=list)
    resolves_optionals: bool = False
    """It handles maybes, so that a result could hold one."""

    def references(self) -> References:
        return references_of(self.reads)


def references_of(reads: Iterable[Read]) -> References:
    roots: set[str] = set()
    secrets: set[str] = set()
    constants: set[str] = set()
    steps: list[StepReference] = []
    for read in reads:
        path = read.path
        roots.add(path.root)
        if path.root == "secrets":
            secrets.add(str(path.links[0].key))
        elif path.root == "steps":
            steps.append(StepReference(str(path.links[0].key), _is_maybe(read)))
        elif path.root == "vars" and path.links and not path.links[0].optional and not read.asked:
            constants.add(str(path.links[0].key))
    return References(frozenset(roots), _merged(steps), frozenset(secrets), frozenset(constants))


def read_expression(source: str, tree: Expr) -> Reading:
    """Raises ExpressionError for names that do not exist, and for steps and secrets that are not named."""
    found = Reading(source)
    _walk(tree, frozenset(), found)
    return found


def _merged(steps: Iterable[StepReference]) -> tuple[StepReference, ...]:
    merged: dict[str, bool] = {}
    for step in steps:
        merged[step.key] = merged.get(step.key, True) and step.maybe
    return tuple(StepReference(key, maybe) for key, maybe in merged.items())


def _is_maybe(read: Read) -> bool:
    links = read.path.links
    if len(links) < 2 or links[0].optional or links[1].optional or links[1].key in _NEVER_FAIL:
        return True
    return read.asked and len(links) == 2


def _walk(node: Expr, bound: frozenset[str], found: Reading) -> None:
    path = path_of(node, bound)
    if path is not None:
        _record(node, path, found, asked=False)
        return
    match node:
        case Literal():
            pass
        case Name():
            _check_name(node, bound, found.source)
        case Select():
            found.resolves_optionals |= node.optional
            _walk(node.operand, bound, found)
        case Index():
            found.resolves_optionals |= node.optional
            _walk(node.operand, bound, found)
            _walk(node.index, bound, found)
        case Items():
            found.resolves_optionals |= node.optional
            for item in node.items:
                _walk(item, bound, found)
        case Call():
            _walk_call(node, bound, found)


def _walk_call(node: Call, bound: frozenset[str], found: Reading) -> None:
    target = node.target
    if node.function == "has" and target is None and len(node.args) == 1:
        field = node.args[0]
        asked = path_of(field, bound)
        if asked is not None and isinstance(field, Select) and not field.optional:
            _record(field, asked, found, asked=True)
            return
    if target is not None:
        if is_namespace(target, bound):
            found.resolves_optionals |= isinstance(target, Name) and target.name == "optional"
        else:
            found.resolves_optionals |= node.function in ("first", "last", "or", "optMap", "optFlatMap")
            _walk(target, bound, found)
    args = node.args
    if is_macro(node):
        variable = args[0]
        if isinstance(variable, Name) and not variable.absolute:
            bound |= {variable.name}
            args = args[1:]
    for arg in args:
        _walk(arg, bound, found)


def is_macro(node: Call) -> bool:
    return node.target is not None and len(node.args) in MACROS.get(node.function, ())


def is_namespace(target: Expr, bound: frozenset[str]) -> bool:
    return isinstance(target, Name) and target.name in NAMESPACES and target.name not in bound


def path_of(node: Expr, bound: frozenset[str]) -> Path | None:
    """The path that the node spells out, from a root to its end; None if any part of it is computed."""
    links: list[Link] = []
    while True:
        match node:
            case Select():
                links.append(Link(node.field, node.optional))
                node = node.operand
            case Index(index=Literal(kind=TokenKind.STRING | TokenKind.INT, value=str() | int() as key)):
                links.append(Link(key, node.optional))
                node = node.operand
            case Name() if node.name in ROOTS and (node.absolute or node.name not in bound):
                return Path(node.name, tuple(reversed(links)))
            case _:
                return None


def _record(node: Expr, path: Path, found: Reading, *, asked: bool) -> None:
    if path.root in ("steps", "secrets") and (not path.links or not isinstance(path.links[0].key, str)):
        raise _dynamic(path.root, found.source, node.start)
    found.resolves_optionals |= path.optional and not asked
    found.reads.append(Read(path, node.start, node.end, asked))


def _dynamic(root: str, source: str, at: int) -> ExpressionError:
    if root == "steps":
        reason = (
            "a step must be named as it stands in the document: write steps.order.output or "
            'steps["order"].output, not a computed name, and not `steps` alone'
        )
    else:
        reason = (
            'a secret must be named: write secrets.token or secrets["token"], not a computed name, '
            "and not `secrets` alone"
        )
    return ExpressionError("dynamic_reference", reason, source, at + 1)


_OTHER_WORDS: Final = {
    "True": "write true", "False": "write false", "None": "write null", "nil": "write null", "undefined": "write null",
    "not": "for «not», write !", "env": "pass it in as `input`", "inputs": "did you mean `input`?",
    "output": "name the step: steps.order.output", "outputs": "name the step: steps.order.output",
    "nodes": "did you mean `steps`?", "loop": "did you mean `iteration`?", "this": "in a for_each, write `item`",
    "it": "in a for_each, write `item`", "each": "in a for_each, write `item`", "now": "see `execution.startedAt`",
}  # fmt: skip


def _check_name(node: Name, bound: frozenset[str], source: str) -> None:
    if node.name in TYPES or (node.name in bound and not node.absolute):
        return
    known = [*sorted(bound), *ROOTS]
    reason = f"the name `{node.name}` is unknown; "
    if fields := _hyphenated(node, source):
        first, rest = fields
        reason += (
            f'if it is a field with a hyphen in its name, write ["{first}-{rest}"] instead of .{first}-{rest}'
        )
    elif node.name in _OTHER_WORDS:
        reason += _OTHER_WORDS[node.name]
    elif near := nearest(node.name, known):
        reason += f"did you mean `{near}`?"
    else:
        reason += f"an expression reads {', '.join(ROOTS)}; text stands in quotes: '{node.name}'"
    raise ExpressionError("unknown_name", reason, source, node.start + 1)


def _hyphenated(node: Name, source: str) -> tuple[str, str] | None:
    """The halves of `order-id`, if the name is what stands behind the hyphen of `input.order-id`."""
    if node.start < 2 or source[node.start - 1] != "-":
        return None
    before = source[: node.start - 1]
    left = before.rpartition(".")[2]
    return (left, node.name) if "." in before and left.isidentifier() else None
