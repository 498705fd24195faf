"""Bodies for operators."""

from pydantic import ConfigDict
from pydantic.config import JsonDict

from riven.api.fields import ResponseBody

_EXAMPLE: JsonDict = {
    "name": "finished_has_left_the_line",
    "violations": 0,
    "description": "No finished execution has a queue item, but for the dead letters (FAILED). No tolerance.",
}


class InvariantBody(ResponseBody):
    model_config = ConfigDict(json_schema_extra={"examples": [_EXAMPLE]})

    name: str
    violations: int
    description: str
    """What must hold, and with which tolerance."""


class InvariantsBody(ResponseBody):
    model_config = ConfigDict(json_schema_extra={"examples": [{"invariants": [_EXAMPLE]}]})

    invariants: list[InvariantBody]
