import importlib
import importlib.util
import pkgutil

import pytest
from starlette.exceptions import HTTPException

from riven.api.problem_kinds import PROBLEM_KINDS
from riven.api.problems import CODES, ProblemError, problem_response
from riven.core.errors import InvalidDocumentError, Problem, RivenError
from riven.db.errors import ConflictError, ConstraintError, DatabaseUnavailableError, StatementError
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

STATUSES = {
    UnauthenticatedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    WrongStateError: 409,
    ChangedError: 412,
    InvalidRequestError: 422,
    LimitError: 429,
    AwayError: 503,
}


def refusals(root: type[RefusedError] = RefusedError) -> list[type[RefusedError]]:
    return [root, *(inner for each in root.__subclasses__() for inner in refusals(each))]


def every_module_is_loaded() -> None:
    for package in ("tenancy", "catalog", "intake", "views", "queue", "api"):
        if importlib.util.find_spec(f"riven.{package}") is None:
            continue
        found = importlib.import_module(f"riven.{package}")
        for module in pkgutil.walk_packages(found.__path__, f"riven.{package}."):
            importlib.import_module(module.name)


def test_every_refusal_has_a_documented_code_with_the_status_of_its_class() -> None:
    every_module_is_loaded()
    found = [each for each in refusals() if each not in (RefusedError, ProblemError)]
    assert len(found) > len(STATUSES)
    for each in found:
        if each.__module__.startswith("tests."):
            continue
        status = next(STATUSES[base] for base in each.__mro__ if base in STATUSES)
        assert each.code in PROBLEM_KINDS, (
            f"{each.__module__}.{each.__name__} has the unknown code {each.code}"
        )
        assert PROBLEM_KINDS[each.code].status == status, each


def test_kinds_are_written_out() -> None:
    for kind in PROBLEM_KINDS.values():
        assert kind.title[0].isupper()
        assert not kind.title.endswith(".")
        assert kind.meaning.endswith(".")
        assert kind.advice.endswith(".")
    assert all(code in PROBLEM_KINDS for code in CODES.values())


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        *((each("why"), status, each.code) for each, status in STATUSES.items()),
        (DatabaseUnavailableError("x"), 503, "unavailable"),
        (ConflictError("deadlock"), 503, "unavailable"),
        (ConstraintError("x", "workspaces_tier_fkey"), 409, "conflict"),
        (InvalidDocumentError([Problem(path="nodes.a", code="cycle", message="m")]), 422, "invalid_request"),
        (StatementError("syntax"), 500, "internal_error"),
        (RivenError("?"), 500, "internal_error"),
        (RuntimeError("?"), 500, "internal_error"),
        (HTTPException(404), 404, "not_found"),
        (HTTPException(405, headers={"Allow": "GET"}), 405, "method_not_allowed"),
        (HTTPException(413), 413, "too_large"),
        (HTTPException(418), 400, "bad_request"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else str(value),
)
def test_every_error_becomes_a_problem(error: Exception, status: int, kind: str) -> None:
    answer = problem_response(error, "/api/v1/x")
    assert answer.status_code == status
    assert answer.media_type == "application/problem+json"
    assert f"/problems/{kind}".encode() in bytes(answer.body)
    assert (status in (429, 503)) == ("retry-after" in answer.headers)
    assert (status == 401) == ("www-authenticate" in answer.headers)


def test_a_refusal_tells_what_to_do_where_and_when() -> None:
    error = LimitError(
        "wait",
        problems=[
            Problem(path="a.b", code="c", message="m"),
            Problem(path="d", code="e", message="f", line=3, column=4),
        ],
        retry_after=12.4,
    )
    answer = problem_response(error, "/api/v1/x")
    assert answer.headers["retry-after"] == "12"
    body = bytes(answer.body).decode()
    assert '"detail":"wait"' in body
    assert '"instance":"/api/v1/x"' in body
    assert '{"path":"a.b","code":"c","message":"m"}' in body
    assert '{"path":"d","code":"e","message":"f","line":3,"column":4,"severity":"error"}' in body


def test_waiting_is_never_told_as_no_time_at_all() -> None:
    assert problem_response(LimitError("x", retry_after=0.01), "/").headers["retry-after"] == "1"


def test_a_mistake_of_ours_tells_nothing_of_itself(caplog: pytest.LogCaptureFixture) -> None:
    answer = problem_response(RuntimeError("password=hunter2"), "/")
    assert b"hunter2" not in bytes(answer.body)
    assert "request_failed" in caplog.messages
