"""The input of an execution against the schema of its workflow: defaults filled in, everything wrong told at once."""

from functools import lru_cache
from typing import Any, Final

import jsonschema_rs
import orjson

from riven.core.errors import Problem
from riven.documents.builder import MAX_DEPTH
from riven.documents.codes import Code
from riven.documents.defaults import fill_defaults
from riven.documents.nearest import hint
from riven.documents.places import Location, dotted, find, shorten
from riven.documents.scalars import NumberRangeError, check_number
from riven.documents.wording import described
from riven.wire.document import Document, Json

MAX_PROBLEMS: Final = 100
_PATTERNS: Final = jsonschema_rs.FancyRegexOptions(
    backtrack_limit=100_000, size_limit=1 << 20, dfa_size_limit=1 << 20
)
_WORDS: Final = {
    "integer": "a whole number",
    "number": "a number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
    "array": "a list",
    "object": "a mapping",
}

_Kind = jsonschema_rs.ValidationErrorKind


def check_input(document: Document, value: Json) -> tuple[Json, tuple[Problem, ...]]:
    """The input with the defaults of its schema, and what is wrong with it; `value` itself is not changed.

    Paths are `input.amount`. With problems, the value is not to be used.
    """
    if not isinstance(value, dict):
        said = f"the input is a mapping, not {described(value)}"
        return value, (_problem((), Code.WRONG_TYPE, said),)
    if problems := _not_json(value):
        return value, tuple(problems)
    if document.input is None:
        return value, ()
    try:
        validator = compile_schema(document.input)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        said = f"the schema of the input is no JSON Schema: {shorten(str(error).partition(chr(10))[0], 200)}"
        return value, (_problem((), Code.INVALID_SCHEMA, said),)
    filled = fill_defaults(document.input, value)
    found: dict[tuple[str, str], Problem] = {}
    for refusal in validator.iter_errors(filled):
        for problem in _problems_of(refusal, filled, document.input):
            found.setdefault((problem.path, problem.message), problem)
        if len(found) >= MAX_PROBLEMS:
            break
    return filled, tuple(found.values())


def compile_schema(schema: Json) -> jsonschema_rs.Draft202012Validator:
    """Raises what jsonschema-rs raises for what is no JSON Schema, and for references to other places."""
    return _compile(orjson.dumps(schema))


@lru_cache(512)
def _compile(schema: bytes) -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        orjson.loads(schema), offline=True, validate_formats=True, pattern_options=_PATTERNS
    )


def _problem(location: Location, code: str, message: str) -> Problem:
    return Problem(path=dotted(("input", *location)), code=str(code), message=message)


def _not_json(value: Json) -> list[Problem]:
    """What JSON, or our store, cannot hold; without recursion."""
    problems: list[Problem] = []
    todo: list[tuple[Location, Json]] = [((), value)]
    while todo and len(problems) < MAX_PROBLEMS:
        place, each = todo.pop()
        if isinstance(each, dict | list):
            if len(place) >= MAX_DEPTH:
                said = f"the input is nested deeper than {MAX_DEPTH} levels; flatten it"
                return [_problem(place[:8], Code.TOO_DEEP, said)]
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
                problems.append(_problem(place, error.code, str(error)))
        else:
            problems.append(_problem(place, Code.WRONG_TYPE, f"this is no JSON: a {type(each).__name__}"))
    return problems


def _bad_key(place: Location, key: object) -> list[Problem]:
    if isinstance(key, str):
        return _bad_text((*place, key), key)
    return [_problem(place, Code.INVALID_KEY, "the names of fields must be text")]


def _bad_text(place: Location, text: str) -> list[Problem]:
    if "\0" in text:
        return [_problem(place, Code.NUL_CHARACTER, "take the NUL character out of this text")]
    if not text.isascii() and any("\ud800" <= char <= "\udfff" for char in text):
        return [_problem(place, Code.LONE_SURROGATE, "half of a surrogate pair is no character")]
    return []


def _problems_of(error: jsonschema_rs.ValidationError, value: Json, schema: Json) -> list[Problem]:
    place: Location = tuple(error.instance_path)
    here = find(value, place)[0]
    kind: Any = error.kind
    match kind:
        case _Kind.Required(property=name):
            return [_problem((*place, name), Code.MISSING_FIELD, f"`{shorten(name, 40)}` is missing; add it")]
        case _Kind.AdditionalProperties(unexpected=names) | _Kind.UnevaluatedProperties(unexpected=names):
            known = _known_at(schema, place)
            return [
                _problem(
                    (*place, name),
                    Code.UNKNOWN_FIELD,
                    f"there is no field `{shorten(name, 40)}` here{hint(name, known)}",
                )
                for name in names
            ]
        case _Kind.Type(types=types):
            wanted = " or ".join(_WORDS.get(each, each) for each in types)
            return [_problem(place, Code.WRONG_TYPE, f"this must be {wanted}, not {described(here)}")]
        case _:
            return [_problem(place, Code.INVALID_VALUE, _refused(error, kind, here))]


def _refused(error: jsonschema_rs.ValidationError, kind: Any, value: Json) -> str:  # noqa: ANN401 - a kind of error
    said = described(value)
    match kind:
        case _Kind.Enum(options=options):
            near = (
                hint(value, [each for each in options if isinstance(each, str)])
                if isinstance(value, str)
                else ""
            )
            return f"this must be one of {_listed(options)}, not {said}{near}"
        case _Kind.Constant(expected_value=expected):
            return f"this must be {_listed([expected])}, not {said}"
        case _Kind.Minimum(limit=limit):
            return f"this must be at least {limit}, not {said}"
        case _Kind.Maximum(limit=limit):
            return f"this must be at most {limit}, not {said}"
        case _Kind.ExclusiveMinimum(limit=limit):
            return f"this must be more than {limit}, not {said}"
        case _Kind.ExclusiveMaximum(limit=limit):
            return f"this must be less than {limit}, not {said}"
        case _Kind.MultipleOf(multiple_of=factor):
            return f"this must be a multiple of {factor}, not {said}"
        case _Kind.MinLength(limit=limit):
            return "this must not be empty" if limit == 1 else f"this must have at least {limit} characters"
        case _Kind.MaxLength(limit=limit):
            return f"this must have at most {limit} characters"
        case _Kind.MinItems(limit=limit):
            return "this must not be empty" if limit == 1 else f"this must have at least {limit} elements"
        case _Kind.MaxItems(limit=limit):
            return f"this must have at most {limit} elements"
        case _Kind.UniqueItems():
            return "no element may stand here twice"
        case _Kind.Pattern(pattern=pattern):
            return f"this must match {shorten(pattern, 80)}, which {said} does not"
        case _Kind.Format(format=name):
            return f"this must be written as a {name}, not {said}"
        case _Kind.AnyOf() | _Kind.OneOfNotValid():
            return f"{said} fits none of the alternatives that the schema gives"
        case _Kind.OneOfMultipleValid():
            return f"{said} fits more than one of the alternatives that the schema gives"
        case _Kind.FalseSchema():
            return "nothing may stand here"
        case _Kind.BacktrackLimitExceeded() | _Kind.RegexEngineFailure():
            return "the pattern in the schema takes too long on this text; simplify the pattern"
        case _:
            return shorten(error.message, 300)


def _listed(options: list[Json]) -> str:
    shown = ", ".join(shorten(orjson.dumps(each).decode(), 40) for each in options[:10])
    return shown if len(options) <= 10 else f"{shown} and {len(options) - 10} more"


def _known_at(schema: Json, place: Location) -> list[str]:
    """The names that a schema lists at a place, where it does so plainly; for suggestions alone."""
    for step in place:
        inner = schema.get("items") if isinstance(step, int) else schema.get("properties", {}).get(step)
        if not isinstance(inner, dict):
            return []
        schema = inner
    properties = schema.get("properties")
    return list(properties) if isinstance(properties, dict) else []
