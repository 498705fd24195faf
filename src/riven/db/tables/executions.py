"""Runs: executions, their journal (attempts and control events), large outputs, keys of repeated requests."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSON, JSONB

from riven.db.tables.metadata import TIME, metadata, now_column, one_of, own_id
from riven.db.tables.tenancy import workspaces

UNFINISHED = ("PENDING", "RUNNING", "WAITING", "PAUSED")
FINISHED = ("COMPLETED", "FAILED", "CANCELED")
PHASES = ("INITIALIZING", "EXECUTING_NODES", *FINISHED)
NODE_STATUSES = ("PENDING", "RUNNING", "RETRYING", "WAITING", "COMPLETED", "FAILED", "SKIPPED", "CANCELED")

workflow_executions = Table(
    "workflow_executions",
    metadata,
    own_id(),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    # No foreign keys to what is run: an execution outlives its definition, and a version row that is gone fails the
    # execution with a reason instead of the statement.
    Column("workflow_definition_id", Uuid, nullable=False),
    Column("workflow_definition_version_id", Uuid, nullable=False),
    Column("workflow_name", Text, nullable=False),
    Column("version", Integer, nullable=False),
    Column("status", Text, nullable=False, server_default=text("'PENDING'")),
    Column("phase", Text, nullable=False, server_default=text("'INITIALIZING'")),
    Column("run", Integer, nullable=False, server_default=text("1")),
    Column("token", BigInteger, nullable=False, server_default=text("0")),
    Column("owner_id", Uuid),
    Column("priority", SmallInteger, nullable=False, server_default=text("0")),
    Column("labels", JSONB, nullable=False, server_default=text("'{}'")),
    Column("correlation_id", Text),
    Column("scheduled_for", TIME),
    Column("input", JSON, nullable=False, server_default=text("'{}'")),
    Column("output", JSON),
    Column("output_blob_id", Uuid),
    Column("error_type", Text),
    Column("error_node", Text),
    Column("error_message", Text),
    Column("trigger", JSON),
    Column("rerun_of", Uuid),
    Column("rerun_from", Text),
    Column("principal", Text, nullable=False),
    Column("retry_defaults", JSON),
    Column("rules_version", Integer),
    now_column("created_at"),
    Column("started_at", TIME),
    Column("finished_at", TIME),
    Column("deadline_at", TIME),
    Column("duration_ms", BigInteger),
    # Why the run waits while nobody's queue says so, written when it parks: approval, signal, timer, retry.
    Column("waiting_kind", Text),
    Column("waiting_since", TIME),
    Column("waiting_until", TIME),
    # Of the latest admission that took the slot: when, and under which limit. By these it can be checked afterwards that
    # nobody was ever admitted above the limit in force.
    Column("admitted_at", TIME),
    Column("admitted_limit", Integer),
    # Of the current run: its first admission, from which its timeout counts; and where its part of the journal begins.
    # What stands at or before that place is of earlier runs: what completed there is kept, see engines.embedded.kept.
    Column("run_started_at", TIME),
    Column("base_seq", BigInteger, nullable=False, server_default=text("0")),
    # Grows with every change that people can see, of the execution and of its nodes: the ids of its events.
    Column("revision", BigInteger, nullable=False, server_default=text("0")),
    Column("recoveries", Integer, nullable=False, server_default=text("0")),
    Column("suspect", Boolean, nullable=False, server_default=text("false")),
    one_of("status", (*UNFINISHED, *FINISHED)),
    one_of("phase", PHASES),
    CheckConstraint("(status IN ('COMPLETED', 'FAILED', 'CANCELED')) = (finished_at IS NOT NULL)", name="finished"),
    CheckConstraint("priority BETWEEN -100 AND 100", name="priority"),
    Index("workflow_executions_list_idx", "workspace_id", text("id DESC")),
    Index("workflow_executions_running_idx", "workspace_id", postgresql_where=text("status = 'RUNNING'")),
    Index("workflow_executions_pending_idx", "workspace_id", "id", postgresql_where=text("status = 'PENDING'")),
    Index("workflow_executions_parked_idx", "id", postgresql_where=text("status IN ('WAITING', 'PAUSED')")),
    # The statuses that few have, for lists of them; COMPLETED is found by the list, RUNNING and PENDING by their own.
    Index("workflow_executions_status_idx", "workspace_id", "status", text("id DESC"),
          postgresql_where=text("status IN ('WAITING', 'PAUSED', 'FAILED', 'CANCELED')")),
    Index("workflow_executions_owner_idx", "owner_id", postgresql_where=text("owner_id IS NOT NULL")),
    Index("workflow_executions_correlation_idx", "workspace_id", "correlation_id",
          postgresql_where=text("correlation_id IS NOT NULL")),
    Index("workflow_executions_labels_idx", "labels", postgresql_using="gin",
          postgresql_ops={"labels": "jsonb_path_ops"}, postgresql_where=text("labels <> '{}'")),
    Index("workflow_executions_deadline_idx", "deadline_at",
          postgresql_where=text("deadline_at IS NOT NULL AND finished_at IS NULL")),
    Index("workflow_executions_finished_idx", "finished_at", postgresql_where=text("finished_at IS NOT NULL")),
    postgresql_with={"fillfactor": "80"},
)  # fmt: skip

# Neither of the next two has a foreign key: a flush writes them only for executions that it has locked, and a check for
# every row would cost as much as the row. `completion.history` deletes them with their execution.
workflow_execution_nodes = Table(
    "workflow_execution_nodes",
    metadata,
    Column("execution_id", Uuid, nullable=False),
    Column("path", Text, nullable=False),
    # 0: the node was settled without having started, in this run.
    Column("attempt", Integer, nullable=False),
    Column("run", Integer, nullable=False),
    # Where the node stands in document order: see wire.places.
    Column("place", Text(collation="C"), nullable=False, server_default=text("''")),
    Column("revision", BigInteger, nullable=False, server_default=text("0")),
    Column("type", Text, nullable=False),
    # Of the attempt. The node's own is that of the last attempt of its last run, but RETRYING while `next_retry_at` says
    # when, and what `settled` says if the node ended between two attempts.
    Column("status", Text, nullable=False),
    Column("settled", Text),
    Column("outcome", Text),
    Column("input", JSON),
    Column("output", JSON),
    Column("output_blob_id", Uuid),
    Column("error_type", Text),
    Column("error_message", Text),
    Column("skip_reason", Text),
    Column("next_retry_at", TIME),
    Column("due_at", TIME),
    Column("started_at", TIME),
    Column("finished_at", TIME),
    # Places in the journal of its answers, and the answers as the coordinator heard them: null until they are there.
    # `expanded` is that of the first step of a container or a wait, with what it left.
    Column("expanded_seq", BigInteger),
    Column("expanded", JSON),
    Column("seq", BigInteger),
    Column("answer", JSON),
    one_of("status", NODE_STATUSES),
    PrimaryKeyConstraint("execution_id", "path", "attempt"),
)

workflow_execution_scopes = Table(
    "workflow_execution_scopes",
    metadata,
    Column("execution_id", Uuid, nullable=False),
    # `each[3]`, `poll[2]`: what an item or an iteration left, and whether the next iteration follows.
    Column("path", Text, nullable=False),
    Column("run", Integer, nullable=False),
    Column("seq", BigInteger),
    Column("answer", JSON),
    Column("output", JSON),
    Column("output_blob_id", Uuid),
    # Why its output could not be built: a for_each that collects shows it.
    Column("error", JSON),
    Column("checked_seq", BigInteger),
    Column("checked", JSON),
    PrimaryKeyConstraint("execution_id", "path"),
)

signals = Table(
    "signals",
    metadata,
    own_id(),
    Column("execution_id", Uuid, ForeignKey(workflow_executions.c.id, ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False),
    # The signal's name, or the timer's id.
    Column("name", Text),
    # The approval's node; of a signal, the node that took it.
    Column("path", Text),
    Column("payload", JSON),
    Column("run", Integer, nullable=False),
    # Place in the journal; null: nobody has read it yet. Void: nobody will, for whoever wrote it acted on it at once, or
    # the run ended before it was read.
    Column("seq", BigInteger),
    Column("void", Boolean, nullable=False, server_default=text("false")),
    Column("principal", Text),
    now_column("created_at"),
    one_of("kind", ("SIGNAL", "APPROVAL", "CANCEL", "PAUSE", "RESUME", "TIMER", "DEADLINE")),
    Index(None, "execution_id", "id"),
    Index("signals_unread_idx", "execution_id", "id", postgresql_where=text("seq IS NULL AND NOT void")),
    Index("signals_read_key", "execution_id", "seq", unique=True, postgresql_where=text("seq IS NOT NULL")),
    Index("signals_decided_key", "execution_id", "path", "run", unique=True,
          postgresql_where=text("kind = 'APPROVAL' AND NOT void")),
)  # fmt: skip

blobs = Table(
    "blobs",
    metadata,
    own_id(),
    Column("execution_id", Uuid, ForeignKey(workflow_executions.c.id, ondelete="CASCADE"), nullable=False),
    Column("data", LargeBinary, nullable=False),
    Index(None, "execution_id"),
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    Column("key", Text, nullable=False),
    Column("request_hash", LargeBinary, nullable=False),
    Column("response", JSON, nullable=False),
    now_column("created_at"),
    PrimaryKeyConstraint("workspace_id", "key"),
    Index(None, "created_at"),
)
