"""Bodies about capacity."""

from pydantic import ConfigDict

from riven.api.fields import ResponseBody, Shown


class CapacityBody(ResponseBody):
    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "limit": 5,
                    "inUse": 5,
                    "waiting": 12,
                    "oldestWaitingSince": "2026-11-19T08:30:00.125Z",
                    "queuedLimit": 1_000_000,
                }
            ]
        }
    )

    limit: int
    """Executions that may run at once."""
    in_use: int
    """Executions that run."""
    waiting: int
    """Executions PENDING: in line, or scheduled for later."""
    oldest_waiting_since: Shown | None
    """When the oldest of those that wait was accepted."""
    queued_limit: int | None
    """So many may wait; null: no limit."""
