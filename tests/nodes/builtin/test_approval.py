import pytest

from riven.nodes.builtin.approval import Approval
from riven.nodes.contract import NodeError, Waiting
from riven.nodes.decisions import expired
from riven.nodes.testing import FixedClock, check_node_type, start_waiting
from riven.wire.document import Json


def test_waits_for_ever_or_until_it_expires() -> None:
    assert start_waiting(Approval, {"title": "Refund?"}) == Waiting(None, output=expired())
    assert start_waiting(Approval, {"timeout": "3d"}, clock=FixedClock(0)) == Waiting(
        259_200_000, output=expired()
    )


def test_a_form_is_a_json_schema() -> None:
    form = {"type": "object", "properties": {"amount": {"type": "number"}}}
    assert start_waiting(Approval, {"title": 5, "description": "d", "form": form}).due is None


@pytest.mark.parametrize(
    "config",
    [{"form": {"type": "nope"}}, {"form": []}, {"form": {"$ref": "http://127.0.0.1:9/x"}}, {"title": None}, {"timeout": "x"}, {"caption": "x"}],
)  # fmt: skip
def test_configuration_is_checked(config: dict[str, Json]) -> None:
    with pytest.raises(NodeError):
        start_waiting(Approval, config)


def test_keeps_the_contract() -> None:
    check_node_type(Approval)
    assert Approval.outcomes == ("approved", "rejected", "expired")
