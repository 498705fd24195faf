"""Who asks, what they may touch and how much of it: tiers, workspaces, members, keys, secrets, the audit trail."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSON

from riven.db.tables.metadata import TIME, metadata, now_column, one_of, own_id

ROLES = ("VIEWER", "OPERATOR", "EDITOR", "ADMIN")
PLATFORM = "PLATFORM"

workspace_tiers = Table(
    "workspace_tiers",
    metadata,
    own_id(),
    Column("name", Text, nullable=False, unique=True),
    Column("running_limit", Integer, nullable=False),
    Column("queued_limit", BigInteger),
    now_column("created_at"),
    CheckConstraint("running_limit >= 0", name="running_limit"),
    CheckConstraint("queued_limit >= 0", name="queued_limit"),
)

workspaces = Table(
    "workspaces",
    metadata,
    own_id(),
    Column("name", Text, nullable=False),
    Column("tier", Text, ForeignKey(workspace_tiers.c.name), nullable=False),
    Column("running_limit", Integer),
    Column("queued_limit", BigInteger),
    Column("max_attempts", Integer),
    Column("weight", Integer, nullable=False, server_default=text("1")),
    Column("disabled", Boolean, nullable=False, server_default=text("false")),
    Column("last_served_at", TIME, nullable=False, server_default=text("'-infinity'")),
    # Hints that keep the claim from looking at workspaces that can give it nothing; riven.queue tells how they are kept.
    Column("idle", Boolean, nullable=False, server_default=text("true")),
    Column("at_capacity", Boolean, nullable=False, server_default=text("false")),
    now_column("created_at"),
    now_column("updated_at"),
    CheckConstraint("running_limit >= 0", name="running_limit"),
    CheckConstraint("queued_limit >= 0", name="queued_limit"),
    CheckConstraint("max_attempts BETWEEN 1 AND 100", name="max_attempts"),
    CheckConstraint("weight BETWEEN 1 AND 1000", name="weight"),
    Index(
        "workspaces_servable_idx",
        "last_served_at",
        "id",
        postgresql_where=text("NOT idle AND NOT at_capacity AND NOT disabled"),
    ),
    postgresql_with={"fillfactor": "70"},
)

members = Table(
    "members",
    metadata,
    own_id(),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    Column("subject", Text, nullable=False),
    Column("role", Text, nullable=False),
    now_column("created_at"),
    one_of("role", ROLES),
    UniqueConstraint("workspace_id", "subject"),
    Index(None, "subject"),
)

api_keys = Table(
    "api_keys",
    metadata,
    own_id(),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id)),
    Column("name", Text, nullable=False),
    Column("prefix", Text, nullable=False),
    Column("key_hash", LargeBinary, nullable=False, unique=True),
    Column("role", Text, nullable=False),
    Column("expires_at", TIME),
    Column("last_used_at", TIME),
    Column("revoked_at", TIME),
    now_column("created_at"),
    one_of("role", (*ROLES, PLATFORM)),
    CheckConstraint(f"(workspace_id IS NULL) = (role = '{PLATFORM}')", name="scope"),
    Index(None, "workspace_id"),
)

secrets = Table(
    "secrets",
    metadata,
    own_id(),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    Column("name", Text, nullable=False),
    Column("key_name", Text, nullable=False),
    Column("nonce", LargeBinary, nullable=False),
    Column("ciphertext", LargeBinary, nullable=False),
    now_column("created_at"),
    now_column("updated_at"),
    UniqueConstraint("workspace_id", "name"),
)

activity = Table(
    "activity",
    metadata,
    own_id(),
    # No foreign key: the audit trail outlives what it tells of. Null for what concerns the whole installation.
    Column("workspace_id", Uuid),
    now_column("at"),
    Column("actor", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("details", JSON, nullable=False, server_default=text("'{}'")),
    Index(None, "workspace_id", "id"),
)
