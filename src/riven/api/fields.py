"""What fields of bodies are made of, and the two kinds of bodies."""

import re
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

from riven.wire.times import storable, to_rfc3339

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_RFC_3339: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
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


def _visible(text: str) -> str:
    if not _SEEN.search(text):
        raise ValueError("this must not be empty")
    return text.strip()


def _written(value: object) -> object:
    if not isinstance(value, str) or not _RFC_3339.fullmatch(value):
        raise ValueError("write the time as RFC 3339, such as 2026-11-19T08:30:00Z")  # pydantic's
    return value


def _in_utc(moment: datetime) -> datetime:
    try:
        return storable(moment.astimezone(UTC))
    except OverflowError:
        raise ValueError("the years that can be told are 1 to 9999") from None


def _whole(value: object) -> object:
    """JSON has one kind of numbers: 7.0 is a whole one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


_BLANK: Final = r"\u0000-\u0020\u007f-\u00a0\u1680\u2000-\u200f\u2028-\u202f\u205f\u2060\u3000\ufeff"
_SEEN: Final = re.compile(f"[^{_BLANK}]")
Text = Annotated[str, AfterValidator(_storable), Field(json_schema_extra={"pattern": r"^[^\u0000]*$"})]
"""Any text that the database can hold."""
Name = Annotated[
    str,
    StringConstraints(max_length=200),
    AfterValidator(_storable),
    AfterValidator(_visible),
    Field(json_schema_extra={"pattern": rf"^[^\u0000]*[^{_BLANK}][^\u0000]*$"}),
]
"""A text in which something can be seen."""
Whole = Annotated[int, Strict(), BeforeValidator(_whole)]
Flag = Annotated[bool, Strict()]
Moment = Annotated[AwareDatetime, BeforeValidator(_written), AfterValidator(_in_utc), _TIME]
"""A time that somebody sends, with its offset."""
Shown = Annotated[datetime, PlainSerializer(rfc3339, return_type=str), _TIME]
"""A time that is answered."""
