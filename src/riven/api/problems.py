"""Errors as RFC 9457 problems: what was refused, why, and what to do. Never a stack trace."""

import logging
from collections.abc import Iterable, Mapping
from typing import Final
from uuid import uuid4

import orjson
from starlette.exceptions import HTTPException
from starlette.responses import Response

from riven.api.problem_kinds import PROBLEM_KINDS, ProblemKind
from riven.core.errors import InvalidDocumentError, Problem, RivenError
from riven.db.errors import ConflictError, ConstraintError, DatabaseUnavailableError
from riven.tenancy.errors import (
    AwayError,
    ChangedError,
    ForbiddenError,
    InvalidRequestError,
    LimitError,
    NotFoundError,
    RefusedError,
    UnauthenticatedError,
    WrongStateError,
)

MEDIA_TYPE: Final = "application/problem+json"
CODES: Final[Mapping[type[RivenError], str]] = {
    UnauthenticatedError: "unauthenticated",
    ForbiddenError: "forbidden",
    NotFoundError: "not_found",
    WrongStateError: "conflict",
    ChangedError: "changed",
    InvalidRequestError: "invalid_request",
    LimitError: "limit_reached",
    AwayError: "unavailable",
    InvalidDocumentError: "invalid_request",
    ConstraintError: "conflict",
    ConflictError: "unavailable",
    DatabaseUnavailableError: "unavailable",
}
"""The kind of a class that has no code of its own; what is none of these is a mistake of ours."""

_HTTP: Final = {404: "not_found", 405: "method_not_allowed", 413: "too_large", 415: "unsupported_media_type"}
_RETRY_AFTER: Final = 1.0

_log = logging.getLogger("riven.api")


class ProblemError(RefusedError):
    """A refusal that is about HTTP itself, raised in `api` alone."""

    def __init__(
        self, kind: str, message: str, *, problems: Iterable[Problem] = (), retry_after: float | None = None
    ) -> None:
        self.kind = PROBLEM_KINDS[kind]
        super().__init__(message, problems=tuple(problems), retry_after=retry_after)


def problem_response(error: Exception, instance: str) -> Response:
    """The answer to a request that ended by this error. What we did not expect is logged under an id."""
    match error:
        case ProblemError():
            return _response(error.kind, error.message, instance, error.problems, error.retry_after)
        case RefusedError():
            kind = PROBLEM_KINDS.get(error.code) or _kind_of(error)
            return _response(kind, error.message, instance, error.problems, error.retry_after)
        case InvalidDocumentError():
            return _response(_kind_of(error), str(error), instance, error.problems)
        case DatabaseUnavailableError() | ConflictError():
            said = "the database cannot be reached right now; nothing was lost that was accepted, try again"
            return _response(_kind_of(error), said, instance, retry_after=_RETRY_AFTER)
        case ConstraintError():
            said = f"the rows were refused by {error.constraint or 'a constraint'}; nothing was stored"
            return _response(_kind_of(error), said, instance)
        case HTTPException():
            return _http(error, instance)
        case _:
            number = str(uuid4())
            _log.error("request_failed", exc_info=error, extra={"errorId": number, "path": instance})
            said = f"riven made a mistake, which its log tells of under {number}; tell the operator that id"
            return _response(PROBLEM_KINDS["internal_error"], said, instance)


def _kind_of(error: RivenError) -> ProblemKind:
    return PROBLEM_KINDS[next(CODES[each] for each in type(error).__mro__ if each in CODES)]


def _http(error: HTTPException, instance: str) -> Response:
    """What the router says."""
    kind = PROBLEM_KINDS[_HTTP.get(error.status_code, "bad_request")]
    said = {
        "not_found": f"there is nothing at {instance}; /docs lists what there is",
        "method_not_allowed": "this address has other methods; the header Allow lists them",
    }.get(kind.code, str(error.detail))
    response = _response(kind, said, instance)
    response.headers.update(error.headers or {})
    return response


def _response(
    kind: ProblemKind,
    detail: str,
    instance: str,
    problems: Iterable[Problem] = (),
    retry_after: float | None = None,
) -> Response:
    body = {
        "type": f"/problems/{kind.code}",
        "title": kind.title,
        "status": kind.status,
        "detail": detail,
        "instance": instance,
        "errors": [_error(each) for each in problems],
    }
    headers: dict[str, str] = {}
    if kind.status in (429, 503):
        headers["Retry-After"] = str(max(1, round(retry_after or _RETRY_AFTER)))
    if kind.status == 401:
        headers["WWW-Authenticate"] = 'Bearer realm="riven"'
    return Response(orjson.dumps(body), kind.status, headers, MEDIA_TYPE)


def _error(problem: Problem) -> dict[str, object]:
    """Places in a text are told where there is a text."""
    found: dict[str, object] = {"path": problem.path, "code": problem.code, "message": problem.message}
    if problem.line is not None:
        found |= {"line": problem.line, "column": problem.column, "severity": problem.severity}
    return found
