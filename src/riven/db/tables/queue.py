"""The line in front of the engine, the processes that serve it, locks of duties, and what is to be told outside."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Identity,
    Index,
    Integer,
    SmallInteger,
    Table,
    Text,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSON

from riven.db.tables.metadata import TIME, metadata, now_column, one_of, own_id

execution_queue = Table(
    "execution_queue",
    metadata,
    own_id(),
    Column("execution_id", Uuid, nullable=False, unique=True, doc="One item an execution."),
    Column("workspace_id", Uuid, nullable=False, doc="Whose it is."),
    Column("workflow_definition_id", Uuid, nullable=False, doc="For the log."),
    Column(
        "status",
        Text,
        nullable=False,
        server_default=text("'PENDING'"),
        doc="PENDING, CLAIMED by a process, DISPATCHED to the engine, FAILED for good.",
    ),
    Column(
        "priority",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        doc="Higher goes first, within the workspace.",
    ),
    Column(
        "attempts", Integer, nullable=False, server_default=text("0"), doc="Starts that the engine refused."
    ),
    Column(
        "available_at",
        TIME,
        server_default=text("now()"),
        doc="When it may be claimed; null: not before somebody wakes it.",
    ),
    Column(
        "due",
        Boolean,
        nullable=False,
        server_default=text("true"),
        doc="What the claim looks at; promotion sets it when `available_at` has come.",
    ),
    Column(
        "holds_slot",
        Boolean,
        nullable=False,
        server_default=text("false"),
        doc="Its execution is RUNNING while it is in line: recovered, and first to be claimed.",
    ),
    now_column(
        "aged_at", doc="The later of creation and scheduledFor: items of one priority go oldest first."
    ),
    Column("owner_id", Uuid, doc="The process that claimed it, or drives its run."),
    Column("claimed_at", TIME, doc="Since when."),
    Column("dispatched_at", TIME, doc="When the engine took it."),
    Column(
        "status_before", Text, doc="Status of the execution before the claim, for a start that is refused."
    ),
    Column(
        "slot_taken",
        Boolean,
        nullable=False,
        server_default=text("false"),
        doc="Whether the claim took the slot: a refused start gives back only such a one.",
    ),
    Column(
        "first_start",
        Boolean,
        nullable=False,
        server_default=text("false"),
        doc="Whether the claim set the start of the run.",
    ),
    Column("last_error", Text, doc="Why the last start was refused, or why it failed."),
    Column(
        "waiting_kind", Text, doc="Why it is not due or was put back: `dispatch_retry`, `engine_down`, ..."
    ),
    now_column("created_at"),
    Column("failed_at", TIME, doc="When it became a dead letter."),
    one_of("status", ("PENDING", "CLAIMED", "DISPATCHED", "FAILED")),
    CheckConstraint("status <> 'CLAIMED' OR owner_id IS NOT NULL", name="claimed"),
    CheckConstraint("status = 'PENDING' OR due", name="due"),
    CheckConstraint("attempts >= 0", name="attempts"),
    Index(
        "execution_queue_claim_idx",
        "workspace_id",
        text("holds_slot DESC"),
        text("priority DESC"),
        "aged_at",
        "id",
        postgresql_where=text("status = 'PENDING' AND due"),
        info={
            "for": "claim: the next of a workspace, in order; what is not due, claimed or dispatched is not in it"
        },
    ),
    Index(
        "execution_queue_slot_idx",
        "workspace_id",
        postgresql_where=text("status = 'PENDING' AND due AND holds_slot"),
        info={"for": "claim: workspaces with recovered items"},
    ),
    Index(
        "execution_queue_promote_idx",
        "available_at",
        postgresql_where=text("status = 'PENDING' AND NOT due AND available_at IS NOT NULL"),
        info={"for": "promotion: what has come due"},
    ),
    Index(
        "execution_queue_owner_idx",
        "owner_id",
        postgresql_where=text("owner_id IS NOT NULL"),
        info={"for": "recovery: what a dead process held"},
    ),
    Index(
        "execution_queue_failed_idx",
        "workspace_id",
        text("id DESC"),
        postgresql_where=text("status = 'FAILED'"),
        info={"for": "dead letters, newest first"},
    ),
    postgresql_with={
        "fillfactor": "70",
        "autovacuum_vacuum_scale_factor": "0.02",
        "autovacuum_vacuum_threshold": "1000",
        "autovacuum_vacuum_cost_delay": "0",
    },
    info={
        "about": "Places in line. Rows go when the run is over, so the table stays small; what failed for good stays for a week as a dead letter. No foreign keys: an item outlives what it names, and then fails with a reason."
    },
)

processes = Table(
    "processes",
    metadata,
    own_id(),
    Column("role", Text, nullable=False, doc="What it does."),
    Column("name", Text, nullable=False, doc="For people: in metrics and logs."),
    Column("room", Integer, nullable=False, server_default=text("0"), doc="So many runs it would take now."),
    Column("engine", Text, nullable=False, server_default=text("'embedded'"), doc="What drives its runs."),
    Column(
        "enabled",
        Boolean,
        nullable=False,
        server_default=text("true"),
        doc="False: it claims and resumes nothing (RIVEN_WORKFLOW_ENGINE_ENABLED).",
    ),
    Column("engine_error", Text, doc="Null: well; otherwise what the engine said when it was last asked."),
    Column("metrics", JSON, doc="What it has counted and measured, for whoever asks the API."),
    now_column("started_at", doc="When it registered."),
    now_column("seen_at", doc="Its last sign of life, written by the loop that does the work."),
    Column(
        "dead",
        Boolean,
        nullable=False,
        server_default=text("false"),
        doc="Judged dead. One that finds itself so registers anew.",
    ),
    one_of("role", ("api", "dispatcher", "worker", "maintenance")),
    info={
        "about": "Workers, dispatchers and maintenance, each with its sign of life. Whose row is `dead` has its runs put back in line."
    },
)

locks = Table(
    "locks",
    metadata,
    Column("name", Text, primary_key=True, doc="Of the duty."),
    Column("owner_id", Uuid, nullable=False, doc="The process that does it."),
    Column("until", TIME, nullable=False, doc="Free for others from then on, unless it is renewed."),
    info={"about": "Duties that one replica does at a time."},
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True, doc="In the order of writing."),
    Column("workspace_id", Uuid, nullable=False),
    Column("execution_id", Uuid, nullable=False, doc="What it is about."),
    Column("kind", Text, nullable=False, doc="What has happened."),
    Column("payload", JSON, nullable=False, doc="What is told."),
    Column("attempts", Integer, nullable=False, server_default=text("0"), doc="So often it was tried."),
    Column("available_at", TIME, nullable=False, server_default=text("now()"), doc="Next try."),
    now_column("created_at"),
    Index("outbox_available_idx", "available_at", "id", info={"for": "delivery"}),
    info={
        "about": "What is to be told outside, written with what it tells of. This version tells nobody: what is an hour old is deleted."
    },
)
