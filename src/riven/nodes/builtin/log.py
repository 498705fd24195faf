"""`log`: one structured line in the log of the process that runs the workflow."""

import logging
from typing import Any, ClassVar, Literal

from pydantic import Field

from riven.nodes.contract import Config, NodeContext, NodeResult, NodeType
from riven.nodes.fields import Text

LOGGER = logging.getLogger("riven.workflow")

Level = Literal["debug", "info", "warning", "error"]
_LEVELS: dict[Level, int] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


class LogConfig(Config):
    message: Text = Field(description="What to write.")
    level: Level = Field(default="info", description="How important it is.")
    data: Any = Field(default=None, description="Anything to be logged as a field beside the message.")


class Log(NodeType[LogConfig]):
    """Records carry `executionId`, `nodePath` and `data` as attributes, for formatters that write them as fields."""

    type = "log"
    title = "Log a message"
    description = "Writes a message, and data beside it, to the log."
    category = "Data"
    icon = "list"
    config = LogConfig
    output: ClassVar = {
        "type": "object",
        "required": ["message"],
        "properties": {"message": {"type": "string"}},
    }

    async def run(self, config: LogConfig, context: NodeContext) -> NodeResult:
        fields = {
            "executionId": context.execution_id,
            "nodePath": context.path,
            "data": context.redact(config.data),
        }
        LOGGER.log(_LEVELS[config.level], "%s", context.redact(config.message), extra=fields)
        return NodeResult({"message": config.message})
