"""The references of metrics and of log events, made from the names that the code uses."""

from riven.telemetry.names import COUNTED, EVENTS, READ, Metric

METRICS = """\
# Metrics

`GET /metrics` of the API (no key needed) answers in the text format of Prometheus, for the whole installation: workers
and maintenance have no port of their own; each reports what it has counted to its row of `processes` every two seconds,
and the API shows it under the label `process`. A process that ends takes its series with it, and one that is started
anew counts from zero, as counters do. What the API reads from rows has no such label. Of requests every replica of the
API tells its own, all else is the same from each: scrape all of them, and aggregate by `max without (instance)`.
"""

LOGS = """\
# Log events

Every process writes one line for each event to its standard error output, as JSON or as text
([`RIVEN_LOG_FORMAT`](settings.md#what-processes-tell)). `at`, `level`, `event` and `process` are in every line, the
fields below beside them; ids are those of the HTTP API. A defect of riven brings its traceback in `exception`. Names are
never changed: alerts may be made of them. Texts longer than 8,000 characters are cut.

```text
{"at":"2026-11-19T08:30:00.125Z","level":"INFO","event":"dispatched","process":"worker","executionId":"…","queueId":"…"}
2026-11-19T08:30:00.125Z INFO dispatched process=worker executionId=… queueId=…
```

What nodes of the type `log` write is the field `message` of the event `workflow_log`, and what libraries say that of
`log`: nobody who writes workflows can make a line look like another event.
"""


def metrics_page() -> str:
    return "\n".join(
        [
            METRICS,
            "## Counted by processes\n",
            *_metrics_table(COUNTED),
            "",
            "## Read from the database\n",
            *_metrics_table(READ),
            "",
            "## Buckets\n",
            "Of histograms, the upper bounds:\n",
            *[
                f"- `{metric.name}`: {', '.join(f'{bound:g}' for bound in metric.buckets)}"
                for metric in COUNTED
                if metric.buckets
            ],
            "",
        ]
    )


def _metrics_table(metrics: tuple[Metric, ...]) -> list[str]:
    rows = [
        f"| `{each.name}` | {each.kind} | {', '.join(f'`{label}`' for label in each.labels) or '-'} | {each.meaning} |"
        for each in metrics
    ]
    return ["| name | type | labels | meaning |", "|---|---|---|---|", *rows]


def log_events_page() -> str:
    rows = [
        f"| `{each.name}` | {each.level} | {', '.join(f'`{field}`' for field in each.fields) or '-'} | {each.meaning} |"
        for each in EVENTS
    ]
    return "\n".join([LOGS, "| event | level | fields | meaning |", "|---|---|---|---|", *rows, ""])
