"""The OpenAPI 3.1 description: FastAPI's reading of the signatures, and what is true of every endpoint besides."""

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from typing import Any, Final

from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from starlette.routing import BaseRoute

from riven.api.binding import Operation
from riven.api.fields import RequestBody, ResponseBody
from riven.api.links import add_links
from riven.api.problem_kinds import PROBLEM_KINDS
from riven.api.problems import MEDIA_TYPE

_DESCRIPTION: Final = """\
Durable workflows for many tenants: documents become versions, versions are started, and every run says where it is.

Every request under `/api/v1` carries `Authorization: Bearer` with an API key or a token of the identity provider.
Errors are [RFC 9457](https://www.rfc-editor.org/rfc/rfc9457) problems; `/problems` lists their kinds. Times are
RFC 3339 in UTC, ids are UUIDs. Lists are pages of `{items, nextCursor}`, the newest first.
"""
_TITLES: Final = {
    400: "The request cannot be read.",
    401: "There is no credential, or it is not known.",
    403: "The role is too low, or this belongs to another workspace.",
    404: "There is no such thing.",
    409: "That cannot be done in the state that it is in now.",
    412: "It was changed meanwhile.",
    413: "The body is too large.",
    415: "The body is no JSON.",
    422: "Fields are missing, unknown or wrong.",
    429: "Too many requests, or a limit of the workspace is used up.",
    500: "riven made a mistake.",
    503: "The database, or something else that is needed, is away.",
}
_ANSWERS: Final = {"200": "As asked.", "201": "Made.", "202": "Accepted.", "204": "Done."}
_URI: Final = {"type": "string", "format": "uri-reference"}
LOCATED: Final[dict[str, Any]] = {
    "headers": {"Location": {"description": "Where it is seen.", "required": True, "schema": _URI}}
}
"""For `responses` of an endpoint that makes something."""
TAGGED: Final[dict[str, Any]] = {
    "headers": {"ETag": {"description": "The draft's etag.", "required": True, "schema": {"type": "string"}}}
}
PROBLEM_SCHEMA: Final[dict[str, Any]] = {
    "title": "Problem",
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance", "errors"],
    "properties": {
        "type": {
            "type": "string",
            "description": "The address of the problem's description, stable.",
            "examples": ["/problems/invalid_request"],
        },
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong here, and what to do."},
        "instance": {"type": "string", "description": "The path that was asked for."},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["path", "code", "message"],
                "properties": {
                    "path": {"type": "string", "examples": ["executions[57].input.amount"]},
                    "code": {"type": "string", "examples": ["unknown_field"]},
                    "message": {"type": "string"},
                    "line": {"type": "integer"},
                    "column": {"type": ["integer", "null"]},
                    "severity": {"type": "string", "enum": ["error", "warning"]},
                },
            },
        },
    },
}
_TEXT: Final[dict[str, Any]] = {"type": "string", "pattern": r"^[^\u0000]*$"}
_VALUES: Final[dict[str, Any]] = {
    "additionalProperties": {"$ref": "#/components/schemas/Json"},
    "propertyNames": {"pattern": _TEXT["pattern"]},
}
JSON_SCHEMA: Final[dict[str, Any]] = {
    "title": "Json",
    "description": "Any JSON value whose whole numbers fit into 64 bits, and whose texts have no NUL character.",
    "anyOf": [
        {"type": "null"},
        {"type": "boolean"},
        {"type": "number", "minimum": -(2**63), "maximum": 2**63 - 1},
        _TEXT,
        {"type": "array", "items": {"$ref": "#/components/schemas/Json"}},
        {"type": "object", **_VALUES},
    ],
}


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """For `responses` of an endpoint: the problems that are its own, such as 409."""
    return {status: problem(status) for status in statuses}


def problem(status: int) -> dict[str, Any]:
    kinds = sorted(kind.code for kind in PROBLEM_KINDS.values() if kind.status == status)
    described = f"{_TITLES[status]} Kinds: {', '.join(f'`{kind}`' for kind in kinds)}."
    answer: dict[str, Any] = {
        "description": described,
        "content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    if status in (429, 503):
        seconds = {"type": "integer", "minimum": 1}
        answer["headers"] = {"Retry-After": {"description": "Seconds to wait.", "schema": seconds}}
    return answer


def describe(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    found = get_openapi(
        title="riven",
        version=version("riven"),
        description=_DESCRIPTION,
        openapi_version="3.1.0",
        routes=routes,
    )
    found["jsonSchemaDialect"] = "https://json-schema.org/draft/2020-12/schema"
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    schemas["Problem"] = PROBLEM_SCHEMA
    schemas["Json"] = JSON_SCHEMA
    for unused in ("HTTPValidationError", "ValidationError"):
        schemas.pop(unused, None)
    _name_bounds(found)
    for model in _models(RequestBody):
        for each in schemas.get(model.__name__, {}).get("properties", {}).values():
            for kind in (each, *each.get("anyOf", ())):
                if (
                    kind.get("additionalProperties") is True
                ):  # what tenants send: as it is, but what can be kept
                    kind |= _VALUES
    for model in (*_models(RequestBody), *_models(ResponseBody)):
        extra = model.model_config.get("json_schema_extra")
        if model.__name__ in schemas and isinstance(extra, dict) and "examples" in extra:
            schemas[model.__name__]["examples"] = extra[
                "examples"
            ]  # FastAPI has dropped every null from them
    found["components"]["securitySchemes"] = {
        "key": {
            "type": "http",
            "scheme": "bearer",
            "description": "An API key (`rvn_...`) or a JWT of the issuer.",
        }
    }
    for route in routes:
        if isinstance(route, Operation) and route.include_in_schema:
            for method in route.methods or ():
                _complete(route, found["paths"][route.path_format][method.lower()])
    add_links(found)
    return found


def _never_null(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter may be missing, but an address has no null."""
    kinds = [each for each in schema.get("anyOf", ()) if each != {"type": "null"}]
    if len(kinds) != 1:
        return schema
    rest = {name: value for name, value in schema.items() if name != "anyOf" and value is not None}
    return {**kinds[0], **rest}


_BOUNDS: Final = {
    "ge": "minimum",
    "gt": "exclusiveMinimum",
    "le": "maximum",
    "lt": "exclusiveMaximum",
}


def _name_bounds(described: Any) -> None:  # noqa: ANN401  # any part of the description
    """Pydantic leaves bounds of validated numbers under its own names."""
    if isinstance(described, dict):
        if described.get("type") in ("integer", "number"):
            for ours, theirs in _BOUNDS.items():
                if ours in described:
                    described[theirs] = described.pop(ours)
        for inner in described.values():
            _name_bounds(inner)
    elif isinstance(described, list):
        for inner in described:
            _name_bounds(inner)


def _models(root: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in root.__subclasses__():
        yield each
        yield from _models(each)


def with_tiers(described: dict[str, Any], tiers: Sequence[str]) -> dict[str, Any]:
    """A copy in which the bodies that name a tier list these."""
    schemas = dict(described["components"]["schemas"])
    for name in ("NewWorkspaceRequest", "WorkspacePatch"):
        properties = dict(schemas[name]["properties"])
        properties["tier"] = {**properties["tier"], "enum": list(tiers)}
        schemas[name] = {**schemas[name], "properties": properties}
    return {**described, "components": {**described["components"], "schemas": schemas}}


def _complete(route: Operation, operation: dict[str, Any]) -> None:
    """The role that it asks for, and the problems that any endpoint of its kind may answer with."""
    statuses = [500, 503]
    if not route.public:
        operation["security"] = [{"key": []}]
        operation["x-role"] = route.role
        statuses += [401, 403, 429]
    parameters = operation.get("parameters", ())
    for each in parameters:
        each["schema"] = _never_null(each["schema"])
    if any(each["in"] == "path" or each["name"] == "workspaceId" for each in parameters):
        statuses.append(404)
    if any(each["name"] == "cursor" for each in parameters):
        statuses.append(400)
    if "requestBody" in operation:
        statuses += [400, 413, 415]
    responses = operation["responses"]
    for status, answer in responses.items():
        if answer["description"] == "Successful Response":
            answer["description"] = _ANSWERS[status]
    responses["422"] = problem(422)
    for status in statuses:
        responses.setdefault(str(status), problem(status))
    operation["responses"] = dict(sorted(responses.items()))
