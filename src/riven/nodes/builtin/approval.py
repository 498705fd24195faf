"""`approval`: a person decides."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from riven.core.graph import NodeKind
from riven.nodes.contract import Config, NodeContext, NodeType, Waiting
from riven.nodes.decisions import APPROVED, EXPIRED, REJECTED, expired, form_fault
from riven.nodes.fields import Duration, Text


def _json_schema(form: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    fault = None if form is None else form_fault(form)
    if fault is not None:
        raise ValueError(f"this is no JSON Schema: {fault}")
    return form


class ApprovalConfig(Config):
    title: Text = Field(default="Approval", description="What is to be decided, in one line.")
    description: Text | None = Field(default=None, description="What the person should know.")
    form: Annotated[Mapping[str, Any] | None, AfterValidator(_json_schema)] = Field(
        default=None, description="JSON Schema of the data that comes with the decision."
    )
    timeout: Duration | None = Field(default=None, description="When it expires; without it, never.")


class Approval(NodeType[ApprovalConfig]):
    """The engine addresses it by its path and makes its output by `riven.nodes.decisions`."""

    type = "approval"
    title = "Approval"
    description = "Waits until a person decides; leaves by `approved`, `rejected` or `expired`."
    category = "Waiting"
    icon = "user-check"
    kind: ClassVar[NodeKind] = NodeKind.SIGNAL
    config = ApprovalConfig
    output: ClassVar = {
        "type": "object",
        "required": ["decision", "by", "at", "comment", "data"],
        "properties": {
            "decision": {"enum": [APPROVED, REJECTED, EXPIRED]},
            "by": {"type": ["string", "null"]},
            "at": {"type": ["string", "null"], "format": "date-time"},
            "comment": {"type": ["string", "null"]},
            "data": {},
        },
    }
    outcomes: ClassVar[tuple[str, ...]] = (APPROVED, REJECTED, EXPIRED)

    def begin(self, config: ApprovalConfig, context: NodeContext) -> Waiting:
        due = None if config.timeout is None else context.clock.now() + config.timeout
        return Waiting(due, output=expired())
