"""The input of an execution against the schema of its workflow: defaults filled in, everything wrong told at once."""

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

import jsonschema_rs
import orjson

from riven.core.errors import Problem
from riven.documents.builder import MAX_DEPTH
from riven.documents.codes import Code
from riven.documents.defaults import LargeDefaultsError, fill_defaults
from riven.documents.places import Location, dotted, shorten
from riven.documents.refusals import refusals
from riven.documents.scalars import NumberRangeError, check_number
from riven.documents.schema_cost import levels_of, looks
from riven.documents.wording import described
from riven.wire.document import Document, Json

MAX_PROBLEMS: Final = 100
USUAL_LOOKS: Final = 64
"""How often a schema looks at one place of a value without that being odd."""
_MOST_LOOKS: Final = 10_000_000
_MOST_EXPLAINED: Final = 100_000
_PATTERNS: Final = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=2_000, size_limit=1 << 20, dfa_size_limit=1 << 20
)


def check_input(document: Document, value: Json) -> tuple[Json, tuple[Problem, ...]]:
    """The input with the defaults of its schema, and what is wrong with it; `value` itself is not changed.

    Paths are `input.amount`. With problems, the value is not to be used.
    """
    if not isinstance(value, dict):
        said = f"the input is a mapping, not {described(value)}"
        return value, (_problem((), Code.WRONG_TYPE, said),)
    if problems := json_problems(value):
        return value, tuple(problems)
    if document.input is None:
        return value, ()
    try:
        compiled = _compile(orjson.dumps(document.input))
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError, TypeError) as broken:
        said = f"the schema of the input is no JSON Schema: {shorten(str(broken).partition(chr(10))[0], 200)}"
        return value, (_problem((), Code.INVALID_SCHEMA, said),)
    try:
        filled = fill_defaults(document.input, value) if compiled.has_defaults else value
    except LargeDefaultsError as large:
        return value, (_problem((), Code.TOO_LARGE, str(large)),)
    return filled, _checked(compiled, filled, document.input)


def _checked(compiled: "_Compiled", value: Json, schema: Json) -> tuple[Problem, ...]:
    validator = compiled.validator
    levels, count = levels_of(value) if compiled.has_references else (0, 0)
    often = compiled.looks(schema, levels) if compiled.has_references else 0
    if often * count > _MOST_LOOKS and often > USUAL_LOOKS:
        said = "the schema refers to itself so often that this input would take too long; nest the input less"
        return (_problem((), Code.TOO_DEEP, said),)
    if (
        often * count > _MOST_EXPLAINED and often > USUAL_LOOKS
    ):  # saying what is wrong takes longer than to see that it is
        fits = validator.is_valid(value)
        said = "the input does not fit its schema, which refers to itself so often that no more can be told"
        return () if fits else (_problem((), Code.INVALID_VALUE, said),)
    found: dict[tuple[str, str], Problem] = {}
    for error in validator.iter_errors(value):
        for refusal in refusals(error, value, schema):
            problem = _problem(refusal.place, refusal.code, refusal.message)
            found.setdefault((problem.path, problem.message), problem)
        if len(found) >= MAX_PROBLEMS:
            break
    return tuple(found.values())


def compile_schema(schema: Json) -> jsonschema_rs.Draft202012Validator:
    """Raises what jsonschema-rs raises for what is no JSON Schema, and for references to other places.

    TypeError is orjson's, for what is no JSON at all.
    """
    return _compile(orjson.dumps(schema)).validator


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A schema made ready, and what need not be asked of every value."""

    validator: jsonschema_rs.Draft202012Validator
    has_defaults: bool
    has_references: bool
    """Without them it looks at each place once."""
    _looks: dict[int, int] = field(default_factory=dict)

    def looks(self, schema: Json, levels: int) -> int:
        if levels not in self._looks:
            self._looks[levels] = looks(schema, levels)
        return self._looks[levels]


@lru_cache(512)
def _compile(schema: bytes) -> _Compiled:
    validator = jsonschema_rs.Draft202012Validator(
        orjson.loads(schema), offline=True, validate_formats=True, pattern_options=_PATTERNS
    )
    has_references = b'"$ref"' in schema or b'"$dynamicRef"' in schema
    return _Compiled(validator, has_defaults=b'"default"' in schema, has_references=has_references)


def _problem(location: Location, code: str, message: str) -> Problem:
    return _at(("input", *location), code, message)


def json_problems(value: Json, root: str = "input") -> list[Problem]:
    """What JSON, or our store, cannot hold; without recursion. `root` is what paths call the value."""
    problems: list[Problem] = []
    todo: list[tuple[Location, Json]] = [((root,), value)]
    while todo and len(problems) < MAX_PROBLEMS:
        place, each = todo.pop()
        if isinstance(each, dict | list):
            if len(place) > MAX_DEPTH:
                said = f"the {root} is nested deeper than {MAX_DEPTH} levels; flatten it"
                return [_at(place[:9], Code.TOO_DEEP, said)]
            if isinstance(each, dict):
                for key, inner in reversed(each.items()):
                    problems += _bad_key(place, key)
                    todo.append(((*place, str(key)), inner))
            else:
                todo += [((*place, index), each[index]) for index in range(len(each) - 1, -1, -1)]
        elif isinstance(each, str):
            problems += _bad_text(place, each)
        elif isinstance(each, bool) or each is None:
            continue
        elif isinstance(each, int | float):
            try:
                check_number(each)
            except NumberRangeError as error:
                problems.append(_at(place, error.code, str(error)))
        else:
            problems.append(_at(place, Code.WRONG_TYPE, f"this is no JSON: a {type(each).__name__}"))
    return problems


def _at(location: Location, code: str, message: str) -> Problem:
    return Problem(path=dotted(location), code=str(code), message=message)


def _bad_key(place: Location, key: object) -> list[Problem]:
    if isinstance(key, str):
        return _bad_text((*place, key), key)
    return [_at(place, Code.INVALID_KEY, "the names of fields must be text")]


def _bad_text(place: Location, text: str) -> list[Problem]:
    if "\0" in text:
        return [_at(place, Code.NUL_CHARACTER, "take the NUL character out of this text")]
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        return [_at(place, Code.LONE_SURROGATE, "half of a surrogate pair is no character")]
    return []
