"""Repairs of one round, each for itself: what is wrong with one row stands in the way of no other."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from riven.db.errors import DatabaseUnavailableError, TooSlowError

_log = logging.getLogger("riven.maintenance")


@contextmanager
def apart(**about: str) -> Iterator[None]:
    """What fails inside is told, with these fields, and is tried again in the next round. An outage ends the round."""
    try:
        yield
    except Exception as error:  # a row that cannot be read or had, a statement that is refused, a defect
        if isinstance(error, DatabaseUnavailableError) and not isinstance(error, TooSlowError):
            raise
        _log.exception("repair_failed", extra={**about, "error": str(error)})
