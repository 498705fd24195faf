"""Compiles and evaluates CEL expressions over JSON, bounded, with errors that anybody can read.

How it works: `syntax` reads the expression, `references` finds the paths in it that are written out, such as
`steps.order.output.id`. These riven follows itself (`paths`), exactly as CEL would. In what is handed to the library each
is replaced by a variable of its own, of the same length in the text, so that places stay true. So only what is read is
converted, also of large outputs, and a path that fails is an unbound variable, which is an error only if CEL comes to
need it: `a.b == 1 || true` is true, as the language wants it. Before evaluation `bounds` says from the sizes at hand
whether the work is affordable, since the library cannot be stopped once it runs.

An `Expression` is immutable and shared between threads.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from cel_expr_python import cel
from cel_expr_python.ext import ext_encoders, ext_math, ext_optional, ext_strings

from riven.expressions.bounds import LIMIT, SCALAR, Bound, Size, bound
from riven.expressions.errors import ExpressionCode, ExpressionError
from riven.expressions.paths import ABSENT, Link, Path, kind_of
from riven.expressions.references import ROOTS, Read, References, read_expression, references_of
from riven.expressions.shortcuts import Evaluate, follow, shortcut
from riven.expressions.syntax import Expr, Literal, parse
from riven.expressions.values import MAX_TEXT, UnfitError, measure, to_json, weigh
from riven.expressions.wording import explain_compile, explain_evaluation
from riven.wire.document import Json

__all__ = ["Expression", "ExpressionCode", "ExpressionError", "compile_condition", "compile_expression"]

CACHED: Final = 16_384
"""Compiled expressions that a process keeps."""
USUAL: Final = 4096.0
"""Bytes of JSON in each value that is read, for which an expression is judged when it is compiled."""

_VARIABLES: Final = 1000
"""More than an expression of 4 KiB can read."""
_ENVIRONMENT: Final = cel.NewEnv(
    variables={f"_{number}": cel.Type.DYN for number in range(_VARIABLES)},
    extensions=[
        ext_strings.ExtStrings(),
        ext_math.ExtMath(),
        ext_optional.ExtOptional(),
        ext_encoders.ExtEncoders(),
    ],
)


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
    if found is not None and found[1] in ROOTS and len(source) <= USUAL:
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
        boolean = not isinstance(tree, Literal) or isinstance(tree.value, bool)
        return Expression(source, references, direct, boolean=boolean)
    program = _Program(
        source, tree, reading.reads, careful=reading.resolves_optionals, secret=bool(references.secrets)
    )
    return Expression(source, references, program.evaluate, boolean=program.boolean)


_UNBOUND: Final = re.compile(r'[A-Z_]+: No value with name "(_[0-9]+)" found')


class _Slot:
    """One path that the expression reads, and the variable that stands for it."""

    __slots__ = ("asked", "column", "path", "variable")

    def __init__(self, variable: str, read: Read) -> None:
        self.variable = variable
        self.path = read.path
        self.asked = read.asked
        self.column = read.start + 1

    @property
    def text(self) -> str:
        if self.asked:
            return f"{self.variable}.v"
        return f"{self.variable}.?v" if self.path.optional else self.variable

    def value(self, roots: Mapping[str, Json], source: str) -> Json:
        """What the variable is bound to; for `has` and for optional paths an object with the key `v`, or without."""
        if self.asked:
            return {"v": True} if self.path.has(roots, source, self.column) else {}
        value = self.path.follow(roots, source, self.column)
        if self.path.optional:
            return {} if value is ABSENT else {"v": value}
        return value

    def size(self, value: Json) -> Size:
        """Of what the path leads to, bound as `value`."""
        if self.asked:
            return Size(SCALAR)
        return measure(value.get("v") if self.path.optional else value)


class _Program:
    def __init__(self, source: str, tree: Expr, reads: list[Read], *, careful: bool, secret: bool) -> None:
        self.source = source
        self.tree = tree
        self.reads = reads
        self.careful = careful
        self.secret = secret
        self.slots: dict[tuple[Path, bool], _Slot] = {}
        taken = set(re.findall(r"_[0-9]+", source))
        variables = (name for number in range(_VARIABLES) if (name := f"_{number}") not in taken)
        for read in reads:
            if (read.path, read.asked) not in self.slots:
                self.slots[read.path, read.asked] = _Slot(next(variables), read)
        self.by_variable = {slot.variable: slot for slot in self.slots.values()}
        self.bindings = tuple(self.slots.values())
        self.proven = 0.0
        """The expression is affordable while no value that it reads has more bytes than this."""
        usual = self._bound(USUAL)
        if usual.affordable and usual.size <= MAX_TEXT:
            self.proven = USUAL
        elif not (least := self._bound(SCALAR)).affordable:
            raise self._unaffordable(least)
        try:
            self.program = _ENVIRONMENT.compile(self._rewritten())
            returned = self.program.return_type().name()
        except Exception as error:  # noqa: BLE001 - the library raises RuntimeError and TypeError for any fault
            raise explain_compile(str(error), source, tree) from None
        self.boolean = returned in ("BOOL", "DYN")

    def _rewritten(self) -> str:
        """The source with each path replaced by its variable; same length, same lines."""
        parts: list[str] = []
        done = 0
        for read in sorted(self.reads, key=lambda read: read.start):
            text = self.slots[read.path, read.asked].text
            rest = self.source[read.start + len(text) : read.end]
            parts += [self.source[done : read.start], text, "".join(c if c == "\n" else " " for c in rest)]
            done = read.end
        parts.append(self.source[done:])
        return "".join(parts)

    def evaluate(self, roots: Mapping[str, Json]) -> Json:
        data: dict[str, Json] = {}
        failures: dict[str, ExpressionError] = {}
        largest = 0.0
        for slot in self.bindings:
            try:
                value = slot.value(roots, self.source)
                size = weigh(value)
            except ExpressionError as error:
                failures[slot.variable] = error
            except UnfitError as error:
                failures[slot.variable] = self._unfit(error, slot.column)
            else:
                data[slot.variable] = value
                largest = max(largest, size)
        unsure = largest > self.proven and not self._afford(data, largest)
        try:
            value = self.program.eval(data=data)
            type_name = value.type().name()
            if type_name == "ERROR":
                self._raise_error(value, failures)
            result = to_json(value, type_name, careful=self.careful)
        except (ExpressionError, UnfitError) as error:
            raise error if isinstance(error, ExpressionError) else self._unfit(error, None) from None
        except Exception as error:  # noqa: BLE001 - the library raises RuntimeError and SystemError for any fault
            raise self._explained(str(error), failures) from None
        if unsure:
            self._check_size(result)
        return result

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
        return explain_evaluation(said, self.source, self.tree, secret=self.secret)

    # ---- bounds ---------------------------------------------------------------------------------------------------

    def _bound(self, size: float) -> Bound:
        return self._bound_of({slot.variable: Size(size) for slot in self.bindings})

    def _bound_of(self, sizes: Mapping[str, Size]) -> Bound:
        nothing = Size(SCALAR)
        reads = {
            (read.start, read.end): sizes.get(self.slots[read.path, read.asked].variable, nothing)
            for read in self.reads
        }
        return bound(self.tree, reads, given=sum(size.size for size in sizes.values()))

    def _afford(self, data: Mapping[str, Json], largest: float) -> bool:
        """Raise if the work is too much for these values. False: affordable, but the result may be too large."""
        rounded = USUAL
        while rounded < largest:
            rounded *= 2
        usual = self._bound(rounded)
        if usual.affordable and usual.size <= MAX_TEXT:
            self.proven = max(self.proven, rounded)
            return True
        exact = self._bound_of({name: self.by_variable[name].size(value) for name, value in data.items()})
        if not exact.affordable:
            raise self._unaffordable(exact)
        return exact.size <= MAX_TEXT

    def _unaffordable(self, found: Bound) -> ExpressionError:
        times = found.work / LIMIT
        much = f"{times:,.0f} times" if times >= 2 else "more than"
        reason = (
            f"this may take {much} the work that one expression is allowed, with the values it reads: "
            "the text or the list that it makes grows too fast, or is gone through too often; "
            "use a for_each node or a python node"
        )
        return ExpressionError("expression_budget", reason, self.source)

    def _check_size(self, result: Json) -> None:
        size = weigh(result)
        if size > MAX_TEXT:
            reason = f"the result has {size / 2**20:.0f} MiB, the limit is {MAX_TEXT // 2**20} MiB"
            raise ExpressionError("text_too_large", reason, self.source)

    def _unfit(self, error: UnfitError, column: int | None) -> ExpressionError:
        return ExpressionError(error.code, error.reason, self.source, column)
