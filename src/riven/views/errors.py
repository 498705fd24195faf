"""What is asked for and is not there; `tenancy.errors` says whose move each kind is."""

from riven.tenancy.errors import NotFoundError


class ExecutionNotFoundError(NotFoundError):
    code = "execution_not_found"


class QueueItemNotFoundError(NotFoundError):
    """It never was, or its run is over."""

    code = "queue_item_not_found"
