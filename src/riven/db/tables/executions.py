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

from riven.db.statuses import FINISHED, UNFINISHED
from riven.db.tables.metadata import TIME, metadata, now_column, one_of, own_id
from riven.db.tables.tenancy import workspaces

PHASES = ("INITIALIZING", "EXECUTING_NODES", *FINISHED)
NODE_STATUSES = ("PENDING", "RUNNING", "RETRYING", "WAITING", "COMPLETED", "FAILED", "SKIPPED", "CANCELED")

workflow_executions = Table(
    "workflow_executions",
    metadata,
    own_id(),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    Column(
        "workflow_definition_id",
        Uuid,
        nullable=False,
        doc="No foreign key: an execution outlives its definition.",
    ),
    Column(
        "workflow_definition_version_id",
        Uuid,
        nullable=False,
        doc="No foreign key: a version that is gone fails the execution with a reason instead of the statement.",
    ),
    Column("workflow_name", Text, nullable=False, doc="As it was when it was started."),
    Column("version", Integer, nullable=False, doc="The number of the version."),
    Column("status", Text, nullable=False, server_default=text("'PENDING'"), doc="As the API shows it."),
    Column(
        "phase",
        Text,
        nullable=False,
        server_default=text("'INITIALIZING'"),
        doc="Of the coordinator's state machine.",
    ),
    Column("run", Integer, nullable=False, server_default=text("1"), doc="1, and one more for each retry."),
    Column(
        "token",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        doc="One more with each claim: who holds the latest drives, all others' writes are refused.",
    ),
    Column("owner_id", Uuid, doc="The process that drives it, while one does."),
    Column(
        "priority",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        doc="Higher goes first, within the workspace.",
    ),
    Column(
        "labels",
        JSONB,
        nullable=False,
        server_default=text("'{}'"),
        doc="Text to text; `jsonb`, because lists filter by them.",
    ),
    Column("correlation_id", Text, doc="The caller's own id of what it is about."),
    Column("scheduled_for", TIME, doc="Not before."),
    Column("input", JSON, nullable=False, server_default=text("'{}'"), doc="Checked, defaults filled in."),
    Column("output", JSON, doc="Up to 256 KiB; larger ones are blobs."),
    Column("output_blob_id", Uuid, doc="Where a larger output is."),
    Column("error_type", Text, doc="Class of the error that decided a failure."),
    Column("error_node", Text, doc="The node that it happened at."),
    Column("error_message", Text, doc="In words."),
    Column("trigger", JSON, doc="What started it, where that was no person: templates read it."),
    Column("rerun_of", Uuid, doc="The execution that it repeats."),
    Column("rerun_from", Text, doc="From this node on."),
    Column("principal", Text, nullable=False, doc="Who started it, as in `activity.actor`."),
    Column(
        "retry_defaults",
        JSON,
        doc="Retry defaults as they were at its first admission; only these are read from then on.",
    ),
    Column("rules_version", Integer, doc="Of the rules by which it is decided, likewise."),
    now_column("created_at"),
    Column("started_at", TIME, doc="Its first admission whose start succeeded; never moved afterwards."),
    Column("finished_at", TIME, doc="When it ended; null again once it is retried."),
    Column("deadline_at", TIME, doc="When the current run's `timeout` is up."),
    Column("duration_ms", BigInteger, doc="`finished_at` less `started_at`."),
    Column(
        "waiting_kind",
        Text,
        doc="Why it waits while its item does not say so, written when it parks: approval, signal, timer, retry.",
    ),
    Column("waiting_since", TIME, doc="Since when."),
    Column("waiting_until", TIME, doc="When it goes on by itself, or what it waits for expires."),
    Column("admitted_at", TIME, doc="Of the latest admission that took the slot."),
    Column(
        "admitted_limit",
        Integer,
        doc="The limit in force then: so it can be checked afterwards that nobody was admitted above it.",
    ),
    Column(
        "run_started_at", TIME, doc="The first admission of the current run, from which its timeout counts."
    ),
    Column(
        "base_seq",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        doc="Where the current run's part of the journal begins; what stands at or before it is of earlier runs.",
    ),
    Column(
        "revision",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        doc="One more with every change that people can see, of it and of its nodes: the ids of its events.",
    ),
    Column(
        "recoveries",
        Integer,
        nullable=False,
        server_default=text("0"),
        doc="How often its owner died since it last got on.",
    ),
    Column(
        "suspect",
        Boolean,
        nullable=False,
        server_default=text("false"),
        doc="Twice recovered without progress: it may be what kills its workers, and is driven with no other suspect.",
    ),
    one_of("status", (*UNFINISHED, *FINISHED)),
    one_of("phase", PHASES),
    CheckConstraint(
        "(status IN ('COMPLETED', 'FAILED', 'CANCELED')) = (finished_at IS NOT NULL)", name="finished"
    ),
    CheckConstraint("priority BETWEEN -100 AND 100", name="priority"),
    Index(
        "workflow_executions_list_idx", "workspace_id", text("id DESC"), info={"for": "lists, newest first"}
    ),
    Index(
        "workflow_executions_running_idx",
        "workspace_id",
        postgresql_where=text("status = 'RUNNING'"),
        info={"for": "claim: the exact count of slots in use"},
    ),
    Index(
        "workflow_executions_pending_idx",
        "workspace_id",
        "id",
        postgresql_where=text("status = 'PENDING'"),
        info={"for": "the queued limit, capacity, lists of PENDING, the search for lost items"},
    ),
    Index(
        "workflow_executions_parked_idx",
        "id",
        postgresql_where=text("status IN ('WAITING', 'PAUSED')"),
        info={"for": "the search for lost items of what waits"},
    ),
    Index(
        "workflow_executions_status_idx",
        "workspace_id",
        "status",
        text("id DESC"),
        postgresql_where=text("status IN ('WAITING', 'PAUSED', 'FAILED', 'CANCELED')"),
        info={
            "for": "lists by the statuses that few have; COMPLETED is found by the list, RUNNING and PENDING by their own"
        },
    ),
    Index(
        "workflow_executions_owner_idx",
        "owner_id",
        postgresql_where=text("owner_id IS NOT NULL"),
        info={"for": "recovery: what a dead process drove"},
    ),
    Index(
        "workflow_executions_correlation_idx",
        "workspace_id",
        "correlation_id",
        postgresql_where=text("correlation_id IS NOT NULL"),
        info={"for": "lists by `correlationId`"},
    ),
    Index(
        "workflow_executions_labels_idx",
        "labels",
        postgresql_using="gin",
        postgresql_ops={"labels": "jsonb_path_ops"},
        postgresql_where=text("labels <> '{}'"),
        info={"for": "lists by labels"},
    ),
    Index(
        "workflow_executions_deadline_idx",
        "deadline_at",
        postgresql_where=text("deadline_at IS NOT NULL AND finished_at IS NULL"),
        info={"for": "runs whose time is up and that nobody drives"},
    ),
    Index(
        "workflow_executions_finished_idx",
        "finished_at",
        postgresql_where=text("finished_at IS NOT NULL"),
        info={"for": "pruning by `RIVEN_HISTORY_RETENTION`"},
    ),
    postgresql_with={"fillfactor": "80"},
    info={
        "about": "Runs. `status = RUNNING` **is** the slot: nothing else counts them. Retried ones stay the same row."
    },
)

# Neither of the next two has a foreign key: a flush writes them only for executions that it has locked, and a check for
# every row would cost as much as the row. `completion.history` deletes them with their execution.
workflow_execution_nodes = Table(
    "workflow_execution_nodes",
    metadata,
    Column("execution_id", Uuid, nullable=False, doc="The execution."),
    Column("path", Text, nullable=False, doc="`order`, `each[3].send`, `poll[2].check`."),
    Column(
        "attempt", Integer, nullable=False, doc="0: the node was settled without having started, in this run."
    ),
    Column("run", Integer, nullable=False, doc="The run that wrote it; 0: taken over by a `rerun`."),
    Column(
        "place",
        Text(collation="C"),
        nullable=False,
        server_default=text("''"),
        doc="Where the node stands in document order, as a text that sorts that way.",
    ),
    Column(
        "revision",
        BigInteger,
        nullable=False,
        server_default=text("0"),
        doc="Of the execution, when it was last written: events since then.",
    ),
    Column("type", Text, nullable=False, doc="Of the node."),
    Column(
        "status",
        Text,
        nullable=False,
        doc="Of the attempt. The node's own is that of the last attempt of its last run.",
    ),
    Column("settled", Text, doc="How the node ended, where that was between two attempts."),
    Column("outcome", Text, doc="The label by which it left."),
    Column("input", JSON, doc="Its configuration, templates resolved, secrets hidden."),
    Column("output", JSON, doc="Up to 256 KiB; larger ones are blobs."),
    Column("output_blob_id", Uuid, doc="Where a larger output is."),
    Column("error_type", Text, doc="Class of the error."),
    Column("error_message", Text, doc="In words."),
    Column("skip_reason", Text, doc="Why it was skipped."),
    Column("next_retry_at", TIME, doc="When the next attempt is due: until then the node is RETRYING."),
    Column("due_at", TIME, doc="When a `wait` is over, or what it waits for expires."),
    Column("started_at", TIME, doc="Of the attempt."),
    Column("finished_at", TIME, doc="Of the attempt."),
    Column(
        "expanded_seq",
        BigInteger,
        doc="Place in the journal of the first step of a container or a wait; null until it is there.",
    ),
    Column("expanded", JSON, doc="That answer, as the coordinator heard it, with what it left."),
    Column("seq", BigInteger, doc="Place in the journal of the outcome; null until it is there."),
    Column("answer", JSON, doc="The outcome, as the coordinator heard it."),
    one_of("status", NODE_STATUSES),
    PrimaryKeyConstraint("execution_id", "path", "attempt"),
    info={
        "about": "The journal, and what people see of nodes: a row for each attempt. No foreign key: a flush writes only for executions that it has locked, and a check for each row would cost as much as the row. They are deleted with their execution."
    },
)

workflow_execution_scopes = Table(
    "workflow_execution_scopes",
    metadata,
    Column("execution_id", Uuid, nullable=False, doc="The execution."),
    Column("path", Text, nullable=False, doc="`each[3]`, `poll[2]`."),
    Column("run", Integer, nullable=False, doc="The run that wrote it."),
    Column("seq", BigInteger, doc="Place in the journal of its end."),
    Column("answer", JSON, doc="Its end, as the coordinator heard it."),
    Column("output", JSON, doc="Up to 256 KiB; larger ones are blobs."),
    Column("output_blob_id", Uuid, doc="Where a larger output is."),
    Column("error", JSON, doc="Why its output could not be built: a `for_each` that collects shows it."),
    Column("checked_seq", BigInteger, doc="Place in the journal of the verdict on the next iteration."),
    Column("checked", JSON, doc="That verdict."),
    PrimaryKeyConstraint("execution_id", "path"),
    info={
        "about": "Items of `for_each`, iterations of `repeat`: what each left, and whether another follows. No foreign key, as above."
    },
)

signals = Table(
    "signals",
    metadata,
    own_id(),
    Column("execution_id", Uuid, ForeignKey(workflow_executions.c.id, ondelete="CASCADE"), nullable=False),
    Column("kind", Text, nullable=False, doc="What was asked."),
    Column("name", Text, doc="The signal's name, or the timer's id."),
    Column("path", Text, doc="The approval's node; of a signal, the node that took it."),
    Column("payload", JSON, doc="What came with it."),
    Column("run", Integer, nullable=False, doc="Of the execution, when it was asked."),
    Column("seq", BigInteger, doc="Place in the journal; null: nobody has read it yet."),
    Column(
        "void",
        Boolean,
        nullable=False,
        server_default=text("false"),
        doc="Nobody will read it: whoever wrote it acted at once, or the run ended before.",
    ),
    Column("principal", Text, doc="Who asked."),
    now_column("created_at"),
    one_of("kind", ("SIGNAL", "APPROVAL", "CANCEL", "PAUSE", "RESUME", "TIMER", "DEADLINE")),
    Index(None, "execution_id", "id", info={"for": "the journal of a run"}),
    Index(
        "signals_unread_idx",
        "execution_id",
        "id",
        postgresql_where=text("seq IS NULL AND NOT void"),
        info={"for": "what a run has not read: at its claim, when it parks, at every wake-up"},
    ),
    Index(
        "signals_read_key",
        "execution_id",
        "seq",
        unique=True,
        postgresql_where=text("seq IS NOT NULL"),
        info={"for": "one place in the journal, one event"},
    ),
    Index(
        "signals_decided_key",
        "execution_id",
        "path",
        "run",
        unique=True,
        postgresql_where=text("kind = 'APPROVAL' AND NOT void"),
        info={"for": "an approval is decided once"},
    ),
    info={"about": "What was asked of runs: the control part of their journals."},
)

blobs = Table(
    "blobs",
    metadata,
    own_id(),
    Column("execution_id", Uuid, ForeignKey(workflow_executions.c.id, ondelete="CASCADE"), nullable=False),
    Column("data", LargeBinary, nullable=False, doc="The output, as JSON."),
    Index(None, "execution_id", info={"for": "deleting with the execution"}),
    info={"about": "Outputs of more than 256 KiB, up to 16 MiB."},
)

idempotency_keys = Table(
    "idempotency_keys",
    metadata,
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    Column("key", Text, nullable=False, doc="As it was sent."),
    Column(
        "request_hash",
        LargeBinary,
        nullable=False,
        doc="Of the request: the same key with another one is refused.",
    ),
    Column("response", JSON, nullable=False, doc="The first answer."),
    now_column("created_at"),
    PrimaryKeyConstraint("workspace_id", "key"),
    Index(None, "created_at", info={"for": "pruning"}),
    info={"about": "First answers to requests with an `Idempotency-Key`, for a day at least."},
)
