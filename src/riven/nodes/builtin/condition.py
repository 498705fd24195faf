"""`condition`: parts the way in two."""

from typing import ClassVar

from pydantic import Field

from riven.nodes.contract import Config, NodeContext, NodeResult, NodeType, Predicate


class ConditionConfig(Config):
    condition: Predicate = Field(alias="if", description="CEL that says true or false.")


class Condition(NodeType[ConditionConfig]):
    type = "condition"
    title = "Condition"
    description = "Asks a CEL expression and leaves by `true` or `false`."
    category = "Flow"
    icon = "git-branch"
    config = ConditionConfig
    output: ClassVar = {
        "type": "object",
        "required": ["result"],
        "properties": {"result": {"type": "boolean"}},
    }
    outcomes: ClassVar[tuple[str, ...]] = ("true", "false")
    pure: ClassVar[bool] = True
    expression_fields: ClassVar[tuple[str, ...]] = ("if",)

    async def run(self, config: ConditionConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002 - the contract's signature
        result = config.condition()
        return NodeResult({"result": result}, "true" if result else "false")
