"""What the first admission of an execution decides for all later ones, on every engine."""

from typing import Any

from riven.core.graph import RetryPolicy

RULES_VERSION = 1
"""Of the decisions that the coordinator makes: stored with every execution."""


def freeze(started_at: int, retry: RetryPolicy) -> dict[str, Any]:
    policy = {
        "max_attempts": retry.max_attempts,
        "initial_interval": retry.initial_interval,
        "multiplier": retry.multiplier,
        "max_interval": retry.max_interval,
        "jitter": retry.jitter,
        "max_duration": retry.max_duration,
    }
    return {"startedAt": started_at, "retry": policy, "rulesVersion": RULES_VERSION}
