"""Repairs of one round, each for itself: what is wrong with one row stands in the way of no other."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from riven.db.errors import DatabaseUnavailableError

_log = logging.getLogger("riven.maintenance")


@contextmanager
def apart(**about: str) -> Iterator[None]:
    """What fails inside is told, with these fields, and is tried again in the next round. An outage ends the round."""
    try:
        yield
    except DatabaseUnavailableError:
        raise
    except Exception as error:  # noqa: BLE001 - a row that cannot be read, a statement that is refused, a defect
        _log.exception("repair_failed", extra={**about, "error": str(error)})
