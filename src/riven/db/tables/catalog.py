"""What tenants define: drafts, and versions that never change."""

from sqlalchemy import (
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.dialects.postgresql import JSON

from riven.db.tables.metadata import TIME, metadata, now_column, one_of, own_id
from riven.db.tables.tenancy import workspaces

workflow_definitions = Table(
    "workflow_definitions",
    metadata,
    own_id(),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    Column("name", Text, nullable=False),
    Column("status", Text, nullable=False, server_default=text("'DRAFT'")),
    Column("source", Text, nullable=False),
    # What the source says, as JSON; null where it cannot be read.
    Column("document", JSON),
    Column("problems", JSON, nullable=False, server_default=text("'[]'")),
    Column("etag", Text, nullable=False),
    Column("latest_version", Integer),
    now_column("created_at"),
    now_column("updated_at"),
    Column("archived_at", TIME),
    one_of("status", ("DRAFT", "PUBLISHED", "ARCHIVED")),
    CheckConstraint("(status = 'ARCHIVED') = (archived_at IS NOT NULL)", name="archived"),
    Index(
        "workflow_definitions_name_key",
        "workspace_id",
        "name",
        unique=True,
        postgresql_where=text("archived_at IS NULL"),
    ),
    Index(
        "workflow_definitions_list_idx", "workspace_id", "id", postgresql_where=text("archived_at IS NULL")
    ),
    Index(
        "workflow_definitions_archived_idx",
        "workspace_id",
        "name",
        "archived_at",
        postgresql_where=text("archived_at IS NOT NULL"),
    ),
)

workflow_definition_versions = Table(
    "workflow_definition_versions",
    metadata,
    own_id(),
    Column("workflow_definition_id", Uuid, ForeignKey(workflow_definitions.c.id), nullable=False),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    Column("version", Integer, nullable=False),
    Column("source", Text, nullable=False),
    Column("document", JSON, nullable=False),
    Column("created_by", Text, nullable=False),
    now_column("created_at"),
    UniqueConstraint("workflow_definition_id", "version"),
    CheckConstraint("version >= 1", name="version"),
)
