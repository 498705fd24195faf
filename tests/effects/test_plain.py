import datetime as dt
import enum
import uuid
from collections import OrderedDict, defaultdict
from dataclasses import dataclass

import pytest

from riven.effects.plain import NotJsonError, copy_json


@dataclass
class Point:
    x: int


class Colour(enum.Enum):
    RED = "red"


class Name(enum.StrEnum):
    ANN = "ann"


def nested(levels: int) -> object:
    value: object = 1
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value", [None, True, 0, -(2**63), 2**63 - 1, 1.5, "", "a\\u0000b", "🙂", [], {}, {"a": [1, {"b": None}]}]
)
def test_json_is_copied_as_it_is(value: object):
    copied = copy_json(value).value

    assert copied == value
    assert type(copied) is type(value)


def test_the_copy_shares_nothing_that_can_change():
    inner = [1]
    copied = copy_json({"a": inner}).value
    inner.append(2)

    assert copied == {"a": [1]}


def test_tuples_and_subclasses_become_plain():
    copied = copy_json({"a": (1, (2,)), "b": OrderedDict(c=Name.ANN), "d": defaultdict(int, e=1)}).value

    assert copied == {"a": [1, [2]], "b": {"c": "ann"}, "d": {"e": 1}}
    assert [type(copied[key]) for key in "abd"] == [list, dict, dict]
    assert type(copied["b"]["c"]) is str


@pytest.mark.parametrize(
    ("value", "path", "said"),
    [
        (float("nan"), "", "nan"),
        ({"a": [1, float("inf")]}, "a[1]", "inf"),
        ([None, float("nan")], "[1]", "nan"),
        ({"a": 2**63}, "a", "64 bits"),
        (2**64 - 1, "", "64 bits"),
        (-(2**63) - 1, "", "64 bits"),
        ({"a": {"b": {1, 2}}}, "a.b", "set"),
        ([dt.datetime(2026, 1, 1, tzinfo=dt.UTC)], "[0]", "datetime"),
        (uuid.UUID(int=1), "", "UUID"),
        (Point(1), "", "Point"),
        (Colour.RED, "", "Colour"),
        (b"bytes", "", "bytes"),
        ({"a": {1: 2}}, "a", "key 1"),
        ("\ud800", "", "Unicode"),
        ({"\ud800": 1}, "", "Unicode"),
        ({"a": ["b\0"]}, "a[0]", "NUL"),
        ({"a": {"\0": 1}}, "a", "NUL"),
        (nested(5_000), "[0]" * 250, "250 levels"),
        (object(), "", "object"),
    ],
)
def test_what_is_no_json_is_refused_with_its_place(value: object, path: str, said: str):
    with pytest.raises(NotJsonError) as caught:
        copy_json(value)

    assert caught.value.path == path
    assert said in caught.value.reason


def test_a_value_that_contains_itself_is_refused():
    value: list[object] = []
    value.append(value)

    with pytest.raises(NotJsonError, match="250 levels"):
        copy_json(value)


def test_the_text_is_the_json_of_the_copy():
    assert copy_json({"a": (1, 2)}).text == b'{"a":[1,2]}'
