"""`noop`: nothing, at the place where branches meet or part."""

from typing import ClassVar

from riven.nodes.contract import Config, NodeContext, NodeResult, NodeType


class NoopConfig(Config):
    pass


class Noop(NodeType[NoopConfig]):
    type = "noop"
    title = "Do nothing"
    description = "Does nothing; a place where branches meet or part."
    category = "Flow"
    icon = "circle"
    config = NoopConfig
    output: ClassVar = {"type": "null"}
    pure: ClassVar[bool] = True

    async def run(self, config: NoopConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002 - the contract's signature
        return NodeResult()
