"""`for_each`: its body once for every item, several at a time."""

from typing import Any, ClassVar

from pydantic import Field

from riven.core.graph import NodeKind, OnItemFailure
from riven.nodes.contract import Config, NodeType


class ForEachConfig(Config):
    items: list[Any] = Field(description="The list to go through.")
    concurrency: int = Field(
        default=10, strict=True, ge=1, le=10_000, description="How many items run at a time."
    )
    on_item_failure: OnItemFailure = Field(
        default=OnItemFailure.FAIL,
        description="`fail`: the first failed item fails the node; `collect`: every item tells how it ended.",
    )


class ForEach(NodeType[ForEachConfig]):
    type = "for_each"
    title = "For each"
    description = "Runs its body once for every item, several at a time, and lists the results in item order."
    category = "Loops"
    icon = "repeat"
    kind: ClassVar[NodeKind] = NodeKind.FOR_EACH
    config = ForEachConfig
    output: ClassVar = {"type": "array"}
    static_fields: ClassVar[tuple[str, ...]] = ("concurrency", "onItemFailure")
