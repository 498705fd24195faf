from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from riven.api.fields import Flag, Moment, Name, RequestBody, ResponseBody, Shown, Text, Whole, rfc3339

ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers())


def accepts(kind: object, value: object) -> bool:
    try:
        TypeAdapter(kind).validate_python(value)
    except ValidationError:
        return False
    return True


@given(ANY)
def test_a_whole_number_is_what_json_schema_calls_an_integer(value: object) -> None:
    whole = isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1
    assert accepts(Whole, value) == (whole and abs(value) != float("inf"))


@given(ANY)
def test_a_flag_is_true_or_false_and_nothing_like_it(value: object) -> None:
    assert accepts(Flag, value) == isinstance(value, bool)


@given(st.text(st.characters(codec="utf-8")) | st.text("\0 \t\n\x85\u200b\u3000\ufeffa", max_size=4))
def test_texts_are_taken_as_they_are_described(value: str) -> None:
    for kind in (Text, Name):
        described = Draft202012Validator(TypeAdapter(kind).json_schema())
        if len(value) <= 200:
            assert accepts(kind, value) == described.is_valid(value), repr(value)
        elif kind is Name:
            assert not accepts(kind, value)


def test_a_name_is_kept_without_the_blanks_around_it() -> None:
    assert TypeAdapter(Name).validate_python("  a b \n") == "a b"
    for long in ("a" * 201, " " * 200 + "a"):
        assert not accepts(Name, long)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-19T08:30:00Z", datetime(2026, 11, 19, 8, 30, tzinfo=UTC)),
        ("2026-11-19T08:30:00.125+02:00", datetime(2026, 11, 19, 6, 30, 0, 125_000, tzinfo=UTC)),
        ("2026-11-19t08:30:00z", datetime(2026, 11, 19, 8, 30, tzinfo=UTC)),
        ("0001-01-01T00:00:01Z", datetime(1, 1, 1, 0, 0, 1, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, 0, 0, 0, 1_000, UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_000, UTC)),
    ],
)
def test_a_time_is_read_with_its_offset(text: str, moment: datetime) -> None:
    assert TypeAdapter(Moment).validate_python(text) == moment


@pytest.mark.parametrize(
    "value",
    [
        *("2026-11-19", "2026-11-19T08:30:00", "tomorrow", "", "1763541000", "24:00"),
        *("9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "10000-01-01T00:00:00Z"),
        *(1_763_541_000, 1.5, True, None, ["2026-11-19T08:30:00Z"]),
    ],
    ids=repr,
)
def test_what_is_no_time_with_an_offset_is_refused(value: object) -> None:
    assert not accepts(Moment, value)


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_are_shown_in_milliseconds_as_they_would_be_read(moment: datetime) -> None:
    shown = rfc3339(moment)
    assert len(shown) == len("2026-11-19T08:30:00.125Z")
    assert TypeAdapter(Moment).validate_python(shown) == moment.replace(
        microsecond=moment.microsecond // 1_000 * 1_000
    )


class Asked(RequestBody):
    first_name: Name


class Told(ResponseBody):
    made_at: Shown
    none_at: Shown | None = None


def test_bodies_are_camel_case_outside() -> None:
    assert Asked.model_validate({"firstName": "a"}).first_name == "a"
    for wrong in ({"first_name": "a"}, {"firstName": "a", "more": 1}):
        with pytest.raises(ValidationError):
            Asked.model_validate(wrong)
    told = Told(made_at=datetime(2026, 11, 19, 8, 30, 0, 125_999, tzinfo=UTC))
    assert told.shown() == {"madeAt": "2026-11-19T08:30:00.125Z", "noneAt": None}
