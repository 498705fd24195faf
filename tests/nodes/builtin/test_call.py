import pytest
from pydantic import ValidationError

from riven.core.graph import NodeKind
from riven.nodes.builtin.call import Call, CallConfig
from riven.nodes.testing import check_node_type
from riven.wire.document import Json


def test_defaults() -> None:
    config = CallConfig.model_validate({"workflow": "refund"})
    assert (config.workflow, config.version, config.input) == ("refund", None, {})


@pytest.mark.parametrize(
    "config",
    [
        {}, {"workflow": "Refund"}, {"workflow": "../refund"}, {"workflow": "refund\n"}, {"workflow": "r" * 64},
        {"workflow": "refund", "version": 0}, {"workflow": "refund", "version": "1"}, {"workflow": "refund", "input": []},
        {"workflow": "refund", "version": True},
    ],
)  # fmt: skip
def test_configuration_is_checked(config: dict[str, Json]) -> None:
    with pytest.raises(ValidationError):
        CallConfig.model_validate(config)


def test_is_a_container_that_keeps_the_contract() -> None:
    check_node_type(Call)
    assert Call.kind is NodeKind.CALL
    assert Call.static_fields == ("workflow", "version")
