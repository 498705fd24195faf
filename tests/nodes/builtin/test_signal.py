import pytest

from riven.nodes.builtin.signal import Signal
from riven.nodes.contract import NodeError, Waiting
from riven.nodes.testing import FixedClock, check_node_type, start_waiting
from riven.wire.document import Json


def test_waits_for_its_message_for_ever_or_until_it_expires() -> None:
    assert start_waiting(Signal, {"name": "paid"}) == Waiting(None, signal="paid")
    assert start_waiting(Signal, {"name": "paid", "timeout": "2s"}, clock=FixedClock(5)) == Waiting(
        2_005, signal="paid"
    )


def test_a_number_is_a_name_too() -> None:
    assert start_waiting(Signal, {"name": 17}).signal == "17"


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"name": ""},
        {"name": " "},
        {"name": "a\nb"},
        {"name": "x" * 300},
        {"name": None},
        {"name": "a", "timeout": "x"},
    ],
)
def test_configuration_is_checked(config: dict[str, Json]) -> None:
    with pytest.raises(NodeError):
        start_waiting(Signal, config)


def test_keeps_the_contract() -> None:
    check_node_type(Signal)
    assert Signal.outcomes == ("received", "expired")
