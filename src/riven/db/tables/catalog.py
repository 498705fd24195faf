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
    Column("name", Text, nullable=False, doc="Unique in its workspace while it is not archived."),
    Column(
        "status",
        Text,
        nullable=False,
        server_default=text("'DRAFT'"),
        doc="DRAFT until it was published once.",
    ),
    Column("source", Text, nullable=False, doc="The draft as it was sent, YAML or JSON."),
    Column("document", JSON, doc="What the source says, as JSON; null where it cannot be read."),
    Column(
        "problems", JSON, nullable=False, server_default=text("'[]'"), doc="What is wrong with the draft."
    ),
    Column("etag", Text, nullable=False, doc="Changes with every draft: `If-Match`."),
    Column("latest_version", Integer, doc="Of its versions; null: none."),
    now_column("created_at"),
    now_column("updated_at"),
    Column("archived_at", TIME, doc="Since when it cannot be started any more."),
    one_of("status", ("DRAFT", "PUBLISHED", "ARCHIVED")),
    CheckConstraint("(status = 'ARCHIVED') = (archived_at IS NOT NULL)", name="archived"),
    Index(
        "workflow_definitions_name_key",
        "workspace_id",
        "name",
        unique=True,
        postgresql_where=text("archived_at IS NULL"),
        info={"for": "starts by name; one name, one workflow"},
    ),
    Index(
        "workflow_definitions_list_idx",
        "workspace_id",
        "id",
        postgresql_where=text("archived_at IS NULL"),
        info={"for": "lists of workflows"},
    ),
    Index(
        "workflow_definitions_archived_idx",
        "workspace_id",
        "name",
        "archived_at",
        postgresql_where=text("archived_at IS NOT NULL"),
        info={"for": "versions of an archived workflow, by its name"},
    ),
    info={"about": "Workflows by name, each with its draft."},
)

workflow_definition_versions = Table(
    "workflow_definition_versions",
    metadata,
    own_id(),
    Column("workflow_definition_id", Uuid, ForeignKey(workflow_definitions.c.id), nullable=False),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    Column("version", Integer, nullable=False, doc="1, 2, 3, ..."),
    Column("source", Text, nullable=False, doc="As it was published."),
    Column(
        "document",
        JSON,
        nullable=False,
        doc="Normalised, checked, with the versions of the workflows that it calls: what runs.",
    ),
    Column("created_by", Text, nullable=False, doc="Who published it."),
    now_column("created_at"),
    UniqueConstraint("workflow_definition_id", "version"),
    CheckConstraint("version >= 1", name="version"),
    info={"about": "Published versions. Rows are written once and never changed."},
)
