"""How much work an expression can be, told before it runs.

The library counts the steps of loops, but neither the characters it writes nor the elements it compares, and it cannot
be stopped: `list.map(a, a + a).map(a, a + a)...` or `text.replace('', text)` would fill the memory, an `==` on nested
lists would go on for hours. So riven computes, over the tree and with the sizes of the values at hand, an upper bound
of the work, and refuses what lies above `LIMIT`.

The unit is a byte of JSON written, copied or looked at once, about 5 ns. All bounds are monotonous in the sizes, and
sums of powers of them; so over the elements of one list, of size s in n parts, a body costs at most what n empty
elements cost plus what one element of size s costs; and where no element is larger than e, plus s/e of that size.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from riven.expressions.syntax import Call, Expr, Index, Items, Literal, Name, Select

LIMIT: Final = 64 * 1024 * 1024
"""About a third of a second, and some hundred MiB of memory at worst."""
SCALAR: Final = 8.0
"""What a number weighs, and the overhead of an element."""
STEP: Final = 16.0
"""What an operation weighs, whatever it is applied to."""
CONVERSION: Final = 4.0
"""What a byte weighs on its way into the library."""
LOOPS: Final = 10_001
"""Steps of loops that the library takes in one evaluation, and the one at which it stops."""
MAX_LOOPS: Final = 5
"""Macros inside of each other."""
REGEX_STATES: Final = 350_000.0
"""States beyond which the library refuses a pattern."""


@dataclass(frozen=True, slots=True)
class Size:
    """A value of at most `size` bytes of JSON, with at most `count` elements, each at most as `inner`; None: unknown."""

    size: float
    count: float | None = None
    inner: "Size | None" = None
    text: str | None = None
    """The value, where it is a known text."""

    @property
    def elements(self) -> float:
        return self.count if self.count is not None else self.size / 2 + 1

    def part(self) -> "Size":
        return Size(self.size) if self.inner is None else self.inner


def largest(sizes: Sequence[Size]) -> Size:
    """What none of them exceeds."""
    return Size(
        max((each.size for each in sizes), default=0.0),
        max((each.elements for each in sizes), default=0.0),
        inner_of(sizes),
    )


def inner_of(sizes: Sequence[Size]) -> Size | None:
    """What no element of any of them exceeds."""
    filled = [each for each in sizes if each.elements]
    inner = [each.inner for each in filled if each.inner is not None]
    return largest(inner) if inner and len(inner) == len(filled) else None


@dataclass(frozen=True, slots=True)
class Bound:
    work: float
    size: float
    """Of the result, in bytes of JSON."""

    @property
    def affordable(self) -> bool:
        return self.work <= LIMIT


def bound(tree: Expr, reads: Mapping[tuple[int, int], Size], *, given: float) -> Bound:
    """`reads` are the sizes of what stands in the source from a start to an end: those parts are not looked into.

    `given` is the size of all values together, each once: they are converted before anything else.
    """
    meter = _Meter(reads, CONVERSION * given)
    result = meter.measure(tree, {})
    return Bound(meter.work + result.size, result.size)


class _Meter:
    def __init__(self, reads: Mapping[tuple[int, int], Size], work: float) -> None:
        self.reads = reads
        self.work = work
        self.loops = 0

    def measure(self, node: Expr, variables: Mapping[str, Size]) -> Size:
        if self.work > LIMIT:
            return Size(SCALAR)  # decided already
        self.work += STEP
        read = self.reads.get((node.start, node.end))
        if read is not None:
            return read
        match node:
            case Literal():
                return Size(_literal(node), 0.0)
            case Name():
                return variables.get(node.name, Size(SCALAR))
            case Select():
                return self.measure(node.operand, variables).part()
            case Index():
                self.measure(node.index, variables)
                return self.measure(node.operand, variables).part()
            case Items():
                parts = [self.measure(item, variables) for item in node.items]
                total = sum(part.size for part in parts) + SCALAR * (len(parts) + 1)
                self.work += SCALAR * len(parts)
                return Size(total, float(len(parts)), largest(parts))
            case Call():
                return self.call(node, variables)

    def call(self, node: Call, variables: Mapping[str, Size]) -> Size:
        if node.target is not None and node.args and isinstance(node.args[0], Name):
            variable = node.args[0].name
            match node.function, len(node.args):
                case ("all" | "exists" | "exists_one" | "filter" | "map", 2) | ("map", 3):
                    return self.loop(node, variable, self.measure(node.target, variables), variables)
                case "optMap" | "optFlatMap", 2:
                    return self.measure(
                        node.args[1], {**variables, variable: self.measure(node.target, variables)}
                    )
                case _:
                    pass
        target = () if node.target is None else (node.target,)
        values = [self.measure(each, variables) for each in (*target, *node.args)]
        return self.function(node, values)

    def loop(self, node: Call, variable: str, over: Size, variables: Mapping[str, Size]) -> Size:
        rounds = max(1.0, min(over.elements, LOOPS))
        top = max(SCALAR, over.part().size)
        share = over.size / top + 1
        self.loops += 1
        empty_work, empty = self.body(node, {**variables, variable: Size(0.0, 0.0)})
        whole_work, element = self.body(node, {**variables, variable: Size(top)})
        work = rounds * empty_work + share * whole_work
        size = rounds * empty.size + share * element.size
        if over.inner is not None:
            # The elements' own elements are counted: a second bound, that may be the lower one.
            known_work, element = self.body(node, {**variables, variable: over.inner})
            work, size = min(work, rounds * known_work), min(size, rounds * element.size)
        self.loops -= 1
        self.work += work + 2 * STEP * rounds
        match node.function:
            case "map":
                # The library copies the list that it builds at every step.
                self.work += 4 * rounds * rounds
                return Size(size + SCALAR * rounds, rounds, element)
            case "filter":
                self.work += 4 * rounds * rounds
                return Size(over.size, rounds, over.inner)
            case _:
                return Size(SCALAR)

    def body(self, node: Call, scope: Mapping[str, Size]) -> tuple[float, Size]:
        """The work of one round, and what it yields."""
        if self.loops > MAX_LOOPS:
            return 2.0 * LIMIT, Size(SCALAR)
        before, self.work = self.work, 0.0
        results = [self.measure(arg, scope) for arg in node.args[1:]]
        work, self.work = self.work, before
        return work, results[-1]

    def function(self, node: Call, values: list[Size]) -> Size:
        total = sum(value.size for value in values)
        match node.function:
            case "size" | "hasValue":
                return Size(SCALAR)
            case "&&" | "||" | "!" | "-" | "*" | "/" | "%":
                return Size(SCALAR)
            case "==" | "!=" | "<" | "<=" | ">" | ">=" | "in" | "contains" | "startsWith" | "endsWith":
                self.work += total
                return Size(SCALAR)
            case "indexOf" | "lastIndexOf":
                self.work += total
                return Size(SCALAR)
            case "?":
                return largest(values[1:])
            case "+":
                self.work += total
                return Size(total, sum(value.elements for value in values), inner_of(values))
            case "matches" if len(values) == 2:
                self.work += self.pattern(node, values)
                return Size(SCALAR)
            case "split" if values:
                size, count, inner = _split(node, values)
                self.work += size
                return Size(size, count, inner)
            case _:
                size = self.text(node, values, total)
                self.work += size
                return Size(size)

    def pattern(self, node: Call, values: list[Size]) -> float:
        """RE2 takes time linear in the text, and in the states of the pattern, which is compiled each time."""
        pattern = node.args[-1]
        repeated = 1000.0
        if isinstance(pattern, Literal) and isinstance(pattern.value, str):
            repeated = 1.0
            for number in re.findall(r"[{,](\d{1,4})(?=[,}])", pattern.value):
                repeated *= max(1, int(number))
            if "\\p" in pattern.value or "\\P" in pattern.value:
                repeated *= 100
        states = min(REGEX_STATES, (values[1].size / 2 + 2) * min(repeated, 1000.0))
        return values[0].size * states + states * 20

    def text(self, node: Call, values: list[Size], total: float) -> float:
        """The size of what a function on text writes."""
        match node.function:
            case "replace" if len(values) >= 3:
                text, new = values[0].size, values[2].size
                old = node.args[0]
                if isinstance(old, Literal) and old.value:
                    return text * max(1.0, new / (_literal(old) - 2)) + new
                return (text + 1) * (new + 1)
            case "join" if len(values) == 2:
                return total + values[0].elements * values[1].size
            case "format" if len(values) == 2:
                layout = node.target
                if isinstance(layout, Literal) and isinstance(layout.value, str):
                    clauses = float(layout.value.count("%"))
                else:
                    clauses = values[0].size / 2
                # 1,310 digits: the largest number with the highest precision; %b writes 64 characters for 8
                return values[0].size + clauses * (8 * values[1].size + 1_310)
            case "quote" | "encode":
                return total * 2 + 64
            case _:
                return total + 64


def _split(node: Call, values: list[Size]) -> tuple[float, float, Size]:
    """What `text.split(separator)` yields: all of it, how many parts, and how large they are."""
    text, separator = values[0], node.args[0] if node.args else None
    if (
        text.text is not None
        and isinstance(separator, Literal)
        and isinstance(separator.value, str)
        and separator.value
    ):
        parts = text.text.split(separator.value)
        count, inner = float(len(parts)), Size(6.0 * max(map(len, parts)) + 2)
    else:
        count, inner = text.size + 1, Size(text.size)
    return text.size + SCALAR * (count + 1), count, inner


def _literal(node: Literal) -> float:
    """Bytes of JSON."""
    if isinstance(node.value, str):
        return float(len(orjson.dumps(node.value)))
    return node.end - node.start + SCALAR
