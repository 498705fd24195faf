"""What is refused to a caller, by whose move it is; every stage above raises these, `api` gives them a status.

RefusedError
├── UnauthenticatedError   401  show a credential that is known
├── ForbiddenError         403  ask with a higher role, or for something of your own
├── NotFoundError          404  it does not exist
├── WrongStateError        409  not in the state that it is in now
├── ChangedError           412  it is not what the caller thinks it is
├── InvalidRequestError    422  the request is wrong; `problems` say where
├── LimitError             429  later, or with a higher limit
└── AwayError              503  somebody whom we need is away

Each class has a `code`, stable and documented (docs/reference/http-problems.md); subclasses give their own.
"""

from collections.abc import Sequence
from typing import ClassVar

from riven.core.errors import Problem, RivenError


class RefusedError(RivenError):
    """`message` says what to do; `problems` where, as far as it is about fields."""

    code: ClassVar[str] = "refused"

    def __init__(
        self, message: str, *, problems: Sequence[Problem] = (), retry_after: float | None = None
    ) -> None:
        self.message = message
        self.problems = tuple(problems)
        self.retry_after = retry_after
        """Seconds after which it makes sense to ask again."""
        super().__init__(message)


class UnauthenticatedError(RefusedError):
    code = "unauthenticated"


class ForbiddenError(RefusedError):
    code = "forbidden"


class ForeignWorkspaceError(ForbiddenError):
    """The principal is nobody in that workspace, if there is such a workspace at all."""

    code = "foreign_workspace"


class NotFoundError(RefusedError):
    code = "not_found"


class WorkspaceNotFoundError(NotFoundError):
    code = "workspace_not_found"


class WrongStateError(RefusedError):
    code = "conflict"


class ChangedError(RefusedError):
    code = "changed"


class InvalidRequestError(RefusedError):
    code = "invalid_request"


class LimitError(RefusedError):
    code = "limit_reached"


class AwayError(RefusedError):
    code = "unavailable"


def field_error(path: str, code: str, message: str) -> InvalidRequestError:
    """The refusal of one field."""
    return InvalidRequestError(message, problems=[Problem(path=path, code=code, message=message)])
