import pytest
from pydantic import ValidationError

from riven.core.graph import NodeKind, OnItemFailure
from riven.nodes.builtin.for_each import ForEach, ForEachConfig
from riven.nodes.testing import check_node_type
from riven.wire.document import Json


def test_defaults() -> None:
    config = ForEachConfig.model_validate({"items": [1]})
    assert (config.items, config.concurrency, config.on_item_failure) == ([1], 10, OnItemFailure.FAIL)


@pytest.mark.parametrize(
    "config",
    [
        {}, {"items": "a"}, {"items": {"a": 1}}, {"items": None}, {"items": 5}, {"items": [], "concurrency": 0},
        {"items": [], "concurrency": 10_001}, {"items": [], "concurrency": "5"}, {"items": [], "concurrency": True},
        {"items": [], "onItemFailure": "stop"}, {"items": [], "on_item_failure": "fail"}, {"items": [], "body": {}},
    ],
)  # fmt: skip
def test_configuration_is_checked(config: dict[str, Json]) -> None:
    with pytest.raises(ValidationError):
        ForEachConfig.model_validate(config)


def test_is_a_container_that_keeps_the_contract() -> None:
    check_node_type(ForEach)
    assert ForEach.kind is NodeKind.FOR_EACH
    assert ForEach.static_fields == ("concurrency", "onItemFailure")
