"""`call`: another workflow as one step."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

from pydantic import Field

from riven.core.graph import NodeKind
from riven.nodes.contract import Config, NodeType


class CallConfig(Config):
    workflow: str = Field(pattern=r"^[a-z][a-z0-9-]{0,62}$", description="The name of the workflow.")
    version: Annotated[int, Field(strict=True, ge=1)] | None = Field(
        default=None, description="Without it, the latest one when this workflow is published."
    )
    input: Mapping[str, Any] = Field(default_factory=dict, description="The input it is started with.")


class Call(NodeType[CallConfig]):
    type = "call"
    title = "Call a workflow"
    description = "Runs another workflow as one step and gives its output."
    category = "Flow"
    icon = "corner-down-right"
    kind: ClassVar[NodeKind] = NodeKind.CALL
    config = CallConfig
    static_fields: ClassVar[tuple[str, ...]] = ("workflow", "version")
