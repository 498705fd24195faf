"""The reference of the HTTP API, made from the OpenAPI description that the API serves."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from riven.api.app import ROUTERS
from riven.api.documentation import needs
from riven.api.openapi import describe

INTRODUCTION = """\
# HTTP API

Every operation of the API, made from its OpenAPI 3.1 description. A server shows the same at `/docs`, and serves it to
machines at `/openapi.json`.

- Requests under `/api/v1` carry `Authorization: Bearer` with an API key ([keys](../how-to/keys.md)) or a token of the
  configured OIDC issuer. Which role an operation asks for stands with it; a higher role may do what a lower one may:
  VIEWER, OPERATOR, EDITOR, ADMIN, and above them platform keys.
- Bodies are JSON, at most 1 MiB; documents are YAML or JSON, at most 4 MiB. Unknown fields and parameters are refused.
- Times are RFC 3339 in UTC, ids are UUIDs. The newest id is the greatest.
- Lists are pages of `{items, nextCursor}`, the newest first. Send `nextCursor` as `cursor` for the next page; null says
  that this was the last.
- What is refused is answered with a problem, one of [these](http-problems.md). Any operation may answer 401, 403, 404,
  422, 429, 500 and 503; those below are its own.
"""
METHODS = ("get", "post", "put", "patch", "delete")
EVERYWHERE = {"400", "401", "403", "404", "413", "415", "422", "429", "500", "503"}
"""Statuses that the introduction tells of."""
LISTED = re.compile(r"Listed_(\w+)_")
"""Pages of items; the introduction tells what a page is."""

Group = list[tuple[str, str, Mapping[str, Any]]]


def http_api_page() -> str:
    openapi = describe([route for router in ROUTERS for route in router.routes])
    groups: dict[str, Group] = {}
    for path, methods in openapi["paths"].items():
        for method in METHODS:
            if method in methods:
                group = groups.setdefault(methods[method]["tags"][0], [])
                group.append((method, path, methods[method]))
    lines = [INTRODUCTION, *_overview(groups)]
    for name, group in groups.items():
        lines += [f"## {name.capitalize()}", ""]
        for each in group:
            lines += _operation(*each)
    lines += ["## Bodies", ""]
    for name, schema in sorted(openapi["components"]["schemas"].items()):
        if not LISTED.fullmatch(name):
            lines += _schema(name, schema)
    return "\n".join(lines)


def _overview(groups: Mapping[str, Group]) -> Iterator[str]:
    yield "| | | needs |"
    yield "|---|---|---|"
    for group in groups.values():
        for method, path, operation in group:
            summary = operation["summary"]
            role = needs(operation).removeprefix("Needs ").rstrip(".")
            yield f"| `{method.upper()} {path}` | [{summary}](#{_anchor(summary)}) | {role} |"
    yield ""


def _anchor(heading: str) -> str:
    kept = "".join(each for each in heading.lower() if each.isalnum() or each in "_- ")
    return kept.replace(" ", "-")


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {operation['summary']}\n"
    yield f"`{method.upper()} {path}`\n"
    yield f"{_joined(operation.get('description', ''))} {needs(operation)}".strip() + "\n"
    if parameters := operation.get("parameters"):
        yield from _table(
            ("parameter", "in", "kind", ""), [_parameter(each) for each in _ordered(path, parameters)]
        )
    if body := operation.get("requestBody"):
        yield _body(body)
    yield from _answers(operation["responses"])


def _body(body: Mapping[str, Any]) -> str:
    schemas = [(media, each.get("schema")) for media, each in body["content"].items()]
    kinds = " or ".join(
        f"{_kind(schema)} as `{media}`" if schema else f"`{media}`" for media, schema in schemas
    )
    needed = "" if body.get("required") else "; it may be left out"
    told = f". {_joined(body['description'])}" if body.get("description") else ""
    return f"Body: {kinds}{needed}{told}\n"


def _answers(responses: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for status, answer in responses.items():
        if status < "400":
            kinds = [_kind(each.get("schema", {})) for each in answer.get("content", {}).values()]
            told = f": {', '.join(kinds)}" if kinds else ""
            yield f"- {status}{told}. {answer['description']}"
        elif status not in EVERYWHERE:
            yield f"- {status}: {answer['description']}"
    yield ""


def _ordered(path: str, parameters: Sequence[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Those of the address in its own order, before the others."""
    return sorted(parameters, key=lambda each: path.find(f"{{{each['name']}}}") % (len(path) + 1))


def _parameter(parameter: Mapping[str, Any]) -> Sequence[str]:
    name = f"`{parameter['name']}`" + ("" if parameter.get("required") else ", optional")
    return (name, parameter["in"], _kind(parameter["schema"]), _joined(parameter.get("description", "")))


def _schema(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    yield f"### {name}\n"
    if schema.get("description"):
        yield f"{_joined(schema['description'])}\n"
    required = set(schema.get("required", ()))
    rows = [
        (
            f"`{field}`" + ("" if field in required else ", optional"),
            _kind(inner),
            _joined(inner.get("description", "")),
        )
        for field, inner in schema.get("properties", {}).items()
    ]
    if rows:
        yield from _table(("field", "kind", ""), rows)
    else:
        yield f"{_kind(schema)}\n"
    for example in schema.get("examples", ()):
        yield f"```json\n{json.dumps(example, indent=2, ensure_ascii=False)}\n```\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def _kind(schema: Mapping[str, Any]) -> str:
    """What a value is, in a few words."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        if listed := LISTED.fullmatch(name):
            return f"a page of [{listed[1]}](#{_anchor(listed[1])})"
        return f"[{name}](#{_anchor(name)})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_kind(each) for each in schema[key]))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(f"`{each}`" for each in values)
    declared = schema.get("type")
    if declared == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if isinstance(declared, list):
        return " or ".join(str(each) for each in declared)
    return f"{schema.get('format') or declared or 'any JSON'}{_bounds(schema)}"


def _bounds(schema: Mapping[str, Any]) -> str:
    low = schema.get("minimum", schema.get("minLength"))
    high = schema.get("maximum", schema.get("maxLength"))
    said = []
    if low is not None:
        said.append(f"from {low}")
    if high is not None:
        said.append(f"to {high}")
    if "pattern" in schema and "u0000" not in schema["pattern"]:
        said.append(f"`{schema['pattern']}`")
    if schema.get("default") not in (None, [], {}):
        said.append(f"default `{json.dumps(schema['default'])}`")
    return f" ({', '.join(said)})" if said else ""


def _joined(text: str) -> str:
    return " ".join(text.split())
