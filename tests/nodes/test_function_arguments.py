import datetime as dt
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from riven.core.errors import ErrorClass
from riven.nodes.contract import NodeError
from riven.nodes.function import FunctionContext, FunctionError, describe_function
from riven.nodes.function_arguments import compile_check
from riven.wire.document import Json


class Customer(BaseModel):
    id: int
    tags: list[str] = []


def typed(
    customer: Customer,
    day: dt.date,
    kind: Literal["a", "b"] = "a",
    limit: Annotated[int, Field(ge=1)] = 10,
    factor: float = Field(default=2.0, gt=0),
    *,
    json: Any = None,  # noqa: ANN401 - what it is about
    _hidden: int = 1,
    model_config: str = "m",
    context: FunctionContext | None = None,
) -> None: ...


def untyped(a, b=2): ...
def no_arguments() -> None: ...
def anything(**rest: Any) -> None: ...  # noqa: ANN401 - what it is about
def numbers(a: int, **rest: int) -> None: ...


def check(call: Any, args: dict[str, Json]) -> dict[str, Any]:  # noqa: ANN401
    return compile_check(describe_function(call))(args)


def complaint(call: Any, args: dict[str, Json]) -> str:  # noqa: ANN401
    with pytest.raises(NodeError) as refused:
        check(call, args)
    assert refused.value.error_class is ErrorClass.VALIDATION_ERROR
    return refused.value.message


def test_arguments_become_what_the_signature_says() -> None:
    checked = check(typed, {"customer": {"id": "7"}, "day": "2030-01-31", "limit": "5"})
    assert checked == {
        "customer": Customer(id=7),
        "day": dt.date(2030, 1, 31),
        "limit": 5,
        "factor": 2.0,
    }


def test_parameters_may_have_any_name() -> None:
    args = {"customer": {"id": 1}, "day": "2030-01-31", "json": [1], "_hidden": 2, "model_config": "x"}
    checked = check(typed, args)
    assert (checked["json"], checked["_hidden"], checked["model_config"]) == ([1], 2, "x")


def test_without_annotations_anything_goes() -> None:
    assert check(untyped, {"a": {"x": [1]}}) == {"a": {"x": [1]}}
    assert check(anything, {"a": 1, "b": None}) == {"a": 1, "b": None}
    assert check(no_arguments, {}) == {}


def test_the_rest_is_checked_too() -> None:
    assert check(numbers, {"a": "1", "b": "2"}) == {"a": 1, "b": 2}
    assert "argument `b`" in complaint(numbers, {"a": 1, "b": "x"})


def test_every_wrong_argument_is_named() -> None:
    said = complaint(
        typed, {"customer": {"id": "x", "tags": [1]}, "kind": "c", "limit": 0, "factor": -1, "extra": 1}
    )
    assert said.startswith("function 'typed': ")
    for words in (
        "argument `customer.id`: ", "argument `customer.tags[0]`: ", "the argument `day` is missing", "argument `kind`: ",
        "argument `limit`: ", "argument `factor`: ", "there is no argument `extra`; it takes customer, day, kind",
    ):  # fmt: skip
        assert words in said


def test_values_are_not_repeated_in_messages() -> None:
    assert "s3cret" not in complaint(typed, {"customer": "s3cret", "day": "s3cret", "s3": "s3cret"})


def test_many_complaints_are_cut() -> None:
    said = complaint(untyped, {f"x{index}": 1 for index in range(100)})
    assert said.count("there is no argument") == 9
    assert said.endswith("and 91 more")


def test_a_function_without_parameters_takes_none() -> None:
    assert "it takes none" in complaint(no_arguments, {"a": 1})


def test_the_context_is_not_for_documents() -> None:
    assert "given by the engine" in complaint(
        typed, {"customer": {"id": 1}, "day": "2030-01-31", "context": 1}
    )


def test_an_annotation_that_nobody_knows_is_found_when_it_is_loaded() -> None:
    def unknown(a: "Nowhere") -> None: ...  # type: ignore[name-defined] # noqa: F821

    with pytest.raises(FunctionError, match="Nowhere"):
        compile_check(describe_function(unknown))


def test_a_type_that_cannot_be_checked_is_found_when_it_is_loaded() -> None:
    class Connection: ...

    def connects(a: Connection) -> None: ...

    with pytest.raises(FunctionError, match="cannot be checked"):
        compile_check(describe_function(connects))
