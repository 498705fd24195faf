"""Bodies of tooling."""

from typing import Any

from pydantic import ConfigDict

from riven.api.fields import ResponseBody
from riven.api.workflows.schemas import ProblemBody


class ValidationBody(ResponseBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"valid": True, "problems": []}]})

    valid: bool
    """No problem is an error."""
    problems: list[ProblemBody]


class NodeTypeBody(ResponseBody):
    type: str
    title: str
    description: str
    icon: str
    category: str
    kind: str
    pure: bool
    """It has no attempts of its own, and is never retried."""
    labels: list[str]
    """The outcomes that its edges may name."""
    labels_from_config: bool
    """The outcomes depend on `with`, as the cases of a switch do."""
    default_timeout_seconds: float | None
    static_fields: list[str]
    expression_fields: list[str]
    config_schema: dict[str, Any]
    """JSON Schema of `with`."""
    output_schema: dict[str, Any]


class NodeTypesBody(ResponseBody):
    items: list[NodeTypeBody]
    next_cursor: None
