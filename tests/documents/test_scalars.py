import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.documents.scalars import NumberRangeError, check_number, decimal, integer, plain
from riven.wire.document import Json


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("", None),
        ("~", None),
        ("null", None),
        ("true", True),
        ("FALSE", False),
        ("on", "on"),
        ("yes", "yes"),
        ("No", "No"),
        ("y", "y"),
        ("12", 12),
        ("-12", -12),
        ("+12", 12),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("0b11", "0b11"),
        ("12:30:45", "12:30:45"),
        ("2001-12-14", "2001-12-14"),
        ("1.5", 1.5),
        ("-.5", -0.5),
        ("1.", 1.0),
        ("1e3", 1000.0),
        (".", "."),
        ("-", "-"),
        ("+", "+"),
        ("1.2.3", "1.2.3"),
        ("0x", "0x"),
        ("0o8", "0o8"),
        ("٣", "٣"),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
        ("0000000000000000000000000001", 1),
        ("NaN", "NaN"),
        ("tRue", "tRue"),
    ],
)
def test_plain_words_are_read_by_the_core_schema_of_yaml_1_2(written: str, value: Json) -> None:
    read = plain(written)
    assert (read, type(read)) == (value, type(value))


@pytest.mark.parametrize(
    ("written", "code"),
    [
        ("9223372036854775808", "integer_range"),
        ("-9223372036854775809", "integer_range"),
        ("9" * 100_000, "integer_range"),
        ("0x" + "f" * 17, "integer_range"),
        ("0x" + "f" * 100_000, "integer_range"),
        (".inf", "not_finite"),
        ("-.Inf", "not_finite"),
        (".NaN", "not_finite"),
        ("1e999", "not_finite"),
        ("1" * 5_000 + ".0", "not_finite"),
    ],
)
def test_numbers_that_json_or_64_bits_cannot_hold_are_refused(written: str, code: str) -> None:
    with pytest.raises(NumberRangeError) as caught:
        plain(written)
    assert caught.value.code == code
    assert len(str(caught.value)) < 200


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_64_bit_integer_is_read(number: int) -> None:
    assert plain(str(number)) == integer(str(number)) == number


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_finite_number_is_read(number: float) -> None:
    assert decimal(repr(number)) == number


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, math.inf, math.nan])
def test_values_that_are_no_numbers_of_ours_are_refused(value: float) -> None:
    with pytest.raises(NumberRangeError):
        check_number(value)


@given(st.text())
def test_any_word_is_read_or_refused(word: str) -> None:
    try:
        plain(word)
    except NumberRangeError as error:
        assert error.code in ("integer_range", "not_finite")  # noqa: PT017 - both ends are allowed
