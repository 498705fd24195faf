import pytest

from riven.nodes.builtin.noop import Noop
from riven.nodes.contract import NodeError, NodeResult
from riven.nodes.testing import check_node_type, run_node


async def test_does_nothing() -> None:
    assert await run_node(Noop, {}) == NodeResult(None, "success")


async def test_takes_nothing() -> None:
    with pytest.raises(NodeError, match=r"with\.x"):
        await run_node(Noop, {"x": 1})


def test_keeps_the_contract_and_is_pure() -> None:
    check_node_type(Noop)
    assert Noop.pure
