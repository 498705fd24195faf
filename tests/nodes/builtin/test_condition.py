import pytest

from riven.core.errors import ErrorClass
from riven.nodes.builtin.condition import Condition
from riven.nodes.contract import NodeError, NodeResult, Predicate
from riven.nodes.testing import check_node_type, run_node
from riven.wire.document import Json


async def test_leaves_by_what_its_expression_says() -> None:
    for verdict, label in ((True, "true"), (False, "false")):
        config: dict[str, Json] = {"if": Predicate("x", lambda verdict=verdict: verdict)}
        assert await run_node(Condition, config) == NodeResult({"result": verdict}, label)


@pytest.mark.parametrize(
    "config", [{}, {"if": 5}, {"if": None}, {"condition": "true"}, {"if": "true", "else": 1}]
)
async def test_configuration_is_checked(config: dict[str, Json]) -> None:
    with pytest.raises(NodeError) as failed:
        await run_node(Condition, config)
    assert failed.value.error_class is ErrorClass.VALIDATION_ERROR


async def test_an_expression_that_nobody_bound_is_our_fault() -> None:
    with pytest.raises(NodeError) as failed:
        await run_node(Condition, {"if": "input.x"})
    assert failed.value.error_class is ErrorClass.INTERNAL_ERROR


def test_keeps_the_contract_and_is_pure() -> None:
    check_node_type(Condition)
    assert Condition.pure
    assert Condition.outcomes == ("true", "false")
