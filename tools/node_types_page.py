"""The reference of node types, made from what every type says of itself: the same that forms are made from."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from riven.nodes.registry import Registry

NEVER = {"not": {}}
"""The schema that nothing fits."""

INTRODUCTION = """\
# Node types

What a node of each type takes (`with`), gives (`output`) and leaves by (outcome labels, which [edges](joins.md) follow).
This page is generated from the types themselves; packages add further ones by the entry point `riven.nodes`.

Text may hold templates, `{{ ... }}`, and a field that is one template takes any type; fields marked *CEL* are a bare
[expression](expressions.md); fields marked *fixed* are read before anything runs and take no template. A duration is
`500ms`, `20s`, `10m`, `2h`, `3d`, ISO 8601 (`PT30S`) or a number of seconds. Fields in **bold** are required.

Actions are tried again when they fail, as [`retry`](document.md#nodes) says, unless the error's
[class](states.md#error-classes) rules it out. Types marked *pure* are quick and without effect outside; they are not
tried again.
"""


def node_types_page() -> str:
    described = Registry().describe()
    lines = [INTRODUCTION, "| type | |", "|---|---|"]
    lines += [f"| [`{each['type']}`](#{each['type']}) | {each['description']} |" for each in described]
    for each in described:
        lines += ["", f"## {each['type']}", "", *section(each)]
    return "\n".join(lines) + "\n"


def section(described: Mapping[str, Any]) -> Iterator[str]:
    yield described["description"]
    yield ""
    schema = described["configSchema"]
    definitions = schema.get("$defs", {})
    rows = list(fields(schema, definitions, described))
    if rows:
        yield from ("| `with` | | default | |", "|---|---|---|---|", *rows)
    else:
        yield "Takes no `with`."
    yield ""
    if described["kind"] in {"for_each", "repeat"}:
        yield "- Has a `body` (a field of the node, not of `with`)."
    yield f"- Output: {output(described['outputSchema'])}"
    if described["outputSchema"] != NEVER:
        labels = ", ".join(f"`{label}`" for label in described["labels"])
        yield f"- Outcomes: {'the names of its cases, ' if described['labelsFromConfig'] else ''}{labels}"
    if described["pure"]:
        yield "- Pure"
    elif described["kind"] == "action":
        seconds = described["defaultTimeoutSeconds"]
        yield f"- An attempt times out after {f'{seconds:g} s' if seconds else '5 minutes'}, or the node's `timeout`"


def fields(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], described: Mapping[str, Any], prefix: str = ""
) -> Iterator[str]:
    """One row a field; those of an object, or of a list's objects, follow it."""
    for name, field in schema.get("properties", {}).items():
        path = f"{prefix}{name}"
        required = name in schema.get("required", ())
        marks = [
            *(["*fixed*"] if path in described["staticFields"] else []),
            *(["*CEL*"] if path in described["expressionFields"] else []),
        ]
        shape = ", ".join([kind(field, definitions), *marks])
        default = field.get("default")
        shown = "" if default in (None, {}, []) else f"`{json.dumps(default)}`".replace('"', "")
        title = f"**`{path}`**" if required else f"`{path}`"
        yield f"| {title} | {shape} | {shown} | {field.get('description', '')} |".replace("\n", " ")
        for inner, suffix in inner_objects(field, definitions):
            yield from fields(inner, definitions, described, f"{path}{suffix}.")


def inner_objects(
    field: Mapping[str, Any], definitions: Mapping[str, Any], suffix: str = ""
) -> Iterator[tuple[Mapping[str, Any], str]]:
    field = resolved(field, definitions)
    if field.get("properties"):
        yield field, suffix
    if isinstance(field.get("items"), Mapping):
        yield from inner_objects(field["items"], definitions, f"{suffix}[]")
    for choice in field.get("anyOf", ()):
        yield from inner_objects(choice, definitions, suffix)


def resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref", "")
    return definitions[reference.removeprefix("#/$defs/")] if reference else schema


def kind(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    """A schema in a few words."""
    field = resolved(field, definitions)
    if field.get("format") == "cel":
        return "text or true/false"
    if "20s" in field.get("examples", ()):
        return "duration"
    if field.get("format") == "date-time":
        return "time (RFC 3339)"
    if "enum" in field:
        return " / ".join(f"`{choice}`" for choice in field["enum"])
    if "anyOf" in field:
        choices = [kind(choice, definitions) for choice in field["anyOf"] if choice.get("type") != "null"]
        return " or ".join(dict.fromkeys(choices))
    return words(field, definitions) + bounds(field)


def words(field: Mapping[str, Any], definitions: Mapping[str, Any]) -> str:
    names = {
        "string": "text",
        "number": "number",
        "integer": "whole number",
        "boolean": "true/false",
        "object": "mapping",
        "array": "list",
        "null": "null",
    }
    type_ = field.get("type")
    if type_ == ["string", "number", "boolean"]:
        return "text"
    if type_ == "array" and field.get("items"):
        inner = kind(field["items"], definitions)
        return f"list of ({inner})" if " or " in inner else f"list of {inner}"
    if isinstance(type_, Sequence) and not isinstance(type_, str):
        return " or ".join(names[each] for each in type_)
    return names[type_] if type_ else "anything"


def bounds(field: Mapping[str, Any]) -> str:
    low = field.get("minimum", field.get("minItems", field.get("minLength")))
    high = field.get("maximum", field.get("maxItems", field.get("maxLength")))
    size = " long" if field.get("type") == "string" else ""
    match low, high:
        case None, None:
            return ""
        case None, _:
            return f", at most {high:,}{size}"
        case _, None:
            return f", at least {low:,}{size}"
        case _:
            return f", {low:,} to {high:,}{size}"


def output(schema: Mapping[str, Any]) -> str:
    if schema == NEVER:
        return "none; it always fails"
    if properties := schema.get("properties"):
        return "`{" + ", ".join(properties) + "}`"
    return kind(schema, {})
