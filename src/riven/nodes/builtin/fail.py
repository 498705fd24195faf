"""`fail`: ends its branch by a failure that the author words."""

from typing import ClassVar, Literal

from pydantic import Field

from riven.core.errors import ErrorClass
from riven.nodes.contract import Config, NodeContext, NodeError, NodeResult, NodeType
from riven.nodes.fields import Text


class FailConfig(Config):
    message: Text = Field(default="failed on purpose", description="What the error says.")
    type: Literal[
        ErrorClass.EXECUTION_ERROR,
        ErrorClass.VALIDATION_ERROR,
        ErrorClass.TEMPLATE_ERROR,
        ErrorClass.SECURITY_ERROR,
        ErrorClass.CONTROL_FLOW_ERROR,
        ErrorClass.HTTP_CLIENT_ERROR,
        ErrorClass.HTTP_SERVER_ERROR,
        ErrorClass.NETWORK_ERROR,
        ErrorClass.TIMEOUT,
    ] = Field(
        default=ErrorClass.EXECUTION_ERROR,
        description="The class of the error; those of the machinery itself are not for authors.",
    )


class Fail(NodeType[FailConfig]):
    type = "fail"
    title = "Fail"
    description = "Fails with a message of yours; never retried."
    category = "Flow"
    icon = "x-circle"
    config = FailConfig
    output: ClassVar = {"not": {}}
    pure: ClassVar[bool] = True

    async def run(self, config: FailConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002 - the contract's signature
        raise NodeError(config.type, config.message, retryable=False)
