import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from riven.wire.document import Json
from riven.wire.durations import MAX_MILLISECONDS, duration_text, parse_duration


@pytest.mark.parametrize(
    ("written", "milliseconds"),
    [
        ("500ms", 500),
        ("20s", 20_000),
        ("10m", 600_000),
        ("2h", 7_200_000),
        ("3d", 259_200_000),
        ("0s", 0),
        ("1.5s", 1_500),
        ("1h30m", 5_400_000),
        (" 20s ", 20_000),
        ("PT30S", 30_000),
        ("PT0.5S", 500),
        ("PT1,5S", 1_500),
        ("P1DT2H", 93_600_000),
        ("P2W", 1_209_600_000),
        (20, 20_000),
        (0, 0),
        (0.25, 250),
        ("20", 20_000),
        ("0.1ms", 1),
        (1e-9, 1),
        ("3660d", MAX_MILLISECONDS),
    ],
)
def test_every_way_to_write_a_duration_is_read(written: str | float, milliseconds: int) -> None:
    assert parse_duration(written) == milliseconds


@pytest.mark.parametrize(
    "written",
    [
        "",
        "s",
        "5 s",
        "5x",
        "5sec",
        "1m1m",
        "P",
        "PT",
        "P1DT",
        "P1Y",
        "P1M",
        "1e3",
        "soon",
        "٣s",
        "{{ x }}",
        True,
        "5" * 99,
        "\x00",
    ],
)
def test_what_is_no_duration_is_refused_with_examples(written: Json) -> None:
    with pytest.raises(ValueError, match=r"no duration; write for example 500ms, 20s"):
        parse_duration(written)


@pytest.mark.parametrize("written", [-1, -0.5, "-5s", "-PT1S"])
def test_negative_durations_are_refused(written: str | float) -> None:
    with pytest.raises(ValueError, match="cannot be negative"):
        parse_duration(written)


@pytest.mark.parametrize("written", [10**400, 1e300, "3661d", "P9999W", "999999999999999h"])
def test_durations_beyond_ten_years_are_refused(written: str | float) -> None:
    with pytest.raises(ValueError, match="ten years"):
        parse_duration(written)


@pytest.mark.parametrize("written", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_are_refused(written: float) -> None:
    with pytest.raises(ValueError, match="no duration"):
        parse_duration(written)


@given(st.integers(0, MAX_MILLISECONDS))
def test_what_is_written_is_read_back(milliseconds: int) -> None:
    assert parse_duration(duration_text(milliseconds)) == milliseconds


@given(st.text())
def test_any_text_is_a_duration_or_a_value_error(text: str) -> None:
    try:
        assert 0 <= parse_duration(text) <= MAX_MILLISECONDS
    except ValueError as error:
        assert str(error)  # noqa: PT017 - both ends are allowed
