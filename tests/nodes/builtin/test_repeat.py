import pytest
from pydantic import ValidationError

from riven.core.graph import NodeKind
from riven.nodes.builtin.repeat import Repeat, RepeatConfig
from riven.nodes.testing import check_node_type
from riven.wire.document import Json


def test_defaults() -> None:
    config = RepeatConfig.model_validate({"while": "iteration.index < 3"})
    assert config.while_ is not None
    assert (config.while_.source, config.until, config.max_iterations, config.delay) == (
        "iteration.index < 3",
        None,
        100,
        0,
    )


def test_delay_is_a_duration() -> None:
    assert RepeatConfig.model_validate({"until": True, "delay": "2s"}).delay == 2_000


@pytest.mark.parametrize(
    "config",
    [
        {}, {"while": "a", "until": "b"}, {"while": 5}, {"until": "a", "maxIterations": 0}, {"until": "a", "maxIterations": 1.5},
        {"until": "a", "maxIterations": "5"}, {"until": "a", "delay": "soon"}, {"until": "a", "delay": -1},
        {"until": "a", "while_": "b"},
    ],
)  # fmt: skip
def test_configuration_is_checked(config: dict[str, Json]) -> None:
    with pytest.raises(ValidationError):
        RepeatConfig.model_validate(config)


def test_is_a_container_that_keeps_the_contract() -> None:
    check_node_type(Repeat)
    assert Repeat.kind is NodeKind.REPEAT
    assert Repeat.outcomes == ("success", "exhausted")
