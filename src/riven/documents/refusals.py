"""What jsonschema-rs refuses, in words for people who have never seen a JSON Schema."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs
import orjson

from riven.documents.codes import Code
from riven.documents.nearest import hint
from riven.documents.places import Location, find, shorten
from riven.documents.wording import described
from riven.wire.document import Json

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


@dataclass(frozen=True, slots=True)
class Refusal:
    place: Location
    code: Code
    message: str


def refusals(error: jsonschema_rs.ValidationError, value: Json, schema: Json) -> Iterator[Refusal]:
    """`value` is the whole value that was looked at, `schema` the whole schema; the latter for suggestions alone."""
    place: Location = tuple(error.instance_path)
    here = find(value, place)[0]
    kind: Any = error.kind
    match kind:
        case _Kind.Required(property=name):
            yield Refusal((*place, name), Code.MISSING_FIELD, f"`{shorten(name, 40)}` is missing; add it")
        case _Kind.AdditionalProperties(unexpected=names) | _Kind.UnevaluatedProperties(unexpected=names):
            known = _known_at(schema, place)
            for name in names:
                said = f"there is no field `{shorten(name, 40)}` here{hint(name, known)}"
                yield Refusal((*place, name), Code.UNKNOWN_FIELD, said)
        case _Kind.Type(types=types):
            wanted = " or ".join(_WORDS.get(each, each) for each in types)
            yield Refusal(place, Code.WRONG_TYPE, f"this must be {wanted}, not {described(here)}")
        case _:
            yield Refusal(place, Code.INVALID_VALUE, _refused(error, kind, here))


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
