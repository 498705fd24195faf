"""`switch`: the first case that is true wins."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import AfterValidator, Field, field_validator

from riven.core.graph import RESERVED_LABELS
from riven.nodes.contract import Config, NodeContext, NodeResult, NodeType, Predicate
from riven.wire.document import Json

DEFAULT = "default"


def _case_name(name: str) -> str:
    if name in RESERVED_LABELS:
        raise ValueError(f"{name!r} is a label of its own; name the case otherwise")
    if not name.strip() or not name.isprintable():
        raise ValueError("a case needs a name of visible characters")
    return name


class Case(Config):
    name: Annotated[str, Field(max_length=128), AfterValidator(_case_name)] = Field(
        description="The label by which the node leaves."
    )
    condition: Predicate = Field(alias="if", description="CEL that says true or false.")


class SwitchConfig(Config):
    cases: tuple[Case, ...] = Field(min_length=1, description="Asked in order; the first that is true wins.")

    @field_validator("cases")
    @classmethod
    def _different(cls, cases: tuple[Case, ...]) -> tuple[Case, ...]:
        seen: set[str] = set()
        for case in cases:
            if case.name in seen:
                raise ValueError(f"two cases are called {case.name!r}")
            seen.add(case.name)
        return cases


class Switch(NodeType[SwitchConfig]):
    type = "switch"
    title = "Switch"
    description = "Asks its cases in order and leaves by the name of the first that is true, or by `default`."
    category = "Flow"
    icon = "signpost"
    config = SwitchConfig
    output: ClassVar = {
        "type": "object",
        "required": ["case"],
        "properties": {"case": {"type": "string"}},
    }
    outcomes: ClassVar[tuple[str, ...]] = (DEFAULT,)
    pure: ClassVar[bool] = True
    expression_fields: ClassVar[tuple[str, ...]] = ("cases[].if",)
    static_fields: ClassVar[tuple[str, ...]] = ("cases",)

    def labels(self, config: Mapping[str, Json]) -> tuple[str, ...]:
        """The case names, then `default`; whatever the cases look like, as they may not have been checked."""
        cases = config.get("cases")
        found = (
            [case.get("name") for case in cases if isinstance(case, Mapping)]
            if isinstance(cases, (list, tuple))
            else []
        )
        names = dict.fromkeys(name for name in found if isinstance(name, str) and name not in RESERVED_LABELS)
        return (*names, DEFAULT)

    async def run(self, config: SwitchConfig, context: NodeContext) -> NodeResult:  # noqa: ARG002 - the contract's signature
        chosen = next((case.name for case in config.cases if case.condition()), DEFAULT)
        return NodeResult({"case": chosen}, chosen)
