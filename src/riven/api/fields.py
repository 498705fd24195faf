"""What fields of bodies are made of, and the two kinds of bodies."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    Strict,
    StringConstraints,
    WithJsonSchema,
)
from pydantic.alias_generators import to_camel

from riven.wire.times import to_rfc3339

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_TIME: Final = WithJsonSchema({"type": "string", "format": "date-time"})


class RequestBody(BaseModel):
    """camelCase; unknown fields are refused."""

    model_config = ConfigDict(
        extra="forbid",
        alias_generator=to_camel,
        frozen=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )


class ResponseBody(BaseModel):
    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, frozen=True, use_attribute_docstrings=True
    )

    def shown(self) -> dict[str, Any]:
        return self.model_dump(mode="json", by_alias=True)


def rfc3339(moment: datetime) -> str:
    """UTC, milliseconds, `Z`."""
    return to_rfc3339((moment - _EPOCH) // _MILLISECOND)


def _storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("take the NUL character out of this text")
    return text


def _written(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("write the time as RFC 3339, such as 2026-11-19T08:30:00Z")  # noqa: TRY004  # pydantic's
    return value


def _whole(value: object) -> object:
    """JSON has one kind of numbers: 7.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


Text = Annotated[str, AfterValidator(_storable), Field(json_schema_extra={"pattern": r"^[^\u0000]*$"})]
"""Any text that the database can hold."""
Name = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=200),
    AfterValidator(_storable),
    Field(json_schema_extra={"pattern": r"^[^\u0000]*[^\s\u0000][^\u0000]*$"}),
]
Whole = Annotated[int, Strict(), BeforeValidator(_whole)]
Flag = Annotated[bool, Strict()]
Moment = Annotated[AwareDatetime, BeforeValidator(_written), _TIME]
"""A time that somebody sends, with its offset."""
Shown = Annotated[datetime, PlainSerializer(rfc3339, return_type=str), _TIME]
"""A time that is answered."""
