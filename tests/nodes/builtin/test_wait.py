import pytest

from riven.core.errors import ErrorClass
from riven.nodes.builtin.wait import Wait
from riven.nodes.contract import NodeError, Waiting
from riven.nodes.testing import FixedClock, check_node_type, start_waiting
from riven.wire.document import Json


@pytest.mark.parametrize(
    ("config", "due", "until"),
    [
        ({"for": "20s"}, 21_000, "1970-01-01T00:00:21.000Z"),
        ({"for": 0.5}, 1_500, "1970-01-01T00:00:01.500Z"),
        ({"for": 0}, 1_000, "1970-01-01T00:00:01.000Z"),
        ({"until": "1970-01-01T01:00:05+01:00"}, 5_000, "1970-01-01T00:00:05.000Z"),
        ({"until": "1970-01-01T00:00:00Z"}, 0, "1970-01-01T00:00:00.000Z"),
        ({"until": "1970-01-01T00:00:05Z", "for": None}, 5_000, "1970-01-01T00:00:05.000Z"),
    ],
)
def test_is_over_after_a_while_or_at_a_time(config: dict[str, Json], due: int, until: str) -> None:
    assert start_waiting(Wait, config, clock=FixedClock(1_000)) == Waiting(due, output={"until": until})


@pytest.mark.parametrize(
    "config",
    [{}, {"for": "1s", "until": "2030-01-01T00:00:00Z"}, {"for": "-1s"}, {"for": "soon"}, {"until": "2030-01-01T00:00:00"}, {"until": 5}, {"for_": "1s"}],
)  # fmt: skip
def test_configuration_is_checked(config: dict[str, Json]) -> None:
    with pytest.raises(NodeError) as failed:
        start_waiting(Wait, config)
    assert failed.value.error_class is ErrorClass.VALIDATION_ERROR


def test_keeps_the_contract() -> None:
    check_node_type(Wait)
