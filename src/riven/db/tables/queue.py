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
    # No foreign keys: an item outlives what it names, and then fails with a reason.
    Column("execution_id", Uuid, nullable=False, unique=True),
    Column("workspace_id", Uuid, nullable=False),
    Column("workflow_definition_id", Uuid, nullable=False),
    Column("status", Text, nullable=False, server_default=text("'PENDING'")),
    Column("priority", SmallInteger, nullable=False, server_default=text("0")),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    # When it may be claimed; null: not before somebody wakes it. `due` is what the claim looks at: promotion sets it.
    Column("available_at", TIME, server_default=text("now()")),
    Column("due", Boolean, nullable=False, server_default=text("true")),
    Column("holds_slot", Boolean, nullable=False, server_default=text("false")),
    # The later of creation and scheduledFor: items of one priority go oldest first.
    now_column("aged_at"),
    Column("owner_id", Uuid),
    Column("claimed_at", TIME),
    Column("dispatched_at", TIME),
    # Status of the execution before the claim, for a start that is refused; and whether the claim took the slot.
    Column("status_before", Text),
    Column("slot_taken", Boolean, nullable=False, server_default=text("false")),
    Column("first_start", Boolean, nullable=False, server_default=text("false")),
    Column("last_error", Text),
    # Why it is not due or was put back: dispatch_retry, engine_down, ...
    Column("waiting_kind", Text),
    now_column("created_at"),
    Column("failed_at", TIME),
    one_of("status", ("PENDING", "CLAIMED", "DISPATCHED", "FAILED")),
    CheckConstraint("status <> 'CLAIMED' OR owner_id IS NOT NULL", name="claimed"),
    CheckConstraint("status = 'PENDING' OR due", name="due"),
    CheckConstraint("attempts >= 0", name="attempts"),
    Index("execution_queue_claim_idx", "workspace_id", text("holds_slot DESC"), text("priority DESC"), "aged_at", "id",
          postgresql_where=text("status = 'PENDING' AND due")),
    Index("execution_queue_slot_idx", "workspace_id",
          postgresql_where=text("status = 'PENDING' AND due AND holds_slot")),
    Index("execution_queue_promote_idx", "available_at",
          postgresql_where=text("status = 'PENDING' AND NOT due AND available_at IS NOT NULL")),
    Index("execution_queue_owner_idx", "owner_id", postgresql_where=text("owner_id IS NOT NULL")),
    Index("execution_queue_failed_idx", "workspace_id", text("id DESC"), postgresql_where=text("status = 'FAILED'")),
    postgresql_with={"fillfactor": "70", "autovacuum_vacuum_scale_factor": "0.02",
                     "autovacuum_vacuum_threshold": "1000", "autovacuum_vacuum_cost_delay": "0"},
)  # fmt: skip

processes = Table(
    "processes",
    metadata,
    own_id(),
    Column("role", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("room", Integer, nullable=False, server_default=text("0")),
    Column("engine", Text, nullable=False, server_default=text("'embedded'")),
    # False: it claims and resumes nothing (WORKFLOW_ENGINE_ENABLED).
    Column("enabled", Boolean, nullable=False, server_default=text("true")),
    # Null: well; otherwise what it said when it was last asked.
    Column("engine_error", Text),
    # What it has counted and measured, for whoever asks the API for metrics.
    Column("metrics", JSON),
    now_column("started_at"),
    now_column("seen_at"),
    Column("dead", Boolean, nullable=False, server_default=text("false")),
    one_of("role", ("api", "dispatcher", "worker", "maintenance")),
)

locks = Table(
    "locks",
    metadata,
    Column("name", Text, primary_key=True),
    Column("owner_id", Uuid, nullable=False),
    Column("until", TIME, nullable=False),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", BigInteger, Identity(), primary_key=True),
    Column("workspace_id", Uuid, nullable=False),
    Column("execution_id", Uuid, nullable=False),
    Column("kind", Text, nullable=False),
    Column("payload", JSON, nullable=False),
    Column("attempts", Integer, nullable=False, server_default=text("0")),
    Column("available_at", TIME, nullable=False, server_default=text("now()")),
    now_column("created_at"),
    Index("outbox_available_idx", "available_at", "id"),
)
