"""When a failed attempt is tried again. Durations and times in milliseconds; the dice are thrown outside."""

from dataclasses import fields, replace

from riven.core.graph import RetryOverride, RetryPolicy


def effective_policy(defaults: RetryPolicy, override: RetryOverride | None) -> RetryPolicy:
    """What the node says, and where it says nothing, what the execution was started with."""
    if override is None:
        return defaults

    own = {field.name: getattr(override, field.name) for field in fields(override)}
    return replace(defaults, **{name: value for name, value in own.items() if value is not None})


def delay_before(
    policy: RetryPolicy, attempt: int, *, jitter: float = 0.0, retry_after: int | None = None
) -> int:
    """How long to wait after attempt number `attempt` failed.

    `jitter` is a draw from -1 to 1. What the other side asked for is honoured where it is longer than our own delay,
    also beyond the longest interval: asking sooner would only be refused again.
    """
    try:
        delay = min(policy.initial_interval * policy.multiplier ** (attempt - 1), policy.max_interval)
    except OverflowError:
        delay = policy.max_interval
    delay *= 1 + policy.jitter * jitter
    return max(0, round(delay), retry_after or 0)


def next_attempt_at(
    policy: RetryPolicy,
    *,
    attempt: int,
    first_started: int,
    failed_at: int,
    jitter: float = 0.0,
    retry_after: int | None = None,
) -> int | None:
    """When the next attempt starts; None when there is none left, by number or by `max_duration`."""
    if attempt >= policy.max_attempts:
        return None
    due = failed_at + delay_before(policy, attempt, jitter=jitter, retry_after=retry_after)
    if policy.max_duration is not None and due - first_started >= policy.max_duration:
        return None
    return due
