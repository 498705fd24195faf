from typing import Any

import pytest
from pydantic import BaseModel

from riven.core.graph import NodeKind
from riven.nodes.conformity import contract_faults
from riven.nodes.contract import Config, NodeContext, NodeResult, NodeType, Waiting
from riven.nodes.registry import BUILTIN, Registry


class Settings(Config):
    max_rows: int = 1


class Good(NodeType[Settings]):
    type = "good"
    title = "Good"
    description = "Good."
    config = Settings
    static_fields = ("maxRows",)

    async def run(self, config: Settings, context: NodeContext) -> NodeResult:  # noqa: ARG002 - the contract's signature
        return NodeResult()


class Loose(BaseModel):
    rows: int = 1


def changed(**members: Any) -> type[NodeType[Any]]:  # noqa: ANN401 - members of a class
    return type("Changed", (Good,), members)


async def run_without_self() -> None: ...


def test_a_good_one_has_no_faults() -> None:
    assert contract_faults(Good) == ()
    assert contract_faults(Good()) == ()


@pytest.mark.parametrize("name", BUILTIN)
def test_the_built_in_ones_have_none(name: str) -> None:
    assert contract_faults(Registry().get(name)) == ()


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ({"type": "Bad Name"}, "`type`"),
        ({"type": 5}, "`type`"),
        ({"type": "a" * 200}, "`type`"),
        ({"title": " "}, "`title`"),
        ({"description": None}, "`description`"),
        ({"kind": "action"}, "`kind`"),
        ({"output": []}, "`output`"),
        ({"outcomes": ()}, "`outcomes`"),
        ({"outcomes": ["a"]}, "`outcomes`"),
        ({"outcomes": ("a", "")}, "must be a text"),
        ({"outcomes": ("a", "a")}, "twice"),
        ({"outcomes": ("failure",)}, "'failure' is reserved"),
        ({"outcomes": ("default",)}, "'default' is reserved"),
        ({"config": dict}, "`config`"),
        ({"config": Loose}, "unknown fields"),
        ({"static_fields": ("max_rows",)}, "'max_rows'"),
        ({"expression_fields": ("cases[].if",)}, "'cases[].if'"),
        ({"run": lambda *_: None}, "coroutine"),
        ({"run": NodeType.run}, "`run` is missing"),
        ({"kind": NodeKind.WAIT}, "`begin` is missing"),
        ({"default_timeout": -1}, "`default_timeout`"),
        ({"__init__": lambda self, database: (self, database)}, "without arguments"),
    ],
)
def test_each_breach_is_said(members: dict[str, Any], words: str) -> None:
    assert any(words in fault for fault in contract_faults(changed(**members)))


def test_all_breaches_are_said_at_once() -> None:
    assert len(contract_faults(changed(type="", title="", outcomes=()))) == 3


@pytest.mark.parametrize("candidate", [5, dict, object(), NodeContext])
def test_what_is_no_node_type_says_so(candidate: object) -> None:
    (fault,) = contract_faults(candidate)
    assert "is not a subclass" in fault


def test_a_waiting_type_needs_begin_and_not_run() -> None:
    class Waits(NodeType[Settings]):
        type = "waits"
        title = "Waits"
        description = "Waits."
        kind = NodeKind.WAIT
        config = Settings

        def begin(self, config: Settings, context: NodeContext) -> Waiting:  # noqa: ARG002 - the contract's signature
            return Waiting()

    assert contract_faults(Waits) == ()
