"""Lists by keyset: newest first, `{items, nextCursor}`. A cursor is the id after which the next page begins."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar
from uuid import UUID

from fastapi import Depends, Query

from riven.api.fields import ResponseBody
from riven.api.problems import ProblemError
from riven.api.responses import JsonResponse
from riven.wire.document import Json

T = TypeVar("T")

Limit = Annotated[int, Query(alias="limit", ge=1, le=200, description="At most so many items.")]


def encode_id(kind: str, after: UUID) -> str:
    return f"{kind}.{after.hex}"


def decode_id(kind: str, cursor: str | None) -> UUID | None:
    """The id in a cursor of this kind; None without one."""
    if cursor is None:
        return None
    if re.fullmatch(_pattern(kind), cursor, re.ASCII) is None:
        raise bad_cursor()
    return UUID(cursor.removeprefix(f"{kind}."))


def _pattern(kind: str) -> str:
    """What cursors of ids look like; told to those who test us, and to nobody else."""
    return rf"^{re.escape(kind)}\.[0-9a-f]{{32}}$"


def bad_cursor() -> ProblemError:
    return ProblemError(
        "bad_cursor", "the cursor is none of this list's; send `nextCursor` as it came, or none"
    )


@dataclass(frozen=True, slots=True)
class Page:
    """What is asked for. Read `wanted` items: one more than are shown tells whether there is another page."""

    kind: str
    limit: int
    before: UUID | None

    @property
    def wanted(self) -> int:
        return self.limit + 1

    def answer(
        self, found: Sequence[T], id_of: Callable[[T], UUID], show: Callable[[T], Json]
    ) -> JsonResponse:
        items = found[: self.limit]
        more = len(found) > self.limit
        cursor = encode_id(self.kind, id_of(items[-1])) if more else None
        return JsonResponse({"items": [show(each) for each in items], "nextCursor": cursor})


def page_of(kind: str) -> Any:  # noqa: ANN401  # a marker for signatures: `page: Annotated[Page, page_of("keys")]`
    def page(
        cursor: Annotated[
            str | None,
            Query(
                alias="cursor",
                description="`nextCursor` of the page before; none for the first page.",
                json_schema_extra={"pattern": _pattern(kind)},
            ),
        ] = None,
        limit: Limit = 50,
    ) -> Page:
        return Page(kind, limit, decode_id(kind, cursor))

    return Depends(page)


class Listed(ResponseBody, Generic[T]):
    """A page of a list, the newest first."""

    items: list[T]
    next_cursor: str | None
    """Send it as `cursor` for the next page; null: this was the last one."""

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        return f"{params[0].__name__.removesuffix('Body')}List"
