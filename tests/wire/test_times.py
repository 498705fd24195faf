from datetime import UTC, datetime

from riven.wire.times import storable, to_rfc3339


def test_a_time_is_utc_with_milliseconds():
    assert to_rfc3339(1_763_541_000_125) == "2025-11-19T08:30:00.125Z"


def test_whole_seconds_keep_their_three_digits():
    assert to_rfc3339(0) == "1970-01-01T00:00:00.000Z"


def test_every_millisecond_is_kept():
    assert [to_rfc3339(1_700_000_000_000 + ms)[20:23] for ms in range(1_000)] == [
        f"{ms:03d}" for ms in range(1_000)
    ]


def test_the_ends_of_the_calendar_are_kept_as_the_times_beside_them():
    ends = [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
    assert [to_rfc3339(round(storable(end).timestamp() * 1000)) for end in ends] == [
        "0001-01-01T00:00:00.001Z",
        "9999-12-31T23:59:59.999Z",
    ]
    now = datetime(2026, 11, 19, 8, 30, 0, 125_001, UTC)
    assert storable(now) is now
