"""A request as endpoints see it: who asks, and a body that is bounded while it is read."""

import re
from collections.abc import Iterator
from typing import Final

import orjson
from starlette.requests import Request
from starlette.types import Receive, Scope

from riven.api.problems import ProblemError
from riven.api.state import AppState
from riven.core.errors import Problem
from riven.documents.places import Location, dotted
from riven.documents.scalars import NumberRangeError, check_number
from riven.tenancy.principals import Principal
from riven.wire.document import Json

BODY_LIMIT: Final = 1 << 20
DOCUMENT_LIMIT: Final = 4 << 20
"""For workflow documents, where they are written or validated."""

_MANY_DIGITS: Final = re.compile(rb"[0-9]{19}")
_SHOWN: Final = 100
# A text, a number with a fraction or an exponent, or an integer.
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+"|-?[0-9]++[.eE][0-9.eE+-]*+|(-?[0-9]++)', re.DOTALL)


class ApiRequest(Request):
    """`principal` is there in every endpoint but the public ones."""

    principal: Principal

    def __init__(self, scope: Scope, receive: Receive, state: AppState, body_limit: int) -> None:
        super().__init__(scope, receive)
        self.services = state
        self._body_limit = body_limit

    async def body(self) -> bytes:
        """Raises a 413 as soon as it is more than may come."""
        if not hasattr(self, "_body"):
            check_length(self.scope, self._body_limit)
            chunks: list[bytes] = []
            size = 0
            async for chunk in self.stream():
                size += len(chunk)
                if size > self._body_limit:
                    raise _too_large(self._body_limit)
                chunks.append(chunk)
            self._body = b"".join(chunks)
        return self._body

    async def json(self) -> Json:
        check_media_type(self.scope)
        return decode_json(await self.body())


def check_length(scope: Scope, limit: int) -> None:
    for name, value in scope["headers"]:
        if name == b"content-length" and value.isdigit() and int(value[:12]) > limit:
            raise _too_large(limit)


def check_media_type(scope: Scope) -> None:
    """A body that is declared as nothing is read as JSON too."""
    for name, value in scope["headers"]:
        if name == b"content-type":
            declared = value.partition(b";")[0].strip().lower().decode("latin-1")
            if declared and declared != "application/json" and not declared.endswith("+json"):
                said = f"the body is declared as {declared[:60]!r}; send JSON with Content-Type: application/json"
                raise ProblemError("unsupported_media_type", said)


def decode_json(body: bytes) -> Json:
    """A JSON value without what nobody can hold: NaN, Infinity, integers beyond 64 bits, half characters."""
    if not body.strip():
        raise ProblemError("malformed_json", "the body is empty; send a JSON object")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ProblemError("malformed_json", f"the body is no JSON: {error}") from error
    if _MANY_DIGITS.search(body):  # orjson makes inexact floats of integers that are too large
        _check_integers(body, value)
    return value


def _check_integers(body: bytes, value: Json) -> None:
    text = body.decode()
    beyond = [found[1] for found in _TOKEN.finditer(text) if found[1] is not None and _is_beyond(found[1])]
    if not beyond:
        return
    floats = {float(number) for number in beyond}
    said = "this integer is beyond 64 bits; write it as a text, in quotes"
    problems = [
        Problem(path=dotted(place), code="integer_range", message=said)
        for place, each in _numbers(value)
        if each in floats or _is_unsigned(each)
    ]
    raise ProblemError(
        "invalid_request", "the body holds integers beyond 64 bits", problems=problems[:_SHOWN]
    )


def _is_beyond(number: str) -> bool:
    if len(number) > 20:  # told by its length, since Python would refuse to read thousands of digits
        return True
    try:
        check_number(int(number))
    except NumberRangeError:
        return True
    return False


def _is_unsigned(number: int | float) -> bool:
    return isinstance(number, int) and _is_beyond(str(number))


def _numbers(value: Json) -> Iterator[tuple[Location, int | float]]:
    todo: list[tuple[Location, Json]] = [((), value)]
    while todo:
        place, each = todo.pop()
        if isinstance(each, dict):
            todo += [((*place, key), inner) for key, inner in reversed(each.items())]
        elif isinstance(each, list):
            todo += [((*place, index), each[index]) for index in reversed(range(len(each)))]
        elif isinstance(each, int | float) and not isinstance(each, bool):
            yield place, each


def _too_large(limit: int) -> ProblemError:
    return ProblemError("too_large", f"the body has more than {limit >> 20} MiB; send less")
