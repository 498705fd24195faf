"""The OpenAPI description as a page to read: plain HTML, no script, nothing from outside."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from html import escape
from typing import Any, Final

from riven.api.problem_kinds import PROBLEM_KINDS, ProblemKind

_CODE: Final = re.compile(r"`([^`]+)`")
_LINK: Final = re.compile(r"\[([^\]]+)\]\((https?://[^)\s]+|/[^)\s]*)\)")
_METHODS: Final = ("get", "post", "put", "patch", "delete")


def describe_page(openapi: Mapping[str, Any]) -> str:
    """`/docs`."""
    info = openapi["info"]
    groups: dict[str, list[tuple[str, str, Mapping[str, Any]]]] = {}
    for path, methods in openapi["paths"].items():
        for method in _METHODS:
            if method in methods:
                operation = methods[method]
                groups.setdefault(operation.get("tags", ["other"])[0], []).append((method, path, operation))
    body = [
        f"<h1>{escape(info['title'])} {escape(info['version'])}: HTTP API</h1>",
        _prose(info["description"]),
        (
            '<p>The same for machines: <a href="/openapi.json">/openapi.json</a>. '
            'Kinds of errors: <a href="/problems">/problems</a>.</p>'
        ),
        *_contents(groups),
    ]
    for group, operations in groups.items():
        body.append(f'<h2 id="{escape(group)}">{escape(group.capitalize())}</h2>')
        body += [_operation(*each) for each in operations]
    body.append('<h2 id="schemas">Bodies</h2>')
    body += [_schema(name, schema) for name, schema in sorted(openapi["components"]["schemas"].items())]
    return _page("riven: HTTP API", body)


def problems_page() -> str:
    """`/problems`."""
    rows = [
        f'<tr><td>{kind.status}</td><td><a href="/problems/{kind.code}"><code>{kind.code}</code></a></td>'
        f"<td>{_inline(kind.meaning)}</td></tr>"
        for kind in PROBLEM_KINDS.values()
    ]
    head = "<tr><th>Status</th><th>Kind</th><th>Meaning</th></tr>"
    return _page("riven: problems", ["<h1>Problems</h1>", _table(head, rows), _back()])


def problem_page(kind: ProblemKind) -> str:
    """`/problems/CODE`."""
    body = [
        f"<h1>{escape(kind.title)}</h1>",
        f'<p class="quiet">Status {kind.status}, <code>/problems/{kind.code}</code></p>',
        f"<p>{_inline(kind.meaning)}</p>",
        f"<h4>What to do</h4><p>{_inline(kind.advice)}</p>",
        '<p><a href="/problems">All problems</a></p>',
    ]
    return _page(f"riven: {kind.title}", body)


def _contents(groups: Mapping[str, list[tuple[str, str, Mapping[str, Any]]]]) -> Iterator[str]:
    yield "<nav aria-label='Contents'>"
    for group, operations in groups.items():
        yield f'<h4><a href="#{escape(group)}">{escape(group.capitalize())}</a></h4><ul>'
        for method, _, operation in operations:
            yield (
                f'<li><span class="method {method}">{method.upper()}</span> '
                f'<a href="#{escape(operation["operationId"])}">{escape(operation["summary"])}</a></li>'
            )
        yield "</ul>"
    yield "</nav>"


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    parts = [_prose(operation.get("description", "")), f"<p>{_inline(needs(operation))}</p>"]
    if parameters := operation.get("parameters"):
        rows = [_parameter(each) for each in parameters]
        head = "<tr><th>Parameter</th><th>In</th><th>Kind</th><th>Meaning</th></tr>"
        parts.append(f"<h4>Parameters</h4>{_table(head, rows)}")
    if body := operation.get("requestBody"):
        kinds = "".join(
            f"<p><code>{escape(media)}</code>: {_kind(content.get('schema', {}))}</p>"
            for media, content in body["content"].items()
        )
        parts.append(f"<h4>Body</h4>{kinds}")
    answers = operation["responses"].items()
    rows = [_response(status, answer) for status, answer in answers if status < "400"]
    parts.append(f"<h4>Answers</h4>{_table('<tr><th>Status</th><th>Meaning</th><th>Body</th></tr>', rows)}")
    refusals = ", ".join(
        f'<abbr title="{escape(answer["description"])}">{status}</abbr>'
        for status, answer in answers
        if status >= "400"
    )
    parts.append(f'<p>Or a <a href="#schema-Problem">problem</a>: {refusals}.</p>')
    return (
        f'<article id="{escape(operation["operationId"])}"><details><summary>'
        f'<span class="method {method}">{method.upper()}</span><code>{escape(path)}</code>'
        f"<h3>{escape(operation['summary'])}</h3></summary><div>{''.join(parts)}</div></details></article>"
    )


def needs(operation: Mapping[str, Any]) -> str:
    """Whose request it has to be, in a sentence."""
    if "security" not in operation:
        return "Needs no credential."
    match operation["x-role"]:
        case None:
            return "Needs any credential."
        case "PLATFORM":
            return "Needs a platform key."
        case role:
            return f"Needs the role `{role}`."


def _parameter(parameter: Mapping[str, Any]) -> str:
    needed = "" if parameter.get("required") else ' <span class="quiet">optional</span>'
    return (
        f"<tr><td><code>{escape(parameter['name'])}</code>{needed}</td><td>{parameter['in']}</td>"
        f"<td>{_kind(parameter.get('schema', {}))}</td><td>{_inline(parameter.get('description', ''))}</td></tr>"
    )


def _response(status: str, answer: Mapping[str, Any]) -> str:
    bodies = "<br>".join(
        _kind(content["schema"]) for content in answer.get("content", {}).values() if content.get("schema")
    )
    return f"<tr><td>{status}</td><td>{_inline(answer['description'])}</td><td>{bodies}</td></tr>"


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    required = set(schema.get("required", ()))
    rows = [
        f"<tr><td><code>{escape(field)}</code>{'' if field in required else ' <span class=quiet>optional</span>'}"
        f"</td><td>{_kind(inner)}</td><td>{_inline(inner.get('description', ''))}</td></tr>"
        for field, inner in schema.get("properties", {}).items()
    ]
    parts = [_prose(schema.get("description", ""))]
    if rows:
        parts.append(_table("<tr><th>Field</th><th>Kind</th><th>Meaning</th></tr>", rows))
    else:
        parts.append(f"<p>{_kind(schema)}</p>")
    parts += [
        f"<h4>Example</h4><pre>{escape(json.dumps(example, indent=2, ensure_ascii=False))}</pre>"
        for example in schema.get("examples", ())
    ]
    return (
        f'<article id="schema-{escape(name)}"><details><summary><h3>{escape(name)}</h3></summary>'
        f"<div>{''.join(parts)}</div></details></article>"
    )


def _kind(schema: Mapping[str, Any]) -> str:
    """What a value is, in a few words."""
    if "$ref" in schema:
        name = str(schema["$ref"]).rsplit("/", 1)[-1]
        return f'<a href="#schema-{escape(name)}">{escape(name)}</a>'
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_kind(each) for each in schema[key]))
    if "enum" in schema or "const" in schema:
        values = schema.get("enum", [schema.get("const")])
        return " or ".join(f"<code>{escape(json.dumps(each))}</code>" for each in values)
    declared = schema.get("type")
    if declared == "array":
        return f"list of {_kind(schema.get('items', {}))}"
    if isinstance(declared, list):
        return " or ".join(escape(str(each)) for each in declared)
    return escape(str(declared or "anything")) + escape(_bounds(schema))


def _bounds(schema: Mapping[str, Any]) -> str:
    said = [str(schema["format"])] if "format" in schema else []
    least, most = schema.get("minimum"), schema.get("maximum")
    if least is not None or most is not None:
        said.append(f"{'' if least is None else least}..{'' if most is None else most}")
    if "default" in schema:
        said.append(f"default {json.dumps(schema['default'])}")
    return f" ({', '.join(said)})" if said else ""


def _table(head: str, rows: Iterable[str]) -> str:
    return f'<div class="wide"><table><thead>{head}</thead><tbody>{"".join(rows)}</tbody></table></div>'


def _prose(text: str) -> str:
    return "".join(f"<p>{_inline(part)}</p>" for part in text.strip().split("\n\n") if part)


def _inline(text: str) -> str:
    marked = _CODE.sub(r"<code>\1</code>", escape(text))
    return _LINK.sub(r'<a href="\2">\1</a>', marked)


def _back() -> str:
    return '<p><a href="/docs">The HTTP API</a></p>'


def _page(title: str, body: Iterable[str]) -> str:
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="stylesheet" href="/docs/pages.css"></head>'
        f"<body><main>{''.join(body)}</main></body></html>"
    )
