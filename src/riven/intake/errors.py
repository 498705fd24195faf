"""What is refused to those who start something; `tenancy.errors` says whose move each kind is."""

from riven.tenancy.errors import AwayError, InvalidRequestError, LimitError, NotFoundError, WrongStateError


class InvalidInputError(InvalidRequestError):
    """The input does not fit the schema of the workflow."""

    code = "invalid_input"


class KeyReusedError(InvalidRequestError):
    """The Idempotency-Key came with another request before."""

    code = "idempotency_key_reused"


class KeyBusyError(AwayError):
    """Somebody is writing the same key in a transaction that lasts."""

    code = "idempotency_key_busy"


class QueuedLimitError(LimitError):
    """The workspace has as many executions in line as it may have."""

    code = "queued_limit"


class RefusedRowError(WrongStateError):
    """The database refused the rows: what they name has just gone, or our own checks miss something."""

    code = "refused_by_constraint"


class ApprovalNotFoundError(NotFoundError):
    """No approval waits at this path."""

    code = "approval_not_found"
