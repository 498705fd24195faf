"""`set`: a value under a name of its own."""

from typing import Any, ClassVar

from pydantic import Field

from riven.nodes.contract import Config, NodeContext, NodeResult, NodeType


class SetConfig(Config):
    value: Any = Field(description="Anything, with templates in it.")


class Set(NodeType[SetConfig]):
    type = "set"
    title = "Set a value"
    description = "Builds a value from templates and gives it a name that later steps can refer to."
    category = "Data"
    icon = "pencil"
    config = SetConfig
    pure: ClassVar[bool] = True

    async def run(self, config: SetConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002 - the contract's signature
        return NodeResult(config.value)
