"""Whether the `input` of a document is JSON Schema 2020-12 that stays inside of the document and within bounds."""

from typing import Final

import jsonschema_rs

from riven.documents.codes import Code
from riven.documents.findings import Findings
from riven.documents.input import compile_schema
from riven.documents.nearest import hint, nearest
from riven.documents.places import Location, find, shorten, texts
from riven.documents.refusals import Refusal, refusals
from riven.documents.schema import DIALECT
from riven.documents.schema_cost import looks
from riven.wire.document import Json

_META: Final = {"$ref": DIALECT}
_OF_NAMES: Final = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_OF_SCHEMAS: Final = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_KEYWORDS: Final = (
    "$schema", "$id", "$ref", "$anchor", "$dynamicRef", "$dynamicAnchor", "$vocabulary", "$comment",
    "$defs", "definitions", "type", "enum", "const", "multipleOf", "maximum", "exclusiveMaximum",
    "minimum", "exclusiveMinimum", "maxLength", "minLength", "pattern", "maxItems", "minItems",
    "uniqueItems", "maxContains", "minContains", "maxProperties", "minProperties", "required",
    "dependentRequired", "allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas",
    "prefixItems", "items", "contains", "properties", "patternProperties", "additionalProperties",
    "propertyNames", "unevaluatedItems", "unevaluatedProperties", "title", "description", "default",
    "deprecated", "readOnly", "writeOnly", "examples", "format", "contentEncoding", "contentMediaType",
    "contentSchema",
)  # fmt: skip
_VALUES: Final = frozenset({"default", "const", "enum", "examples"})
_MOST_LOOKS: Final = 10_000
_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
_REFERENCES: Final = ("$ref", "$dynamicRef")


def check_input_schema(schema: dict[str, Json], findings: Findings) -> None:
    fine = True
    for place, reference in _outward_references(schema):
        said = (
            f"references stay inside of the document: write #/$defs/... instead of {shorten(reference, 60)}"
        )
        findings.error(("input", *place), Code.INVALID_SCHEMA, said)
        fine = False
    dialect = schema.get("$schema", DIALECT)
    if not isinstance(dialect, str) or dialect.rstrip("#") != DIALECT:
        said = f"the schema of the input is JSON Schema 2020-12: write {DIALECT}, or leave this out"
        findings.error(("input", "$schema"), Code.INVALID_SCHEMA, said)
        fine = False
    for place, _ in texts(schema):
        if place[-1:] == ("$id",) and len(place) > 1 and not _is_example(place):
            said = "a schema inside of another one has no `$id` here; use $defs or $anchor"
            findings.error(("input", *place), Code.INVALID_SCHEMA, said)
            fine = False
    told: set[Location] = set()
    for error in compile_schema(_META).iter_errors(schema):
        for refusal in refusals(error, schema, None):
            if refusal.place not in told:
                told.add(refusal.place)
                findings.error(("input", *refusal.place), Code.INVALID_SCHEMA, _explained(refusal, schema))
                fine = False
    if fine and looks(schema, 1) > _MOST_LOOKS:
        said = "its references lead to the same schema again and again, thousands of times; refer to it less often"
        findings.error(("input",), Code.INVALID_SCHEMA, said)
    elif fine:
        _compile(schema, findings)
    _check_keywords(schema, findings)


def _check_keywords(schema: dict[str, Json], findings: Findings) -> None:
    """JSON Schema passes over what it does not know, so a typing error would be silence."""
    todo: list[tuple[Location, Json]] = [((), schema)]
    while todo:
        place, each = todo.pop()
        if not isinstance(each, dict):
            continue
        for keyword, value in each.items():
            if keyword not in _KEYWORDS:
                meant = nearest(keyword, _KEYWORDS)
                if meant is not None:
                    said = f"JSON Schema has no {shorten(keyword, 40)!r}, so it has no effect; did you mean {meant!r}?"
                    findings.warning(("input", *place, keyword), Code.UNKNOWN_FIELD, said)
            elif keyword in _OF_NAMES and isinstance(value, dict):
                todo += [((*place, keyword, name), inner) for name, inner in value.items()]
            elif keyword in _OF_SCHEMAS and isinstance(value, list):
                todo += [((*place, keyword, index), inner) for index, inner in enumerate(value)]
            elif keyword not in _VALUES:
                todo.append(((*place, keyword), value))


def _explained(refusal: Refusal, schema: dict[str, Json]) -> str:
    if refusal.place[-1:] == ("type",):
        value = find(schema, refusal.place)[0]
        near = hint(value, _TYPES) if isinstance(value, str) else ""
        return f"`type` must be one of {', '.join(_TYPES)}, or a list of these{near}"
    return f"this is no JSON Schema: {refusal.message}"


def _compile(schema: dict[str, Json], findings: Findings) -> None:
    try:
        compile_schema(schema)
    except jsonschema_rs.ValidationError as error:
        place = tuple(error.instance_path)
        said = f"this is no JSON Schema: {shorten(error.message, 200)}"
        findings.error(("input", *place), Code.INVALID_SCHEMA, said)
    except (jsonschema_rs.ReferencingError, ValueError, TypeError) as error:
        said = f"this is no JSON Schema: {shorten(str(error).partition(chr(10))[0], 200)}"
        findings.error(("input",), Code.INVALID_SCHEMA, said)


def _outward_references(schema: Json) -> list[tuple[Location, str]]:
    return [
        (place, text)
        for place, text in texts(schema)
        if place and place[-1] in _REFERENCES and not text.startswith("#") and not _is_example(place)
    ]


def _is_example(place: Location) -> bool:
    """Inside of a value, not of a schema; and a property may be called `$ref`."""
    return place[-2:-1] == ("properties",) or any(step in _VALUES for step in place[:-1])
