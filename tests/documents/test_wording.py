from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from riven.documents.codes import Code
from riven.documents.wording import described, faults
from riven.wire.document import Json


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    name: str
    count: Annotated[int, Field(ge=1, le=5)] = 1


class Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
    text: Annotated[str, Field(min_length=1, max_length=5, pattern="^[a-z]+$")] = "a"
    ratio: float = 1
    flag: bool = False
    kind: Literal["json", "text"] = "json"
    inner: Inner | None = None
    several: list[Inner] = Field(default=[], max_length=2)
    either: int | list[int] = 1
    mapping: dict[str, int] = {}
    odd: Any = None

    @field_validator("odd")
    @classmethod
    def _even(cls, value: object) -> object:
        if value == 3:
            raise ValueError("write an even number")
        return value


def told(value: Json) -> list[tuple[Any, ...]]:
    with pytest.raises(ValidationError) as caught:
        Model.model_validate(value)
    return [(fault.location, fault.code, fault.message) for fault in faults(caught.value, Model, value)]


@pytest.mark.parametrize(
    ("value", "location", "code", "message"),
    [
        ({"text": 3}, ("text",), Code.WRONG_TYPE, "`text` must be text, not the number 3"),
        ({"text": None}, ("text",), Code.WRONG_TYPE, "`text` must be text, not null"),
        ({"text": ""}, ("text",), Code.INVALID_VALUE, "`text` must not be empty"),
        ({"text": "abcdef"}, ("text",), Code.INVALID_VALUE, "`text` must have at most 5 characters"),
        ({"text": "A"}, ("text",), Code.INVALID_VALUE, "`text` must match ^[a-z]+$"),
        ({"ratio": "half"}, ("ratio",), Code.WRONG_TYPE, "`ratio` must be a number, not the text 'half'"),
        ({"ratio": float("inf")}, ("ratio",), Code.INVALID_VALUE, "`ratio` must be a finite number"),
        ({"flag": "yes"}, ("flag",), Code.WRONG_TYPE, "`flag` must be true or false, not the text 'yes'"),
        ({"kind": "jsn"}, ("kind",), Code.INVALID_VALUE, "`kind` must be one of json, text, not the text 'jsn'; did you mean 'json'?"),
        ({"inner": 3}, ("inner",), Code.WRONG_TYPE, "`inner` must be a mapping of fields, not the number 3"),
        ({"inner": {}}, ("inner", "name"), Code.MISSING_FIELD, "`name` is missing; add it"),
        ({"inner": {"name": "a", "count": 9}}, ("inner", "count"), Code.INVALID_VALUE, "`count` must be at most 5"),
        ({"inner": {"name": "a", "cuont": 2}}, ("inner", "cuont"), Code.UNKNOWN_FIELD, "there is no field `cuont` here; did you mean 'count'?"),
        ({"inner": {"name": "a", "zzz": 2}}, ("inner", "zzz"), Code.UNKNOWN_FIELD, "there is no field `zzz` here; there are name, count"),
        ({"several": [{"name": "a"}, 3]}, ("several", 1), Code.WRONG_TYPE, "this element must be a mapping of fields, not the number 3"),
        ({"several": [{"name": "a"}] * 3}, ("several",), Code.INVALID_VALUE, "`several` must have at most 2 elements"),
        ({"either": "x"}, ("either",), Code.WRONG_TYPE, "`either` must be a whole number or a list, not the text 'x'"),
        ({"mapping": {"a": "x"}}, ("mapping", "a"), Code.WRONG_TYPE, "`a` must be a whole number, not the text 'x'"),
        ({"odd": 3}, ("odd",), Code.INVALID_VALUE, "`odd`: write an even number"),
    ],
)  # fmt: skip
def test_each_kind_of_mistake_has_words(
    value: Json, location: tuple[Any, ...], code: Code, message: str
) -> None:
    assert told(value) == [(location, code, message)]


def test_a_misspelt_field_is_not_missed_as_well() -> None:
    assert [code for _, code, _ in told({"inner": {"nmae": "a"}})] == [Code.UNKNOWN_FIELD]


def test_each_place_is_told_once() -> None:
    places = [place for place, _, _ in told({"text": 1, "ratio": "a", "either": "x", "several": [1, 2]})]
    assert places == [("text",), ("ratio",), ("several", 0), ("several", 1), ("either",)]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("a\nb\x07", "the text 'a\ufffdb\ufffd'"),
        ("x" * 100, f"the text '{'x' * 39}…'"),
        (True, "true"),
        (1.5, "the number 1.5"),
        (None, "null"),
        ([], "a list"),
        ({}, "a mapping"),
    ],
)
def test_values_are_described_shortly_and_printably(value: Json, words: str) -> None:
    assert described(value) == words
