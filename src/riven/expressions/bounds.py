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
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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
MAX_LOOPS: Final = 6
"""Macros inside of each other."""
REGEX_STATES: Final = 350_000.0
"""States beyond which the library refuses a pattern."""


@dataclass(frozen=True, slots=True)
class Size:
    """A value of at most `size` bytes of JSON. Elements: at most `count`, of at most `element` bytes; None: unknown."""

    size: float
    count: float | None = None
    element: float | None = None

    @property
    def elements(self) -> float:
        return self.count if self.count is not None else self.size / 2 + 1

    def part(self) -> "Size":
        return Size(self.size if self.element is None else min(self.size, self.element))


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
                return Size(
                    len(node.value) * 4 + 2.0
                    if isinstance(node.value, str)
                    else node.end - node.start + SCALAR
                )
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
                return Size(total, float(len(parts)), max((part.size for part in parts), default=0.0))
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
        largest = max(SCALAR, over.part().size)
        share = over.size / largest + 1
        self.loops += 1
        empty_work, empty_size = self.body(node, {**variables, variable: Size(0.0, 0.0)})
        whole_work, whole_size = self.body(node, {**variables, variable: Size(largest)})
        self.loops -= 1
        self.work += rounds * (empty_work + 2 * STEP) + share * whole_work
        match node.function:
            case "map":
                # The library copies the list that it builds at every step.
                self.work += 4 * rounds * rounds
                size = rounds * (empty_size + SCALAR) + share * whole_size
                return Size(size, rounds, whole_size + SCALAR)
            case "filter":
                self.work += 4 * rounds * rounds
                return Size(over.size, rounds, over.element)
            case _:
                return Size(SCALAR)

    def body(self, node: Call, scope: Mapping[str, Size]) -> tuple[float, float]:
        """The work of one round, and the size of what it yields."""
        if self.loops > MAX_LOOPS:
            return 2.0 * LIMIT, SCALAR
        before, self.work = self.work, 0.0
        sizes = [self.measure(arg, scope).size for arg in node.args[1:]]
        work, self.work = self.work, before
        return work, sizes[-1]

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
                return Size(
                    max(value.size for value in values[1:]), max(value.elements for value in values[1:])
                )
            case "+":
                self.work += total
                return Size(
                    total, sum(value.elements for value in values), max(value.part().size for value in values)
                )
            case "matches" if len(values) == 2:
                self.work += self.pattern(node, values)
                return Size(SCALAR)
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
                if isinstance(old, Literal) and isinstance(old.value, str) and old.value:
                    return text * max(1.0, new / len(old.value)) + new
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
            case "split":
                return total + SCALAR * (values[0].size + 1)
            case "quote" | "encode":
                return total * 2 + 64
            case _:
                return total + 64
