import pytest
from pydantic import ValidationError

from riven.core.errors import ErrorClass
from riven.core.ids import NodePath
from riven.nodes.contract import Config, Heartbeat, NodeError, NodeType, Predicate
from riven.nodes.testing import node_context
from riven.wire.document import Json


class Form(Config):
    max_rows: int = 1
    check: Predicate | None = None


def test_fields_are_camel_case_and_unknown_ones_refused() -> None:
    assert Form.model_validate({"maxRows": 2}).max_rows == 2
    for wrong in ({"max_rows": 2}, {"maxrows": 2}, {"other": 1}):
        with pytest.raises(ValidationError):
            Form.model_validate(wrong)


def test_a_configuration_does_not_change() -> None:
    with pytest.raises(ValidationError):
        Form().max_rows = 5


@pytest.mark.parametrize(("written", "source"), [("a > 1", "a > 1"), (True, "true"), (False, "false")])
def test_a_predicate_is_text_or_a_boolean(written: Json, source: str) -> None:
    check = Form.model_validate({"check": written}).check
    assert check is not None
    assert check.source == source


@pytest.mark.parametrize("written", [5, [], {}, 1.5])
def test_anything_else_is_no_predicate(written: Json) -> None:
    with pytest.raises(ValidationError, match="CEL"):
        Form.model_validate({"check": written})


def test_a_predicate_is_evaluated_when_it_is_called() -> None:
    assert Predicate("x", lambda: True)() is True
    with pytest.raises(NodeError) as unbound:
        Predicate("x")()
    assert unbound.value.error_class is ErrorClass.INTERNAL_ERROR


def test_a_tool_that_the_worker_lacks_is_named() -> None:
    context = node_context(services={int: 5})
    assert context.service(int) == 5
    with pytest.raises(NodeError, match="no str") as missing:
        context.service(str)
    assert missing.value.error_class is ErrorClass.INTERNAL_ERROR


def test_a_heartbeat_goes_to_whoever_listens_or_nowhere() -> None:
    beats: list[NodePath] = []
    node_context().heartbeat()
    node_context(path="a", services={Heartbeat: beats.append}).heartbeat()
    assert beats == ["a"]


def test_without_override_every_configuration_has_the_declared_labels() -> None:
    class Two(NodeType[Form]):
        outcomes = ("a", "b")

    assert Two().labels({"anything": 1}) == ("a", "b")
