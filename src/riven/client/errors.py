"""What a server says no with, and a server that says nothing.

ClientError
├── ServerAwayError   nobody answered, or the answer broke off: nothing is known
└── RefusedError      the server's problem (RFC 9457), with every error in it
"""

from collections.abc import Sequence
from dataclasses import dataclass

from riven.core.errors import RivenError


@dataclass(frozen=True, slots=True)
class FieldError:
    path: str
    code: str
    message: str


class ClientError(RivenError):
    pass


class ServerAwayError(ClientError):
    pass


class RefusedError(ClientError):
    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        *,
        type: str = "about:blank",
        errors: Sequence[FieldError] = (),
        retry_after: float | None = None,
    ) -> None:
        self.status = status
        self.title = title
        self.detail = detail
        self.type = type
        self.errors = tuple(errors)
        self.retry_after = retry_after
        """Seconds after which the server would rather be asked again."""
        super().__init__(f"{status} {title}: {detail}" if detail else f"{status} {title}")
