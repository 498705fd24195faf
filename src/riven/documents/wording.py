"""What pydantic finds, in words for people who write workflows: what the field wants, and what stands there."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, get_args

from pydantic import BaseModel, ValidationError

from riven.documents.codes import Code
from riven.documents.nearest import hint
from riven.documents.places import Location, shorten
from riven.expressions.paths import kind_of
from riven.wire.document import Json

_TEXT: Final = "text"
_WHOLE: Final = "a whole number"
_NUMBER: Final = "a number"
_FLAG: Final = "true or false"
_MAPPING: Final = "a mapping of fields"
_LIST: Final = "a list"
_WANTED: Final[Mapping[str, str]] = {
    "string_type": _TEXT,
    "string_sub_type": _TEXT,
    "int_type": _WHOLE,
    "int_parsing": _WHOLE,
    "int_from_float": _WHOLE,
    "float_type": _NUMBER,
    "float_parsing": _NUMBER,
    "bool_type": _FLAG,
    "bool_parsing": _FLAG,
    "dict_type": _MAPPING,
    "mapping_type": _MAPPING,
    "model_type": _MAPPING,
    "model_attributes_type": _MAPPING,
    "dataclass_type": _MAPPING,
    "list_type": _LIST,
    "tuple_type": _LIST,
    "set_type": _LIST,
    "iterable_type": _LIST,
    "none_required": "null",
}
_LIMITS: Final = {
    "greater_than": ("gt", "more than"),
    "greater_than_equal": ("ge", "at least"),
    "less_than": ("lt", "less than"),
    "less_than_equal": ("le", "at most"),
    "multiple_of": ("multiple_of", "a multiple of"),
}
_MOST: Final = 1_000
"""Faults of one node or edge; nobody reads more."""
SYNONYMS: Final = {
    "dependson": "needs",
    "after": "needs",
    "if": "when",
    "config": "with",
    "params": "with",
    "parameters": "with",
    "args": "with",
    "inputs": "input",
    "outputs": "output",
    "steps": "nodes",
    "tasks": "nodes",
    "jobs": "nodes",
    "label": "name",
    "title": "name",
    "id": "name",
    "retries": "retry",
    "variables": "vars",
    "constants": "vars",
    "env": "vars",
    "source": "from",
    "target": "to",
    "on": "outcome",
    "condition": "outcome",
    "attempts": "maxAttempts",
    "backoff": "multiplier",
    "ignoreerrors": "continueOnError",
    "schema": "input",
    "links": "edges",
    "uses": "type",
}
"""What other systems call our fields."""
_UUID = "0198c0de-7d1c-7b2f-9c1a-2f6d1f0a9b11"


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that a model refuses. `at_key`: the name of the field is wrong, not its value."""

    location: Location
    code: Code
    message: str
    value: Json
    kind: str
    """Pydantic's name for it."""
    at_key: bool = False


def faults(error: ValidationError, model: type[BaseModel], value: Json) -> list[Fault]:
    """Everything the model refuses in the value, one for each place."""
    found: dict[Location, Fault] = {}
    for line in error.errors(include_url=False, include_input=False)[:_MOST]:
        kind = line["type"]
        location, here = _place(value, line["loc"], missing=kind == "missing")
        if (
            kind == "too_short"
            and isinstance(here, list)
            and len(here) >= line.get("ctx", {}).get("min_length", 0)
        ):
            continue  # long enough, but pydantic has counted only those elements that are right
        fault = _fault(kind, location, here, line, model)
        before = found.get(location)
        if before is None:
            found[location] = fault
        elif before.code is fault.code is Code.WRONG_TYPE:  # the alternatives of a union
            found[location] = _either(before, fault)
    every = list(found.values())
    misspelt = {fault.message for fault in every if fault.kind == "extra_forbidden"}
    return [
        fault
        for fault in every
        if fault.kind != "missing"
        or not any(f"did you mean '{fault.location[-1]}'?" in message for message in misspelt)
    ]


def _place(value: Json, steps: Sequence[str | int], *, missing: bool) -> tuple[Location, Json]:
    """Where in the value; the names that pydantic gives to the alternatives of a union are no steps."""
    location: list[str | int] = []
    for number, step in enumerate(steps):
        in_mapping = isinstance(value, dict) and step in value
        in_list = isinstance(value, list) and isinstance(step, int) and step < len(value)
        if in_mapping or in_list:
            value = value[step]
            location.append(step)
        elif missing and number == len(steps) - 1:
            location.append(step)
    return tuple(location), value


def _fault(
    kind: str, location: Location, value: Json, line: Mapping[str, Any], model: type[BaseModel]
) -> Fault:
    name = _name(location)
    context = line.get("ctx", {})
    if kind == "missing":
        return Fault(location, Code.MISSING_FIELD, f"{name} is missing; add it", None, kind)
    if kind == "extra_forbidden":
        known = list(_fields_at(model, location[:-1]))
        said = f"there is no field {name} here{_instead(str(location[-1]), known)}"
        return Fault(location, Code.UNKNOWN_FIELD, said, value, kind, at_key=True)
    if kind in _WANTED:
        said = f"{name} must be {_WANTED[kind]}, not {described(value)}"
        return Fault(location, Code.WRONG_TYPE, said, value, kind)
    code = Code.INVALID_NAME if kind == Code.INVALID_NAME else Code.INVALID_VALUE
    return Fault(location, code, _refused(kind, name, value, context, line["msg"]), value, kind)


def _refused(kind: str, name: str, value: Json, context: Mapping[str, Any], message: str) -> str:
    if kind in ("literal_error", "enum"):
        allowed = re.findall(r"'([^']*)'", str(context.get("expected", "")))
        near = hint(value, allowed) if isinstance(value, str) else ""
        return f"{name} must be one of {', '.join(allowed)}, not {described(value)}{near}"
    if kind in _LIMITS:
        field, words = _LIMITS[kind]
        return f"{name} must be {words} {context.get(field)}"
    if kind in ("too_short", "string_too_short"):
        least = context.get("min_length")
        what = "characters" if kind.startswith("string") else "elements"
        return f"{name} must not be empty" if least == 1 else f"{name} must have at least {least} {what}"
    if kind in ("too_long", "string_too_long"):
        what = "characters" if kind.startswith("string") else "elements"
        return f"{name} must have at most {context.get('max_length')} {what}"
    if kind == "string_pattern_mismatch":
        return f"{name} must match {context.get('pattern')}"
    if kind == "uuid_parsing":
        return f"{name} must be a UUID, such as {_UUID}, not {described(value)}"
    if kind == "finite_number":
        return f"{name} must be a finite number"
    said = message.removeprefix("Value error, ").removeprefix("Assertion failed, ")
    said = said.replace("Input should be", "must be").strip() or "this value is refused"
    return f"{name}: {said}" if name != "this" else said


def _either(one: Fault, other: Fault) -> Fault:
    first, _, rest = one.message.partition(", not ")
    second = other.message.partition(" must be ")[2].partition(", not ")[0]
    if second in first or not second:
        return one
    return Fault(one.location, one.code, f"{first} or {second}, not {rest}", one.value, one.kind)


def described(value: Json) -> str:
    """What stands there, short enough for a message."""
    if isinstance(value, str):
        return f"the text {shorten(value, 40)!r}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return f"the number {value}"
    return "a mapping" if isinstance(value, dict) else kind_of(value)


def _name(location: Location) -> str:
    if not location:
        return "this"
    last = location[-1]
    if isinstance(last, int):
        return "this element"
    return f"`{shorten(last, 40)}`"


def _instead(name: str, known: Sequence[str]) -> str:
    near = hint(name, known, SYNONYMS)
    if near:
        return near
    return f"; there are {', '.join(known)}" if known else "; this has no fields"


def _fields_at(model: type[BaseModel], location: Location) -> Iterator[str]:
    """The names of the fields that can stand at a place."""
    models = [model]
    for step in location:
        if isinstance(step, int):
            continue
        inner: list[type[BaseModel]] = []
        for each in models:
            fields = {field.alias or name: field for name, field in each.model_fields.items()}
            if step in fields:
                inner += _models_in(fields[step].annotation)
        models = inner or models
    seen: dict[str, None] = {}
    for each in models:
        seen.update(dict.fromkeys(field.alias or name for name, field in each.model_fields.items()))
    yield from seen


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        return
    for part in get_args(annotation):
        yield from _models_in(part)
