"""What nodes inherit that say nothing themselves."""

from riven.core.graph import RetryPolicy
from riven.settings import Settings


def retry_policy(settings: Settings) -> RetryPolicy:
    return RetryPolicy(
        max_attempts=settings.retry_max_attempts,
        initial_interval=round(settings.retry_initial_interval * 1_000),
        multiplier=settings.retry_multiplier,
        max_interval=round(settings.retry_max_interval * 1_000),
    )
