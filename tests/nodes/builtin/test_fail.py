import pytest

from riven.core.errors import ErrorClass
from riven.nodes.builtin.fail import Fail
from riven.nodes.contract import NodeError
from riven.nodes.testing import check_node_type, run_node
from riven.wire.document import Json

MACHINERY = {ErrorClass.DISPATCH_FAILED, ErrorClass.WORKER_LOST, ErrorClass.INTERNAL_ERROR}


async def fails(config: dict[str, Json]) -> NodeError:
    with pytest.raises(NodeError) as failed:
        await run_node(Fail, config)
    return failed.value


async def test_fails_with_its_message_and_is_not_retried() -> None:
    error = await fails({"message": "no stock"})
    assert (error.error_class, error.message, error.retryable) == (
        ErrorClass.EXECUTION_ERROR,
        "no stock",
        False,
    )


@pytest.mark.parametrize("error_class", sorted(set(ErrorClass) - MACHINERY))
async def test_fails_by_the_class_it_is_given_and_is_not_retried(error_class: ErrorClass) -> None:
    error = await fails({"message": "x", "type": error_class.value})
    assert (error.error_class, error.message, error.retryable) == (error_class, "x", False)


@pytest.mark.parametrize("error_class", [*sorted(MACHINERY), "OTHER", 5, None])
async def test_other_classes_are_refused(error_class: Json) -> None:
    error = await fails({"message": "x", "type": error_class})
    assert error.error_class is ErrorClass.VALIDATION_ERROR
    assert "with.type" in error.message


async def test_the_message_may_be_left_out() -> None:
    assert (await fails({})).message == "failed on purpose"


def test_keeps_the_contract() -> None:
    check_node_type(Fail)
