"""What this process counts and measures. One set for a process; who they are for stands in `names`."""

from typing import Any, Final

from riven.telemetry import names
from riven.telemetry.instruments import Counter, Gauge, Histogram, snapshot

CLAIMS: Final = Counter(names.CLAIMS)
CLAIM_SECONDS: Final = Histogram(names.CLAIM_SECONDS)
ITEMS_PROCESSED: Final = Counter(names.ITEMS_PROCESSED)
CAPACITY_REACHED: Final = Counter(names.CAPACITY_REACHED)
DISPATCH_FAILURES: Final = Counter(names.DISPATCH_FAILURES)
DISPATCH_ATTEMPTS: Final = Histogram(names.DISPATCH_ATTEMPTS)
RUNS: Final = Gauge(names.RUNS)
NODE_ATTEMPTS: Final = Counter(names.NODE_ATTEMPTS)
NODE_SECONDS: Final = Histogram(names.NODE_SECONDS)
COMMIT_BATCH: Final = Histogram(names.COMMIT_BATCH)
COMMIT_SECONDS: Final = Histogram(names.COMMIT_SECONDS)
RECOVERIES: Final = Counter(names.RECOVERIES)
REPAIRS: Final = Counter(names.REPAIRS)
PRUNED: Final = Counter(names.PRUNED)
HTTP_REQUESTS: Final = Counter(names.HTTP_REQUESTS)
HTTP_SECONDS: Final = Histogram(names.HTTP_SECONDS)

INSTRUMENTS: Final = (
    CLAIMS,
    CLAIM_SECONDS,
    ITEMS_PROCESSED,
    CAPACITY_REACHED,
    DISPATCH_FAILURES,
    DISPATCH_ATTEMPTS,
    RUNS,
    NODE_ATTEMPTS,
    NODE_SECONDS,
    COMMIT_BATCH,
    COMMIT_SECONDS,
    RECOVERIES,
    REPAIRS,
    PRUNED,
    HTTP_REQUESTS,
    HTTP_SECONDS,
)


def counted() -> dict[str, Any]:
    """Everything so far, as JSON."""
    return snapshot(INSTRUMENTS)
