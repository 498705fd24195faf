import pytest

from riven.nodes.builtin.set import Set
from riven.nodes.contract import NodeError
from riven.nodes.testing import check_node_type, run_node
from riven.wire.document import Json


@pytest.mark.parametrize("value", [None, 0, "", [], {"a": [1, {"b": None}]}])
async def test_gives_its_value_as_it_is(value: Json) -> None:
    assert (await run_node(Set, {"value": value})).output == value


async def test_a_value_must_be_there() -> None:
    with pytest.raises(NodeError, match=r"with\.value"):
        await run_node(Set, {})


def test_keeps_the_contract_and_is_pure() -> None:
    check_node_type(Set)
    assert Set.pure
