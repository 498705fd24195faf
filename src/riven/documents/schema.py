"""The fields of a document, as pydantic models, and the JSON Schema for editors that is made from them.

A document is checked piece by piece, each node and edge against its model, so that one mistake hides no other.
"""

import re
from collections.abc import Iterable
from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    Tag,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel
from pydantic_core import PydanticCustomError

from riven.core.graph import Join, JoinRule
from riven.nodes.contract import NodeType
from riven.nodes.fields import Duration
from riven.nodes.registry import Registry
from riven.wire.document import Json

WORKFLOW_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,62}", re.ASCII)
NODE_KEY: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}", re.ASCII)
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


class _Fields(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        populate_by_name=False,
        frozen=True,
        strict=True,
        allow_inf_nan=False,
    )


def _workflow_name(name: str) -> str:
    if not WORKFLOW_NAME.fullmatch(name):
        example = re.sub(r"[^a-z0-9]+", "-", name.lower()[:63]).strip("-0123456789")
        such = f", such as {example}" if WORKFLOW_NAME.fullmatch(example) else ""
        raise PydanticCustomError(
            "invalid_name",
            "a name has small letters, digits and hyphens, begins with a letter, and has at most 63 of them{such}",
            {"such": such},
        )
    return name


def _label(text: str) -> str:
    if not text.isprintable():
        raise ValueError("take the control characters out; a label is one line of text")
    return text


def _positive(milliseconds: int) -> int:
    if milliseconds <= 0:
        raise ValueError("this must be more than nothing")
    return milliseconds


def _when(value: object) -> str | bool:
    if isinstance(value, str | bool):
        return value
    raise ValueError("write a CEL expression as text, or true or false")


def _outcome(value: object) -> object:
    """YAML and JSON have booleans where the labels of a condition are meant."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is not None and not isinstance(value, str):
        raise ValueError("write the outcome as text, in quotes")
    return value


def _join(value: object) -> Join:
    if isinstance(value, str) and value in _PLAIN_JOINS:
        return Join(JoinRule(value))
    if isinstance(value, dict) and list(value) == ["atLeast"]:
        count = value["atLeast"]
        if isinstance(count, int) and not isinstance(count, bool):
            return Join(JoinRule.AT_LEAST, count)
        raise ValueError("`atLeast` must be a whole number")
    raise ValueError(f"write {', '.join(_PLAIN_JOINS)} or {{atLeast: 2}}")


_PLAIN_JOINS: Final = [rule.value for rule in JoinRule if rule is not JoinRule.AT_LEAST]

PositiveDuration: TypeAlias = Annotated[Duration, AfterValidator(_positive)]
Outcome: TypeAlias = Annotated[
    Annotated[str, Field(min_length=1, max_length=128)] | None,
    BeforeValidator(_outcome),
    WithJsonSchema({"type": ["string", "boolean"], "minLength": 1, "maxLength": 128}),
]


class RetryFields(_Fields):
    model_config = ConfigDict(title="Retry")

    max_attempts: Annotated[int, Field(ge=1, le=10_000)] | None = Field(
        default=None, description="How often it is tried in all; 1: no retry."
    )
    initial_interval: Duration | None = Field(default=None, description="Before the second attempt.")
    multiplier: Annotated[float, Field(ge=1, le=1_000)] | None = Field(
        default=None, description="By which each pause is longer than the one before."
    )
    max_interval: Duration | None = Field(default=None, description="The longest pause.")
    jitter: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="The fraction by which a pause varies to either side."
    )
    max_duration: PositiveDuration | None = Field(default=None, description="Bounds all attempts together.")


class EdgeFields(_Fields):
    model_config = ConfigDict(title="Edge")

    source: str = Field(alias="from", description="The node that must end first.")
    target: str = Field(alias="to", description="The node that waits for it.")
    outcome: Outcome = Field(
        default=None,
        description="A label of the source, or `failure`, `done`, `always`; without it, any completion.",
    )


class NeedFields(_Fields):
    model_config = ConfigDict(title="Need")

    node: str = Field(description="The node that must end first.")
    outcome: Outcome = Field(default=None, description="As on an edge.")


Need: TypeAlias = Annotated[
    Annotated[str, Tag("key")] | Annotated[NeedFields, Tag("need")],
    Discriminator(lambda value: "key" if isinstance(value, str) else "need"),
]


class NodeFields(_Fields):
    model_config = ConfigDict(title="Node")

    type: str = Field(min_length=1, description="What the node does.")
    name: Annotated[str, Field(max_length=200), AfterValidator(_label)] | None = Field(
        default=None, description="A label for people."
    )
    config: dict[str, Any] | None = Field(default=None, alias="with", description="Configuration, by type.")
    needs: list[Need] | None = Field(
        default=None, description="Nodes that must end first: edges into this one."
    )
    when: (
        Annotated[str | bool, PlainValidator(_when), WithJsonSchema({"type": ["string", "boolean"]})] | None
    ) = Field(default=None, description="CEL; when it is false, the node is skipped.")
    join: (
        Annotated[
            Join,
            PlainValidator(_join),
            WithJsonSchema(
                {
                    "anyOf": [
                        {"enum": _PLAIN_JOINS},
                        {
                            "type": "object",
                            "properties": {"atLeast": {"type": "integer", "minimum": 1}},
                            "required": ["atLeast"],
                            "additionalProperties": False,
                        },
                    ]
                }
            ),
        ]
        | None
    ) = Field(default=None, description="How many of its edges must be taken; `none_failed` without it.")
    retry: RetryFields | None = Field(default=None, description="What differs from the default retry.")
    timeout: PositiveDuration | None = Field(
        default=None, description="For one attempt; on a container, for the whole."
    )
    continue_on_error: bool | None = Field(
        default=None, description="Go on by the plain edges also when it has failed."
    )
    position: dict[str, Any] | None = Field(default=None, description="Where it stands on the canvas.")
    body: "BodyFields | None" = Field(default=None, description="What a loop does in each round.")


class BodyFields(_Fields):
    model_config = ConfigDict(title="Body")

    nodes: dict[str, NodeFields] | None = Field(default=None, description="The nodes, by key.")
    edges: list[EdgeFields] | None = Field(default=None, description="What waits for what.")
    output: Any = Field(default=None, description="What one round leaves; null without it.")


class DocumentFields(_Fields):
    """A workflow: nodes, and what waits for what."""

    name: Annotated[str, AfterValidator(_workflow_name)] = Field(
        description="Small letters, digits and hyphens.",
        json_schema_extra={"pattern": "^[a-z][a-z0-9-]{0,62}$"},
    )
    description: str | None = Field(default=None, description="What it is for.")
    input: dict[str, Any] | None = Field(default=None, description="JSON Schema 2020-12 of the start input.")
    vars: dict[str, Any] | None = Field(default=None, description="Constants for templates.")
    timeout: PositiveDuration | None = Field(default=None, description="For the whole execution.")
    on_failure: Literal["fail_fast", "finish_branches"] | None = Field(
        default=None, description="What an unhandled failure means for the other branches."
    )
    nodes: dict[str, NodeFields] | None = Field(default=None, description="The nodes, by key.")
    edges: list[EdgeFields] | None = Field(default=None, description="What waits for what.")
    output: Any = Field(default=None, description="The output of the execution; null without it.")


# ---- JSON Schema ------------------------------------------------------------------------------------------------------

_PLACEHOLDER: Final = {"type": "string", "pattern": r"\{\{"}
_WORDS: Final = ("title", "description", "default", "examples")


def document_schema(registry: Registry) -> dict[str, Json]:
    """JSON Schema 2020-12 of a document, with the `with` of every node type that can be used."""
    schema = DocumentFields.model_json_schema(by_alias=True, ref_template="#/$defs/{model}")
    definitions = schema.pop("$defs")
    types = list(registry.types())
    node = definitions["NodeFields"]
    node["properties"]["type"] = {
        "title": "Type",
        "description": "What the node does.",
        "oneOf": [
            {"const": each.type, "title": each.title, "description": each.description} for each in types
        ],
    }
    node["allOf"] = [_by_type(each) for each in types]
    for each in types:
        definitions[_name_of(each)] = _config_schema(each, definitions)
    for scope in (schema, definitions["BodyFields"]):
        scope["properties"]["nodes"]["propertyNames"] = {"pattern": f"^{NODE_KEY.pattern}$"}
    return {
        "$schema": DIALECT,
        **schema,
        "title": "Workflow",
        "$defs": definitions,
    }


def _by_type(node_type: NodeType[Any]) -> Json:
    then: dict[str, Json] = {"properties": {"with": {"$ref": f"#/$defs/{_name_of(node_type)}"}}}
    if node_type.config.model_json_schema().get("required"):
        then["required"] = ["with"]
    return {"if": {"properties": {"type": {"const": node_type.type}}, "required": ["type"]}, "then": then}


def _name_of(node_type: NodeType[Any]) -> str:
    return f"{node_type.type}.with"


def _config_schema(node_type: NodeType[Any], definitions: dict[str, Json]) -> Json:
    """The schema of a configuration as it is written: a placeholder may stand for any value that is not static."""
    prefix = f"{_name_of(node_type)}."
    schema = node_type.config.model_json_schema(by_alias=True, ref_template=f"#/$defs/{prefix}{{model}}")
    for name, inner in schema.pop("$defs", {}).items():
        definitions[f"{prefix}{name}"] = _open(inner, ())
    static = {field.partition(".")[0].removesuffix("[]") for field in node_type.static_fields}
    opened: dict[str, Json] = _open(schema, static)
    opened["description"] = node_type.description
    opened["title"] = node_type.title
    return opened


def _open(schema: Json, static: Iterable[str]) -> Json:
    """Let placeholders stand in the properties of an object, those of `static` excepted."""
    if not isinstance(schema, dict):
        return schema
    opened = dict(schema)
    if isinstance(properties := schema.get("properties"), dict):
        opened["properties"] = {
            name: inner if name in static else _or_placeholder(inner) for name, inner in properties.items()
        }
    for keyword in ("items", "additionalProperties"):
        if isinstance(schema.get(keyword), dict):
            opened[keyword] = _or_placeholder(schema[keyword])
    for keyword in ("anyOf", "oneOf", "allOf", "prefixItems"):
        if isinstance(schema.get(keyword), list):
            opened[keyword] = [_open(inner, ()) for inner in schema[keyword]]
    return opened


def _or_placeholder(schema: Json) -> Json:
    opened = _open(schema, ())
    if not isinstance(opened, dict) or _takes_text(opened):
        return opened
    words = {key: opened.pop(key) for key in _WORDS if key in opened}
    if not opened:  # anything goes
        return words
    choices = opened["anyOf"] if set(opened) == {"anyOf"} else [opened]
    return {**words, "anyOf": [*choices, _PLACEHOLDER]}


def _takes_text(schema: dict[str, Json]) -> bool:
    kinds = schema.get("type")
    return (kinds == "string" or (isinstance(kinds, list) and "string" in kinds)) and not set(schema) & {
        "enum", "const", "pattern", "format", "maxLength",
    }  # fmt: skip
