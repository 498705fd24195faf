"""The names that operators meet: events of the log and metrics, with what they mean. The reference is written from here.

A name is never changed: alerts and dashboards are made of them.
"""

from dataclasses import dataclass
from typing import Final, Literal


@dataclass(frozen=True, slots=True)
class Event:
    name: str
    level: Literal["INFO", "WARNING", "ERROR"]
    fields: tuple[str, ...]
    meaning: str


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    meaning: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


SECONDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)
SIZES: Final = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
FEW: Final = (1, 2, 3, 4, 5, 10, 20)

# ---- metrics that every process counts for itself --------------------------------------------------------------------

CLAIMS: Final = Metric("riven_claims_total", "counter", "Executions claimed from the queue.")
CLAIM_SECONDS: Final = Metric(
    "riven_claim_duration_seconds", "histogram", "Time of a look at the queue, found something or not.", buckets=SECONDS
)  # fmt: skip
ITEMS_PROCESSED: Final = Metric(
    "riven_items_processed_total",
    "counter",
    "Queue items that were claimed, by what became of them: `dispatched` (the engine has it), `retried` (the engine "
    "refused it; back in line), `postponed` (the engine was away, or the run had to wait for its turn; back in line), "
    "`failed` (a dead letter), `dropped` (there was nothing to start).",
    ("result",),
)
CAPACITY_REACHED: Final = Metric(
    "riven_capacity_reached_total",
    "counter",
    "Times a claim took the last slot of a workspace while more of it was due; logged as `workspace_at_capacity`.",
)
DISPATCH_FAILURES: Final = Metric(
    "riven_dispatch_failures_total",
    "counter",
    "Starts that failed: `refused` and `engine_away` by the engine, `uncertain` without an answer, `unclaimable` for items that cannot even be "
    "claimed, `execution_not_found`, `workspace_not_found`, "
    "`version_not_found` for rows that are gone, `error` for anything else.",
    ("reason",),
)
DISPATCH_ATTEMPTS: Final = Metric(
    "riven_dispatch_attempts",
    "histogram",
    "Starts that an item took until the engine had it, or until it became a dead letter.",
    buckets=FEW,
)
RUNS: Final = Metric("riven_runs", "gauge", "Runs that the process drives now.")
NODE_ATTEMPTS: Final = Metric(
    "riven_node_attempts_total", "counter", "Attempts of nodes that have ended, by type and status.",
    ("type", "status"),
)  # fmt: skip
NODE_SECONDS: Final = Metric(
    "riven_node_duration_seconds",
    "histogram",
    "Time of an attempt from its start to its end.",
    ("type",),
    SECONDS,
)
COMMIT_BATCH: Final = Metric(
    "riven_commit_batch_size", "histogram", "Writes of runs that shared one commit.", buckets=SIZES
)
COMMIT_SECONDS: Final = Metric(
    "riven_commit_duration_seconds", "histogram", "Time of one such commit.", buckets=SECONDS
)
RECOVERIES: Final = Metric(
    "riven_recoveries_total",
    "counter",
    "Items put back in line: `owner_dead`, `stale` (claimed too long ago), `forgotten` (held but not driven).",
    ("reason",),
)
REPAIRS: Final = Metric(
    "riven_repairs_total",
    "counter",
    "What the reconciler found and mended: `item_missing`, `execution_not_found`, `workspace_not_found`, "
    "`version_not_found`, `item_without_work`, `wrong_hint`; and runs that Temporal had no more, by how it had ended them: "
    "`workflow_terminated`, `workflow_canceled`, `workflow_completed`, `workflow_failed`, `workflow_timed_out`, "
    "`workflow_unknown`.",
    ("repair",),
)
PRUNED: Final = Metric(
    "riven_pruned_total", "counter",
    "Rows whose time was up: `idempotency_keys`, `dead_letters`, `executions`, `processes`, `outbox`, `locks`.",
    ("kind",),
)  # fmt: skip
HTTP_REQUESTS: Final = Metric(
    "riven_http_requests_total",
    "counter",
    "Requests that the API has answered.",
    ("method", "route", "status"),
)
HTTP_SECONDS: Final = Metric(
    "riven_http_request_duration_seconds",
    "histogram",
    "Time until the answer began.",
    ("method", "route"),
    SECONDS,
)

# ---- metrics that the API reads from the database --------------------------------------------------------------------

QUEUE_DEPTH: Final = Metric(
    "riven_queue_depth",
    "gauge",
    "Items that are due and wait to be claimed. The workspaces that wait longest and those with the longest lines have "
    'a value of their own (at most 100); all others share `workspace="other"`.',
    ("workspace",),
)
QUEUE_OLDEST: Final = Metric(
    "riven_queue_oldest_wait_seconds",
    "gauge",
    "How long the oldest of these items has been due. Labels as of `riven_queue_depth`.",
    ("workspace",),
)
QUEUE_ITEMS: Final = Metric(
    "riven_queue_items",
    "gauge",
    "Items in the queue: `due`, `scheduled` (a time is set), `parked` (somebody must wake it), `claimed`, "
    "`dispatched`, `failed` (dead letters).",
    ("status",),
)
WAITING_FOR_CAPACITY: Final = Metric(
    "riven_items_waiting_for_capacity", "gauge", "Due items of workspaces all of whose slots are taken."
)
RUNNING: Final = Metric("riven_executions_running", "gauge", "Executions that hold a slot.")
PROCESSES: Final = Metric("riven_processes", "gauge", "Processes seen within the last minute.", ("role",))

COUNTED: Final = (
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
READ: Final = (QUEUE_DEPTH, QUEUE_OLDEST, QUEUE_ITEMS, WAITING_FOR_CAPACITY, RUNNING, PROCESSES)

# ---- events of the log -----------------------------------------------------------------------------------------------

EVENTS: Final = (
    # the queue and its dispatchers
    Event("workspace_at_capacity", "INFO", ("workspaceId", "active", "limit"),
          "A claim took the workspace's last slot while more of it is due. What is left waits, without any attempt."),
    Event("dispatching", "INFO", ("queueId", "workflowDefinitionId"), "An item was claimed and is about to be started."),
    Event("dispatched", "INFO", ("executionId", "queueId"), "The engine has it."),
    Event("engine_start_failed", "ERROR", ("queueId", "error", "executionId"),
          "The engine refused the start, or is away; the item goes back in line."),
    Event("engine_away", "WARNING", ("error",),
          "The engine cannot be reached. Nothing is claimed until it can, and what waits says `engine_down`."),
    Event("engine_back", "INFO", (), "The engine can be reached again."),
    Event("engine_drift", "WARNING", ("executionId", "status", "done"),
          "A run was closed in Temporal without its end being recorded, or is unknown there: it was `ended` or `requeued`."),
    Event("control_undelivered", "WARNING", ("error",),
          "What was asked of runs could not be told to the engine; it is told again."),
    Event("queue_item_error", "ERROR", ("queueId", "error"), "An item could not be started. Others are not touched by it."),
    Event("queue_item_failed", "ERROR", ("queueId", "error"),
          "An item has become a dead letter: its attempts are used up, or what it names is gone."),
    Event("workspace_not_found", "WARNING", ("workspaceId", "queueId"), "The workspace of an item is gone: it fails."),
    Event("execution_not_found_for_retry", "WARNING", ("executionId", "queueId"),
          "The execution of an item is gone: it fails."),
    Event("version_not_found", "WARNING", ("executionId", "queueId"),
          "The version that an execution was accepted for is gone: it fails."),
    Event("queue_item_without_work", "WARNING", ("queueId", "executionId"),
          "An item of a finished execution was found in line, and removed."),
    Event("suspect_postponed", "INFO", ("executionId", "queueId"),
          "A run that may kill its worker waits until the suspect before it has had its turn."),
    Event("items_recovered", "WARNING", ("count", "reason"),
          "Items went back in line because their owner died, because they were claimed too long ago, or because their "
          "owner does not drive them."),
    Event("process_dead", "WARNING", ("processId", "role", "label"),
          "A process gave no sign of life for a lease: what it held goes back in line."),
    Event("process_judged_dead", "WARNING", ("processId",), "This process was frozen or cut off; it registers anew."),
    Event("dispatch_turn_failed", "WARNING", ("error",), "The database did not answer the dispatcher; it asks again."),
    Event("listener_lost", "WARNING", ("channels", "error"), "The connection that hears channels broke; it is made anew."),
    Event("wake_up_lost", "WARNING", ("error",), "A wake-up could not be sent, or not be heeded; it is tried again."),
    # runs
    Event("execution_started", "INFO", ("executionId", "workflow"), "A run begins."),
    Event("nodes_ready", "INFO", ("executionId", "count"), "So many nodes were given to be run."),
    Event("node_failed", "WARNING", ("executionId", "nodePath", "error"), "A node has failed, its attempts used up."),
    Event("execution_finished", "INFO", ("executionId", "status", "error"),
          "A run has ended. ERROR where riven itself is at fault (INTERNAL_ERROR)."),
    Event("run_lost", "INFO", ("executionId", "workflow"), "Somebody else drives the run now: this process drops it."),
    Event("run_handed_back", "ERROR", ("executionId", "workflow"),
          "The end of a run was refused three times: it is in line again, its nodes are not repeated."),
    Event("run_broke", "ERROR", ("executionId", "workflow", "error"), "A defect of riven ended a run."),
    Event("execute_broke", "ERROR", ("executionId", "nodePath"), "A defect of riven ended an attempt."),
    Event("lane_broke", "ERROR", (), "A defect of riven ended a lane in which nodes run."),
    Event("listener_broke", "ERROR", ("nodePath",), "Whoever watched a run in memory raised an error."),
    Event("node_raised", "INFO", ("executionId", "traceback"), "The code of a node raised an error: where it did."),
    Event("attempt_abandoned", "WARNING", ("executionId", "nodePath"),
          "An attempt was asked to end and did not: it is left alone, and its result dropped."),
    Event("control_unread", "WARNING", ("error",),
          "What was asked of runs could not be read; it is read again. ERROR, with executionId, for a defect of riven."),
    Event("watchers_unasked", "INFO", ("error",), "Who watches runs could not be asked; they look by themselves."),
    Event("change_untold", "INFO", ("error",), "Watchers of runs could not be told of a change; they look by themselves."),
    Event("events_unread", "INFO", ("error",), "The changes of a run could not be read for a stream of events; they are read again."),
    Event("watch_unannounced", "INFO", ("error",), "Workers could not be told that somebody watches a run; changes are seen later."),
    Event("control_unknown", "WARNING", ("executionId", "kind"), "Something was asked of a run that this version does not know."),
    Event("workflow_log", "INFO", ("executionId", "nodePath", "message", "data"), "A `log` node wrote it, with its own level."),
    # what is recorded
    Event("execution_missing_at_completion", "WARNING", ("executionId",),
          "The row of a run was deleted while it was driven: what it did is not recorded."),
    Event("queue_item_missing_at_completion", "WARNING", ("executionId",),
          "The item of a run was deleted while it was driven: the run has ended all the same."),
    Event("completion_failed", "ERROR", ("executionId", "error", "triesLeft"), "The end of a run was refused by the database."),
    Event("database_away", "WARNING", ("error",), "The database does not answer; it is asked again."),
    Event("flush_broke", "ERROR", (), "A defect of riven broke a commit."),
    # processes
    Event("process_started", "INFO", ("role", "version"), "The process is ready to work."),
    Event("process_stopping", "INFO", ("role",), "It was asked to end, and takes nothing new."),
    Event("runs_handed_back", "INFO", ("count",), "A worker has stopped; so many of its runs are in line again."),
    Event("process_stopped", "INFO", ("role",), "The process has ended in order."),
    Event("process_broke", "ERROR", ("error",), "A defect of riven ends the process."),
    Event("stop_incomplete", "WARNING", ("error",), "What it held could not be handed back; its lease runs out instead."),
    Event("schema_not_current", "ERROR", ("advice",), "The database lacks migrations; the process waits for them."),
    Event("functions_broken", "WARNING", ("package", "error"), "A package that registers functions cannot be loaded."),
    Event("api_listening", "INFO", ("url",), "The API takes requests."),
    # maintenance
    Event("maintenance_failed", "ERROR", ("duty", "error"), "A duty broke off; it is tried again at its next turn."),
    Event("repair_failed", "ERROR", ("executionId", "error"),
          "One of the things that maintenance was to mend or end could not be; it is tried again, others are not touched."),
    Event("worker_lost", "ERROR", ("executionId", "queueId"),
          "A run killed five workers without any progress: it has ended as FAILED."),
    Event("deadline_passed", "WARNING", ("executionId",), "The time of a run is up that nobody drove: it has ended as FAILED."),
    Event("item_restored", "WARNING", ("executionId", "status"), "An unfinished execution without a queue item has one again."),
    Event("hints_cleared", "WARNING", ("count",), "Workspaces had work that no claim would have looked for."),
    Event("rows_pruned", "INFO", ("kind", "count"), "Rows whose time was up are gone."),
    # the API
    Event("request_failed", "ERROR", ("errorId", "path"), "A request met a defect of riven; its answer, a 500, names the id."),
    Event("accept_broke", "ERROR", (), "A defect of riven broke starts that shared a statement; each was answered with 500."),
    Event("control_unannounced", "WARNING", ("error",),
          "What was asked of a run is written, but its worker could not be told; it looks by itself."),
    Event("identity_provider_away", "WARNING", ("error",), "The keys of the OIDC issuer could not be fetched."),
    Event("key_use_not_recorded", "INFO", ("keyId", "error"), "When a key was last used could not be written; it is tried again."),
    # libraries
    Event("log", "WARNING", ("logger", "message"), "A library says something."),
)  # fmt: skip
