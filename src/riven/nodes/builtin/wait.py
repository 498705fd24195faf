"""`wait`: for a while, or until a time."""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from riven.core.graph import NodeKind
from riven.nodes.contract import Config, NodeContext, NodeType, Waiting
from riven.nodes.fields import Duration, Timestamp
from riven.wire.times import to_rfc3339


class WaitConfig(Config):
    for_: Duration | None = Field(default=None, alias="for", description="How long.")
    until: Timestamp | None = Field(
        default=None, description="A time with its zone; a past one ends the wait at once."
    )

    @model_validator(mode="after")
    def _one_end(self) -> Self:
        if (self.for_ is None) == (self.until is None):
            raise ValueError("write exactly one of `for` (a duration) and `until` (a time)")
        return self


class Wait(NodeType[WaitConfig]):
    type = "wait"
    title = "Wait"
    description = "Waits for a duration, or until a time."
    category = "Waiting"
    icon = "clock"
    kind: ClassVar[NodeKind] = NodeKind.WAIT
    config = WaitConfig
    output: ClassVar = {
        "type": "object",
        "required": ["until"],
        "properties": {"until": {"type": "string", "format": "date-time"}},
    }

    def begin(self, config: WaitConfig, context: NodeContext) -> Waiting:
        due = config.until if config.until is not None else context.clock.now() + (config.for_ or 0)
        return Waiting(due, output={"until": to_rfc3339(due)})
