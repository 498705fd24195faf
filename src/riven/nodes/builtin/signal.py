"""`signal`: waits for a message from outside."""

from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field

from riven.core.graph import NodeKind
from riven.nodes.contract import Config, NodeContext, NodeType, Waiting
from riven.nodes.fields import Duration, Text


def _signal_name(name: str) -> str:
    if not 0 < len(name) <= 255 or not name.strip() or not name.isprintable():
        raise ValueError("a signal needs a name of 1 to 255 visible characters")
    return name


class SignalConfig(Config):
    name: Annotated[Text, AfterValidator(_signal_name)] = Field(
        description="The name under which it is sent."
    )
    timeout: Duration | None = Field(default=None, description="When it expires; without it, never.")


class Signal(NodeType[SignalConfig]):
    type = "signal"
    title = "Wait for a signal"
    description = "Waits for a message from outside and gives its payload; leaves by `received` or `expired`."
    category = "Waiting"
    icon = "radio"
    kind: ClassVar[NodeKind] = NodeKind.SIGNAL
    config = SignalConfig
    outcomes: ClassVar[tuple[str, ...]] = ("received", "expired")

    def begin(self, config: SignalConfig, context: NodeContext) -> Waiting:
        due = None if config.timeout is None else context.clock.now() + config.timeout
        return Waiting(due, signal=config.name)
