import dataclasses
import datetime as dt
import decimal
import enum
import uuid
from collections import OrderedDict, namedtuple

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from riven.core.errors import ErrorClass
from riven.nodes.contract import NodeError
from riven.nodes.json_values import deeper_than, json_value

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)  # fmt: skip


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Order(BaseModel):
    at: dt.datetime
    amount: decimal.Decimal


@dataclasses.dataclass
class Line:
    id: uuid.UUID
    order: Order | None = None


Point = namedtuple("Point", "x y")


@given(JSON)
def test_json_stays_as_it_is(value: object) -> None:
    assert json_value(value, "it gave") == value


def test_the_result_is_a_copy() -> None:
    inner: list[int] = []
    copy = json_value({"a": inner}, "it gave")
    inner.append(1)
    assert copy == {"a": []}


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ((1, (2,)), [1, [2]]),
        (Point(1, 2), [1, 2]),
        (OrderedDict(a=1), {"a": 1}),
        ({Colour.RED.value: Colour.RED, "l": Level.HIGH}, {"red": "red", "l": 3}),
        (Order(at=dt.datetime(2030, 1, 1, tzinfo=dt.UTC), amount=decimal.Decimal("1.50")),
         {"at": "2030-01-01T00:00:00Z", "amount": "1.50"}),
        ([Line(uuid.UUID(int=1))], [{"id": "00000000-0000-0000-0000-000000000001", "order": None}]),
    ],
)  # fmt: skip
def test_what_is_meant_as_json_becomes_json(value: object, plain: object) -> None:
    copy = json_value(value, "it gave")
    assert copy == plain
    assert orjson.loads(orjson.dumps(copy)) == plain


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"items": [{"when": dt.datetime(2030, 1, 1, tzinfo=dt.UTC)}]}, "at `items[0].when`: a datetime.datetime (return its isoformat())"),
        ([1, {2, 3}], "at `[1]`: a set (return a list)"),
        (b"x", "bytes (return text)"),
        (object(), "an object of type object"),
        ({1: 2}, "a key that is no text but an object of type int"),
        (float("nan"), "the number nan"),
        ([float("-inf")], "at `[0]`: the number -inf"),
        (2**63, "an integer beyond 64 bits"),
        (-(2**63) - 1, "an integer beyond 64 bits"),
        ("\ud800", "half a surrogate pair"),
        ({"\ud800": 1}, "half a surrogate pair"),
        (Order.model_construct(at=object(), amount=1), "pydantic cannot write"),
        (Colour, "an object of type enum.EnumType"),
    ],
)  # fmt: skip
def test_what_is_not_json_is_named_where_it_stands(value: object, words: str) -> None:
    with pytest.raises(NodeError) as refused:
        json_value(value, "function 'f' returned")
    assert refused.value.error_class is ErrorClass.VALIDATION_ERROR
    assert refused.value.message.startswith("function 'f' returned what is not JSON")
    assert words in refused.value.message


def test_a_value_that_holds_itself_ends() -> None:
    round_about: list[object] = []
    round_about.append(round_about)
    with pytest.raises(NodeError, match="levels"):
        json_value(round_about, "it gave")


def test_depth_is_told_without_recursion() -> None:
    value: object = 1
    for _ in range(100):
        value = [value]
    assert not deeper_than(value, 100)
    assert deeper_than([value], 100)
    assert deeper_than({"a": [{"b": 1}, 2]}, 2)
    assert not deeper_than({"a": [{"b": 1}, 2]}, 3)
    assert not deeper_than(5, 0)
