"""An expression that the CEL library evaluates, and what is done around it.

The paths in it that are written out, such as `steps.order.output.id`, riven follows itself (`paths`), exactly as CEL
would. In what is handed to the library each is replaced by a variable of its own, of the same length in the text, so
that places stay true. So only what is read is converted, also of large outputs; and a path that fails is an unbound
variable, which is an error only if CEL comes to need it: `a.b == 1 || true` is true, as the language wants it.

Before evaluation `bounds` says from the sizes at hand whether the work is affordable, since the library cannot be
stopped once it runs. And `map` and `filter` over a long list go through it in pieces: the library copies the list that it
builds at each step, so that one of 10,000 would take seconds.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from cel_expr_python import cel
from cel_expr_python.ext import ext_encoders, ext_math, ext_optional, ext_strings

from riven.expressions.bounds import LIMIT, SCALAR, Bound, Size, bound
from riven.expressions.errors import ExpressionError
from riven.expressions.loops import Loop, find_loops
from riven.expressions.paths import ABSENT
from riven.expressions.references import Read
from riven.expressions.syntax import Expr
from riven.expressions.values import MAX_TEXT, UnfitError, measure, to_json, weigh
from riven.expressions.wording import explain_compile, explain_evaluation
from riven.wire.document import Json

USUAL: Final = 4096.0
"""Bytes of JSON in each value that is read, for which an expression is judged when it is compiled."""
PIECES: Final = (256, 2048)
"""Elements of the pieces that a list is cut into, at least and at most."""
LONG: Final = 2 * PIECES[0]
"""Elements beyond which a list is cut."""
LOOKS: Final = (0, 3)
"""How many levels of a value are measured at first, and at last."""
STRETCHED_LIMIT: Final = 4 * LIMIT
"""The work that all pieces of a list may take together."""

_VARIABLES: Final = 1000
"""More than an expression of 4 KiB can read."""
_UNBOUND: Final = re.compile(r'[A-Z_]+: No value with name "(_[0-9]+)" found')

Roots: TypeAlias = Mapping[str, Json]


@cache
def _environment() -> cel.Env:
    """Made when the first expression needs it: that takes a while, and many documents read nothing but paths."""
    return cel.NewEnv(
        variables={f"_{number}": cel.Type.DYN for number in range(_VARIABLES)},
        extensions=[
            ext_strings.ExtStrings(),
            ext_math.ExtMath(),
            ext_optional.ExtOptional(),
            ext_encoders.ExtEncoders(),
        ],
    )


@dataclass(frozen=True, slots=True)
class Slot:
    """A part of the expression that riven computes itself, and the variable that stands for it."""

    variable: str
    text: str
    """What stands for it in the source that the library gets."""
    spans: tuple[tuple[int, int], ...]
    value: Callable[[Roots], Json]
    """What the variable is bound to. Raises ExpressionError, which counts if the library comes to need the value."""
    size: Callable[[Json, int], Size]
    """Of what the slot stands for, from what the variable is bound to; its elements are looked at so many levels down."""

    @property
    def column(self) -> int:
        return self.spans[0][0] + 1


@dataclass(frozen=True, slots=True)
class Source:
    """What all programs of one expression share."""

    text: str
    careful: bool
    """A result may hold an optional."""
    secret: bool
    """It reads secrets: no error may show what was computed."""


def compile_program(
    source: str, tree: Expr, reads: Sequence[Read], *, careful: bool, secret: bool
) -> "Program":
    """Raises ExpressionError for what the library refuses, and for what could never be afforded."""
    taken = set(re.findall(r"_[0-9]+", source))
    variables = (name for number in range(_VARIABLES) if (name := f"_{number}") not in taken)
    by_path: dict[object, list[Read]] = {}
    for read in reads:
        by_path.setdefault((read.path, read.asked), []).append(read)
    slots = [_path_slot(next(variables), same, source) for same in by_path.values()]
    shared = Source(source, careful, secret)
    loops = find_loops(tree, reads)
    if not loops:
        return Program(shared, tree, slots)
    stretches = [_Stretch(shared, loop, slots, next(variables)) for loop in loops]
    return Program(shared, tree, slots, [(each, next(variables)) for each in stretches])


def _path_slot(variable: str, reads: Sequence[Read], source: str) -> Slot:
    """For `has` and for optional paths the variable is an object with the key `v`, or without."""
    path, asked, column = reads[0].path, reads[0].asked, reads[0].start + 1
    spans = tuple((read.start, read.end) for read in reads)

    def has(roots: Roots) -> Json:
        return {"v": True} if path.has(roots, source, column) else {}

    def maybe(roots: Roots) -> Json:
        value = path.follow(roots, source, column)
        return {} if value is ABSENT else {"v": value}

    def plain(roots: Roots) -> Json:
        return path.follow(roots, source, column)

    if asked:
        return Slot(variable, f"{variable}.v", spans, has, lambda _, __: Size(SCALAR))
    if path.optional:
        return Slot(
            variable, f"{variable}.?v", spans, maybe, lambda value, levels: measure(value.get("v"), levels)
        )
    return Slot(variable, variable, spans, plain, measure)


@dataclass(slots=True)
class _Bound:
    """The slots' values for one evaluation."""

    data: dict[str, Json]
    failures: dict[str, ExpressionError]
    largest: float = 0.0


class Program:
    """`tree` may be a part of the source: then only that part is compiled."""

    def __init__(
        self,
        source: Source,
        tree: Expr,
        slots: Sequence[Slot],
        stretches: Sequence[tuple["_Stretch", str]] = (),
    ) -> None:
        self.source = source
        self.tree = tree
        self.slots = tuple(slot for slot in slots if any(_inside(span, tree) for span in slot.spans))
        self.stretches = stretches
        self.stretched: Program | None = None
        self.proven = 0.0
        """The program is affordable while no value that it reads has more bytes than this."""
        self.refused = math.inf
        """The size from which on a look at the values themselves has to tell."""
        usual = self.bound_for(USUAL)
        if usual.affordable and usual.size <= MAX_TEXT:
            self.proven = USUAL
        elif not (least := self.bound_for(SCALAR)).affordable:
            raise self.unaffordable(least.work / LIMIT)
        try:
            self.program = _environment().compile(self._rewritten())
            returned = self.program.return_type().name()
        except Exception as error:  # noqa: BLE001 - the library raises RuntimeError and TypeError for any fault
            raise explain_compile(str(error), source.text, tree) from None
        self.boolean = returned in ("BOOL", "DYN")

    def _rewritten(self) -> str:
        """The part of the source, with each slot replaced by its variable; same length, same lines."""
        text, tree = self.source.text, self.tree
        places = sorted(
            (*span, slot.text) for slot in self.slots for span in slot.spans if _inside(span, tree)
        )
        parts = [_blank(text[: tree.start])]
        done = tree.start
        for start, end, variable in places:
            parts += [text[done:start], variable, _blank(text[start + len(variable) : end])]
            done = end
        parts.append(text[done : tree.end])
        return "".join(parts)

    # ---- evaluation -----------------------------------------------------------------------------------------------

    def evaluate(self, roots: Roots) -> Json:
        bound = self.bind(roots)
        if self.stretches and any(stretch.is_long(bound.data) for stretch, _ in self.stretches):
            return self._evaluate_stretched(roots)
        unsure = bound.largest > self.proven and not self._afford(bound)
        result = self.run(bound)
        if unsure:
            self._check_size(result)
        return result

    def bind(self, roots: Roots) -> _Bound:
        bound = _Bound({}, {})
        for slot in self.slots:
            try:
                value = slot.value(roots)
                size = weigh(value)
            except ExpressionError as error:
                bound.failures[slot.variable] = error
            except UnfitError as error:
                bound.failures[slot.variable] = self._unfit(error, slot.column)
            else:
                bound.data[slot.variable] = value
                bound.largest = max(bound.largest, size)
        return bound

    def run(self, bound: _Bound) -> Json:
        """Once the work was found to be affordable."""
        try:
            value = self.program.eval(data=bound.data)
            type_name = value.type().name()
            if type_name == "ERROR":
                self._raise_error(value, bound.failures)
            return to_json(value, type_name, careful=self.source.careful)
        except ExpressionError:
            raise
        except UnfitError as error:
            raise self._unfit(error, None) from None
        except Exception as error:  # noqa: BLE001 - the library raises RuntimeError and SystemError for any fault
            raise self._explained(str(error), bound.failures) from None

    def _evaluate_stretched(self, roots: Roots) -> Json:
        """With the loops computed in pieces, and the rest of the expression around them."""
        first, _ = self.stretches[0]
        if first.loop.node is self.tree:
            return first.evaluate(roots)
        if self.stretched is None:
            loops = [stretch.slot(variable) for stretch, variable in self.stretches]
            outside = [_outside(slot, loops) for slot in self.slots]
            self.stretched = Program(self.source, self.tree, [*loops, *outside])
        return self.stretched.evaluate(roots)

    def _raise_error(self, value: cel.Value, failures: Mapping[str, ExpressionError]) -> None:
        """Raise what an error value tells. An optional has the same type, but no value; that is not for here."""
        try:
            said = str(value.value())
        except TypeError:
            return
        raise self._explained(said, failures)

    def _explained(self, said: str, failures: Mapping[str, ExpressionError]) -> ExpressionError:
        if (found := _UNBOUND.match(said)) and found[1] in failures:
            return failures[found[1]]
        return explain_evaluation(said, self.source.text, self.tree, secret=self.source.secret)

    def _unfit(self, error: UnfitError, column: int | None) -> ExpressionError:
        return ExpressionError(error.code, error.reason, self.source.text, column)

    # ---- bounds ---------------------------------------------------------------------------------------------------

    def bound_for(self, size: float) -> Bound:
        """The bound if all that is read has this size."""
        return self.bound({slot.variable: Size(size) for slot in self.slots})

    def bound_of(self, data: Mapping[str, Json]) -> Bound:
        """The bound for these values. Looks into them no further than it must to find the work affordable."""
        for levels in LOOKS:
            sizes = {
                slot.variable: slot.size(data[slot.variable], levels)
                for slot in self.slots
                if slot.variable in data
            }
            found = self.bound(sizes)
            if found.affordable:
                break
        return found

    def bound(self, sizes: Mapping[str, Size]) -> Bound:
        nothing = Size(SCALAR)
        reads = {span: sizes.get(slot.variable, nothing) for slot in self.slots for span in slot.spans}
        return bound(self.tree, reads, given=sum(size.size for size in sizes.values()))

    def _afford(self, bound: _Bound) -> bool:
        """Raise if the work is too much for these values. False: affordable, but the result may be too large."""
        rounded = USUAL
        while rounded < bound.largest:
            rounded *= 2
        if rounded < self.refused:
            usual = self.bound_for(rounded)
            if usual.affordable and usual.size <= MAX_TEXT:
                self.proven = max(self.proven, rounded)
                return True
            self.refused = min(self.refused, rounded)
        exact = self.bound_of(bound.data)
        if not exact.affordable:
            raise self.unaffordable(exact.work / LIMIT)
        return exact.size <= MAX_TEXT

    def unaffordable(self, times: float) -> ExpressionError:
        much = f"{times:,.0f} times" if times >= 2 else "more than"
        reason = (
            f"this may take {much} the work that one expression is allowed, with the values it reads: "
            "the text or the list that it makes grows too fast, or is gone through too often; "
            "use a for_each node or a python node"
        )
        return ExpressionError("expression_budget", reason, self.source.text)

    def _check_size(self, result: Json) -> None:
        size = weigh(result)
        if size > MAX_TEXT:
            reason = f"the result has {size / 2**20:.0f} MiB, the limit is {MAX_TEXT // 2**20} MiB"
            raise ExpressionError("text_too_large", reason, self.source.text)


class _Stretch:
    """A loop over a list, evaluated piece by piece: `map` and `filter` of a whole are those of its parts, in turn."""

    def __init__(self, source: Source, loop: Loop, slots: Sequence[Slot], variable: str) -> None:
        self.source = source
        self.loop = loop
        self.variable = variable
        """Stands for the list where the loop goes through it, and there alone: its body may read all of it."""
        span = (loop.over.start, loop.over.end)
        whole = next(slot for slot in slots if span in slot.spans)
        over = Slot(variable, variable, (span,), whole.value, whole.size)
        self.slots = [over, *(_outside(slot, [over]) for slot in slots)]
        self.whole = whole.variable
        self.program: Program | None = None

    def is_long(self, data: Mapping[str, Json]) -> bool:
        over = data.get(self.whole)
        return isinstance(over, list) and len(over) > LONG

    def slot(self, variable: str) -> Slot:
        node = self.loop.node
        return Slot(variable, variable, ((node.start, node.end),), self.evaluate, measure)

    def evaluate(self, roots: Roots) -> Json:
        if self.program is None:
            self.program = Program(self.source, self.loop.node, self.slots)
        program = self.program
        bound = program.bind(roots)
        over = bound.data.get(self.variable)
        if not isinstance(over, list):
            return program.run(bound)
        # Every piece costs its own copying, quadratic in its length, and the conversion of all that is read beside it.
        beside = sum(weigh(value) for variable, value in bound.data.items() if variable != self.variable)
        length = min(max(PIECES[0], math.isqrt(int(beside))), PIECES[1])
        found: list[Json] = []
        work = 0.0
        for begin in range(0, len(over), length):
            bound.data[self.variable] = over[begin : begin + length]
            piece = program.bound_of(bound.data)
            work += piece.work
            if not piece.affordable or work > STRETCHED_LIMIT:
                raise program.unaffordable(max(piece.work / LIMIT, work / STRETCHED_LIMIT))
            found += program.run(bound)
        return found


def _inside(span: tuple[int, int], tree: Expr) -> bool:
    return tree.start <= span[0] and span[1] <= tree.end


def _outside(slot: Slot, loops: Sequence[Slot]) -> Slot:
    """The slot without the places inside of loops."""
    covered = [span for loop in loops for span in loop.spans]
    spans = [
        span for span in slot.spans if not any(start <= span[0] and span[1] <= end for start, end in covered)
    ]
    return Slot(slot.variable, slot.text, tuple(spans), slot.value, slot.size)


def _blank(text: str) -> str:
    return "".join(char if char == "\n" else " " for char in text)
