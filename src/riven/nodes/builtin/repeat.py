"""`repeat`: its body again and again, while or until something holds."""

from typing import ClassVar, Self

from pydantic import Field, model_validator

from riven.core.graph import SUCCESS, NodeKind
from riven.nodes.contract import Config, NodeType, Predicate
from riven.nodes.fields import Duration


class RepeatConfig(Config):
    while_: Predicate | None = Field(
        default=None, alias="while", description="CEL, asked before every iteration, the first included."
    )
    until: Predicate | None = Field(default=None, description="CEL, asked after every iteration.")
    max_iterations: int = Field(
        default=100, strict=True, ge=1, le=1_000_000, description="Where it gives up."
    )
    delay: Duration = Field(default=0, description="Between two iterations.")

    @model_validator(mode="after")
    def _one_question(self) -> Self:
        if (self.while_ is None) == (self.until is None):
            raise ValueError("write exactly one of `while` and `until`")
        return self


class Repeat(NodeType[RepeatConfig]):
    type = "repeat"
    title = "Repeat"
    description = (
        "Runs its body again and again while, or until, an expression is true; `exhausted` at its limit."
    )
    category = "Loops"
    icon = "rotate-cw"
    kind: ClassVar[NodeKind] = NodeKind.REPEAT
    config = RepeatConfig
    outcomes: ClassVar[tuple[str, ...]] = (SUCCESS, "exhausted")
    expression_fields: ClassVar[tuple[str, ...]] = ("while", "until")
    static_fields: ClassVar[tuple[str, ...]] = ("maxIterations", "delay")
