"""The parts of a document that are neither nodes nor edges: `input` is a JSON Schema, `vars` are constants."""

from typing import Final

import jsonschema_rs

from riven.documents.codes import Code
from riven.documents.draft import Draft
from riven.documents.findings import Findings
from riven.documents.input import compile_schema
from riven.documents.nearest import hint
from riven.documents.places import Location, find, shorten, texts
from riven.documents.refusals import Refusal, refusals
from riven.documents.schema import DIALECT
from riven.expressions.templates import has_placeholder
from riven.wire.document import Json

_META: Final = {"$ref": DIALECT}
_TYPES: Final = ("string", "number", "integer", "boolean", "object", "array", "null")
_REFERENCES: Final = ("$ref", "$dynamicRef")


def check_constants(draft: Draft, findings: Findings) -> None:
    if draft.fields.input is not None:
        _check_schema(draft.fields.input, findings)
    for place, text in texts(draft.fields.vars or {}):
        if has_placeholder(text):
            said = "`vars` are constants; build this value in a `set` node, where templates can stand"
            findings.error(("vars", *place), Code.TEMPLATE_NOT_ALLOWED, said)


def _check_schema(schema: dict[str, Json], findings: Findings) -> None:
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
    told: set[Location] = set()
    for error in compile_schema(_META).iter_errors(schema):
        for refusal in refusals(error, schema, None):
            if refusal.place not in told:
                told.add(refusal.place)
                findings.error(("input", *refusal.place), Code.INVALID_SCHEMA, _explained(refusal, schema))
                fine = False
    if fine:
        _compile(schema, findings)


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
    except (jsonschema_rs.ReferencingError, ValueError) as error:
        said = f"this is no JSON Schema: {shorten(str(error).partition(chr(10))[0], 200)}"
        findings.error(("input",), Code.INVALID_SCHEMA, said)


def _outward_references(schema: Json) -> list[tuple[Location, str]]:
    return [
        (place, text)
        for place, text in texts(schema)
        if place and place[-1] in _REFERENCES and not text.startswith("#") and not _is_example(place)
    ]


def _is_example(place: Location) -> bool:
    """Inside of a value, not of a schema; a property may also be called `$ref`."""
    return any(
        step in ("default", "const", "enum", "examples", "properties") for step in place[-2:-1]
    ) or any(step in ("default", "const", "enum", "examples") for step in place)
