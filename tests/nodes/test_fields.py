import pytest
from pydantic import ValidationError

from riven.nodes.contract import Config
from riven.nodes.fields import Duration, Text, Timestamp, parse_timestamp
from riven.wire.document import Json
from riven.wire.times import to_rfc3339


class Fields(Config):
    text: Text = ""
    duration: Duration = 0
    timestamp: Timestamp = 0


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (5, "5"), (1.5, "1.5"), (True, "true"), (["a", 1], '["a",1]'), ({"a": None}, '{"a":null}')],
)
def test_text_is_written_as_templates_join_it(value: Json, text: str) -> None:
    assert Fields.model_validate({"text": value}).text == text


@pytest.mark.parametrize("value", [None, object(), 2**70])
def test_null_and_what_json_lacks_are_no_text(value: object) -> None:
    with pytest.raises(ValidationError):
        Fields.model_validate({"text": value})


@pytest.mark.parametrize(("value", "milliseconds"), [("20s", 20_000), (1.5, 1_500), ("PT1M", 60_000), (0, 0)])
def test_durations_are_milliseconds(value: Json, milliseconds: int) -> None:
    assert Fields.model_validate({"duration": value}).duration == milliseconds


@pytest.mark.parametrize("value", [None, [], {}, True, "soon", -1, "", float("nan")])
def test_what_is_no_duration_says_so(value: Json) -> None:
    with pytest.raises(ValidationError):
        Fields.model_validate({"duration": value})


@pytest.mark.parametrize(
    ("value", "read"),
    [
        ("2030-01-31T09:00:00Z", "2030-01-31T09:00:00.000Z"),
        ("2030-01-31t09:00:00z", "2030-01-31T09:00:00.000Z"),
        ("2030-01-31 09:00:00+01:00", "2030-01-31T08:00:00.000Z"),
        ("2030-01-31T09:00:00.5-00:30", "2030-01-31T09:30:00.500Z"),
        ("2030-01-31T09:00:00.0000001Z", "2030-01-31T09:00:00.001Z"),
        (" 1969-12-31T23:59:59.999Z ", "1969-12-31T23:59:59.999Z"),
    ],
)
def test_times_are_rfc_3339_rounded_up(value: str, read: str) -> None:
    assert to_rfc3339(parse_timestamp(value)) == read


@pytest.mark.parametrize(
    "value",
    [
        None, 5, "", "2030-01-31", "2030-01-31T09:00:00", "2030-01-31T09:00Z", "20300131T090000Z", "2030-02-30T09:00:00Z",
        "2030-01-31T25:00:00Z", "2030-01-31T09:00:60Z", "2030-01-31T09:00:00+25:00", "2030-W05-4T09:00:00Z",
        "0000-01-01T00:00:00Z", "\u0662030-01-31T09:00:00Z", "x" * 1000,
    ],
)  # fmt: skip
def test_what_is_no_time_with_a_zone_says_so(value: Json) -> None:
    with pytest.raises(ValueError, match="2030-01-31T09:00:00Z"):
        parse_timestamp(value)


def test_titles_of_forms_are_words() -> None:
    class Form(Config):
        max_iterations: int = 1
        while_: bool = True

    properties = Form.model_json_schema()["properties"]
    assert [field["title"] for field in properties.values()] == ["Max iterations", "While"]
