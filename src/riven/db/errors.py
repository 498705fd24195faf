"""What PostgreSQL may say, translated once: nobody outside `db` sees a driver's exception.

DatabaseError
├── DatabaseUnavailableError   nobody there, shutting down, or the connection broke: try again, nothing is known
│   └── TooSlowError           the statement took too long and was broken off: somebody holds a row of it, most likely
├── ConstraintError            a CHECK, UNIQUE or FOREIGN KEY refused the rows; `constraint` names it
├── ConflictError              a deadlock or a lock that was waited for too long: try again
└── StatementError             anything else: ours, or a value that PostgreSQL cannot hold
"""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from riven.core.errors import RivenError


class DatabaseError(RivenError):
    pass


class DatabaseUnavailableError(DatabaseError):
    pass


class TooSlowError(DatabaseUnavailableError):
    pass


class ConstraintError(DatabaseError):
    def __init__(self, message: str, constraint: str) -> None:
        self.constraint = constraint
        super().__init__(message)


class ConflictError(DatabaseError):
    pass


class StatementError(DatabaseError):
    pass


_AWAY = (
    OSError,  # TimeoutError among them
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.IdleInTransactionSessionTimeoutError,
)
_CONFLICTS = (asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError, asyncpg.SerializationError)


@contextmanager
def translated() -> Iterator[None]:
    try:
        yield
    except asyncpg.IntegrityConstraintViolationError as error:
        raise ConstraintError(str(error), error.constraint_name or "") from error
    except asyncpg.InterfaceError as error:
        if isinstance(error, ValueError):  # asyncpg refuses a value that cannot be one of its column's
            raise StatementError(str(error)) from error
        raise DatabaseUnavailableError(str(error) or type(error).__name__) from error
    except asyncpg.InternalClientError as error:
        # The server has said that it ends this connection, and has not ended it yet: nothing was sent on it.
        said_goodbye = str(error).startswith("cannot switch to state")
        kind = DatabaseUnavailableError if said_goodbye else StatementError
        raise kind(str(error)) from error
    except _CONFLICTS as error:
        raise ConflictError(str(error)) from error
    except asyncpg.QueryCanceledError as error:
        raise TooSlowError(str(error)) from error
    except _AWAY as error:
        raise DatabaseUnavailableError(str(error) or type(error).__name__) from error
    except asyncpg.PostgresError as error:
        raise StatementError(str(error)) from error
