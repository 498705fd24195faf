"""Create the schema."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.execute("SET LOCAL lock_timeout = '5s'")
    op.create_table(
        "activity",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column(
            "details", postgresql.JSON(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("activity_pkey")),
    )
    op.create_index(op.f("activity_workspace_id_id_idx"), "activity", ["workspace_id", "id"], unique=False)
    op.create_table(
        "execution_queue",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("execution_id", sa.Uuid(), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("workflow_definition_id", sa.Uuid(), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'PENDING'"), nullable=False),
        sa.Column("priority", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("available_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=True),
        sa.Column("due", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("holds_slot", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("aged_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("dispatched_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status_before", sa.Text(), nullable=True),
        sa.Column("slot_taken", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("first_start", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("last_error", sa.Text(), nullable=True),
        sa.Column("waiting_kind", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("failed_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "status <> 'CLAIMED' OR owner_id IS NOT NULL", name=op.f("execution_queue_claimed_check")
        ),
        sa.CheckConstraint("status = 'PENDING' OR due", name=op.f("execution_queue_due_check")),
        sa.CheckConstraint(
            "status IN ('PENDING', 'CLAIMED', 'DISPATCHED', 'FAILED')",
            name=op.f("execution_queue_status_check"),
        ),
        sa.CheckConstraint("attempts >= 0", name=op.f("execution_queue_attempts_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("execution_queue_pkey")),
        sa.UniqueConstraint("execution_id", name=op.f("execution_queue_execution_id_key")),
        postgresql_with={
            "fillfactor": "70",
            "autovacuum_vacuum_scale_factor": "0.02",
            "autovacuum_vacuum_threshold": "1000",
            "autovacuum_vacuum_cost_delay": "0",
        },
    )
    op.create_index(
        "execution_queue_claim_idx",
        "execution_queue",
        [
            "workspace_id",
            sa.literal_column("holds_slot DESC"),
            sa.literal_column("priority DESC"),
            "aged_at",
            "id",
        ],
        unique=False,
        postgresql_where=sa.text("status = 'PENDING' AND due"),
    )
    op.create_index(
        "execution_queue_failed_idx",
        "execution_queue",
        ["workspace_id", sa.literal_column("id DESC")],
        unique=False,
        postgresql_where=sa.text("status = 'FAILED'"),
    )
    op.create_index(
        "execution_queue_owner_idx",
        "execution_queue",
        ["owner_id"],
        unique=False,
        postgresql_where=sa.text("owner_id IS NOT NULL"),
    )
    op.create_index(
        "execution_queue_promote_idx",
        "execution_queue",
        ["available_at"],
        unique=False,
        postgresql_where=sa.text("status = 'PENDING' AND NOT due AND available_at IS NOT NULL"),
    )
    op.create_index(
        "execution_queue_slot_idx",
        "execution_queue",
        ["workspace_id"],
        unique=False,
        postgresql_where=sa.text("status = 'PENDING' AND due AND holds_slot"),
    )
    op.create_table(
        "locks",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("locks_pkey")),
    )
    op.create_table(
        "outbox",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=False), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("execution_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("payload", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("attempts", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "available_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False
        ),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("outbox_pkey")),
    )
    op.create_index("outbox_available_idx", "outbox", ["available_at", "id"], unique=False)
    op.create_table(
        "processes",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("room", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("engine", sa.Text(), server_default=sa.text("'embedded'"), nullable=False),
        sa.Column("enabled", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("engine_error", sa.Text(), nullable=True),
        sa.Column("metrics", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("seen_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("dead", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.CheckConstraint(
            "role IN ('api', 'dispatcher', 'worker', 'maintenance')", name=op.f("processes_role_check")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("processes_pkey")),
    )
    op.create_table(
        "workflow_execution_nodes",
        sa.Column("execution_id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("place", sa.Text(collation="C"), server_default=sa.text("''"), nullable=False),
        sa.Column("revision", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("settled", sa.Text(), nullable=True),
        sa.Column("outcome", sa.Text(), nullable=True),
        sa.Column("input", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("output", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("output_blob_id", sa.Uuid(), nullable=True),
        sa.Column("error_type", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("skip_reason", sa.Text(), nullable=True),
        sa.Column("next_retry_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("expanded_seq", sa.BigInteger(), nullable=True),
        sa.Column("expanded", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("answer", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.CheckConstraint(
            "status IN ('PENDING', 'RUNNING', 'RETRYING', 'WAITING', 'COMPLETED', 'FAILED', 'SKIPPED', 'CANCELED')",
            name=op.f("workflow_execution_nodes_status_check"),
        ),
        sa.PrimaryKeyConstraint(
            "execution_id", "path", "attempt", name=op.f("workflow_execution_nodes_pkey")
        ),
    )
    op.create_table(
        "workflow_execution_scopes",
        sa.Column("execution_id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("answer", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("output", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("output_blob_id", sa.Uuid(), nullable=True),
        sa.Column("error", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("checked_seq", sa.BigInteger(), nullable=True),
        sa.Column("checked", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.PrimaryKeyConstraint("execution_id", "path", name=op.f("workflow_execution_scopes_pkey")),
    )
    op.create_table(
        "workspace_tiers",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("running_limit", sa.Integer(), nullable=False),
        sa.Column("queued_limit", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("queued_limit >= 0", name=op.f("workspace_tiers_queued_limit_check")),
        sa.CheckConstraint("running_limit >= 0", name=op.f("workspace_tiers_running_limit_check")),
        sa.PrimaryKeyConstraint("id", name=op.f("workspace_tiers_pkey")),
        sa.UniqueConstraint("name", name=op.f("workspace_tiers_name_key")),
    )
    op.create_table(
        "workspaces",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("tier", sa.Text(), nullable=False),
        sa.Column("running_limit", sa.Integer(), nullable=True),
        sa.Column("queued_limit", sa.BigInteger(), nullable=True),
        sa.Column("max_attempts", sa.Integer(), nullable=True),
        sa.Column("weight", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("disabled", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column(
            "last_served_at",
            sa.DateTime(timezone=True),
            server_default=sa.text("'-infinity'"),
            nullable=False,
        ),
        sa.Column("idle", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("at_capacity", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("max_attempts BETWEEN 1 AND 100", name=op.f("workspaces_max_attempts_check")),
        sa.CheckConstraint("queued_limit >= 0", name=op.f("workspaces_queued_limit_check")),
        sa.CheckConstraint("running_limit >= 0", name=op.f("workspaces_running_limit_check")),
        sa.CheckConstraint("weight BETWEEN 1 AND 1000", name=op.f("workspaces_weight_check")),
        sa.ForeignKeyConstraint(["tier"], ["workspace_tiers.name"], name=op.f("workspaces_tier_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("workspaces_pkey")),
        postgresql_with={"fillfactor": "70"},
    )
    op.create_index(
        "workspaces_servable_idx",
        "workspaces",
        ["last_served_at", "id"],
        unique=False,
        postgresql_where=sa.text("NOT idle AND NOT at_capacity AND NOT disabled"),
    )
    op.create_table(
        "api_keys",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=True),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("prefix", sa.Text(), nullable=False),
        sa.Column("key_hash", sa.LargeBinary(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("(workspace_id IS NULL) = (role = 'PLATFORM')", name=op.f("api_keys_scope_check")),
        sa.CheckConstraint(
            "role IN ('VIEWER', 'OPERATOR', 'EDITOR', 'ADMIN', 'PLATFORM')", name=op.f("api_keys_role_check")
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("api_keys_workspace_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("api_keys_pkey")),
        sa.UniqueConstraint("key_hash", name=op.f("api_keys_key_hash_key")),
    )
    op.create_index(op.f("api_keys_workspace_id_idx"), "api_keys", ["workspace_id"], unique=False)
    op.create_table(
        "idempotency_keys",
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("request_hash", sa.LargeBinary(), nullable=False),
        sa.Column("response", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("idempotency_keys_workspace_id_fkey")
        ),
        sa.PrimaryKeyConstraint("workspace_id", "key", name=op.f("idempotency_keys_pkey")),
    )
    op.create_index(op.f("idempotency_keys_created_at_idx"), "idempotency_keys", ["created_at"], unique=False)
    op.create_table(
        "members",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "role IN ('VIEWER', 'OPERATOR', 'EDITOR', 'ADMIN')", name=op.f("members_role_check")
        ),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("members_workspace_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("members_pkey")),
        sa.UniqueConstraint("workspace_id", "subject", name=op.f("members_workspace_id_subject_key")),
    )
    op.create_index(op.f("members_subject_idx"), "members", ["subject"], unique=False)
    op.create_table(
        "secrets",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("key_name", sa.Text(), nullable=False),
        sa.Column("nonce", sa.LargeBinary(), nullable=False),
        sa.Column("ciphertext", sa.LargeBinary(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.ForeignKeyConstraint(["workspace_id"], ["workspaces.id"], name=op.f("secrets_workspace_id_fkey")),
        sa.PrimaryKeyConstraint("id", name=op.f("secrets_pkey")),
        sa.UniqueConstraint("workspace_id", "name", name=op.f("secrets_workspace_id_name_key")),
    )
    op.create_table(
        "workflow_definitions",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'DRAFT'"), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("document", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column(
            "problems", postgresql.JSON(astext_type=sa.Text()), server_default=sa.text("'[]'"), nullable=False
        ),
        sa.Column("etag", sa.Text(), nullable=False),
        sa.Column("latest_version", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("archived_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint(
            "(status = 'ARCHIVED') = (archived_at IS NOT NULL)",
            name=op.f("workflow_definitions_archived_check"),
        ),
        sa.CheckConstraint(
            "status IN ('DRAFT', 'PUBLISHED', 'ARCHIVED')", name=op.f("workflow_definitions_status_check")
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("workflow_definitions_workspace_id_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("workflow_definitions_pkey")),
    )
    op.create_index(
        "workflow_definitions_archived_idx",
        "workflow_definitions",
        ["workspace_id", "name", "archived_at"],
        unique=False,
        postgresql_where=sa.text("archived_at IS NOT NULL"),
    )
    op.create_index(
        "workflow_definitions_list_idx",
        "workflow_definitions",
        ["workspace_id", "id"],
        unique=False,
        postgresql_where=sa.text("archived_at IS NULL"),
    )
    op.create_index(
        "workflow_definitions_name_key",
        "workflow_definitions",
        ["workspace_id", "name"],
        unique=True,
        postgresql_where=sa.text("archived_at IS NULL"),
    )
    op.create_table(
        "workflow_executions",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("workflow_definition_id", sa.Uuid(), nullable=False),
        sa.Column("workflow_definition_version_id", sa.Uuid(), nullable=False),
        sa.Column("workflow_name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), server_default=sa.text("'PENDING'"), nullable=False),
        sa.Column("phase", sa.Text(), server_default=sa.text("'INITIALIZING'"), nullable=False),
        sa.Column("run", sa.Integer(), server_default=sa.text("1"), nullable=False),
        sa.Column("token", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("owner_id", sa.Uuid(), nullable=True),
        sa.Column("priority", sa.SmallInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column(
            "labels", postgresql.JSONB(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("correlation_id", sa.Text(), nullable=True),
        sa.Column("scheduled_for", sa.DateTime(timezone=True), nullable=True),
        sa.Column(
            "input", postgresql.JSON(astext_type=sa.Text()), server_default=sa.text("'{}'"), nullable=False
        ),
        sa.Column("output", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("output_blob_id", sa.Uuid(), nullable=True),
        sa.Column("error_type", sa.Text(), nullable=True),
        sa.Column("error_node", sa.Text(), nullable=True),
        sa.Column("error_message", sa.Text(), nullable=True),
        sa.Column("trigger", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("rerun_of", sa.Uuid(), nullable=True),
        sa.Column("rerun_from", sa.Text(), nullable=True),
        sa.Column("principal", sa.Text(), nullable=False),
        sa.Column("retry_defaults", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("rules_version", sa.Integer(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deadline_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("duration_ms", sa.BigInteger(), nullable=True),
        sa.Column("waiting_kind", sa.Text(), nullable=True),
        sa.Column("waiting_since", sa.DateTime(timezone=True), nullable=True),
        sa.Column("waiting_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("admitted_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("admitted_limit", sa.Integer(), nullable=True),
        sa.Column("run_started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("base_seq", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("revision", sa.BigInteger(), server_default=sa.text("0"), nullable=False),
        sa.Column("recoveries", sa.Integer(), server_default=sa.text("0"), nullable=False),
        sa.Column("suspect", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.CheckConstraint(
            "(status IN ('COMPLETED', 'FAILED', 'CANCELED')) = (finished_at IS NOT NULL)",
            name=op.f("workflow_executions_finished_check"),
        ),
        sa.CheckConstraint(
            "phase IN ('INITIALIZING', 'EXECUTING_NODES', 'COMPLETED', 'FAILED', 'CANCELED')",
            name=op.f("workflow_executions_phase_check"),
        ),
        sa.CheckConstraint(
            "status IN ('PENDING', 'RUNNING', 'WAITING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELED')",
            name=op.f("workflow_executions_status_check"),
        ),
        sa.CheckConstraint("priority BETWEEN -100 AND 100", name=op.f("workflow_executions_priority_check")),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("workflow_executions_workspace_id_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("workflow_executions_pkey")),
        postgresql_with={"fillfactor": "80"},
    )
    op.create_index(
        "workflow_executions_correlation_idx",
        "workflow_executions",
        ["workspace_id", "correlation_id"],
        unique=False,
        postgresql_where=sa.text("correlation_id IS NOT NULL"),
    )
    op.create_index(
        "workflow_executions_deadline_idx",
        "workflow_executions",
        ["deadline_at"],
        unique=False,
        postgresql_where=sa.text("deadline_at IS NOT NULL AND finished_at IS NULL"),
    )
    op.create_index(
        "workflow_executions_finished_idx",
        "workflow_executions",
        ["finished_at"],
        unique=False,
        postgresql_where=sa.text("finished_at IS NOT NULL"),
    )
    op.create_index(
        "workflow_executions_labels_idx",
        "workflow_executions",
        ["labels"],
        unique=False,
        postgresql_using="gin",
        postgresql_ops={"labels": "jsonb_path_ops"},
        postgresql_where=sa.text("labels <> '{}'"),
    )
    op.create_index(
        "workflow_executions_list_idx",
        "workflow_executions",
        ["workspace_id", sa.literal_column("id DESC")],
        unique=False,
    )
    op.create_index(
        "workflow_executions_owner_idx",
        "workflow_executions",
        ["owner_id"],
        unique=False,
        postgresql_where=sa.text("owner_id IS NOT NULL"),
    )
    op.create_index(
        "workflow_executions_parked_idx",
        "workflow_executions",
        ["id"],
        unique=False,
        postgresql_where=sa.text("status IN ('WAITING', 'PAUSED')"),
    )
    op.create_index(
        "workflow_executions_pending_idx",
        "workflow_executions",
        ["workspace_id", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'PENDING'"),
    )
    op.create_index(
        "workflow_executions_running_idx",
        "workflow_executions",
        ["workspace_id"],
        unique=False,
        postgresql_where=sa.text("status = 'RUNNING'"),
    )
    op.create_index(
        "workflow_executions_status_idx",
        "workflow_executions",
        ["workspace_id", "status", sa.literal_column("id DESC")],
        unique=False,
        postgresql_where=sa.text("status IN ('WAITING', 'PAUSED', 'FAILED', 'CANCELED')"),
    )
    op.create_table(
        "blobs",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("execution_id", sa.Uuid(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["execution_id"],
            ["workflow_executions.id"],
            name=op.f("blobs_execution_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("blobs_pkey")),
    )
    op.create_index(op.f("blobs_execution_id_idx"), "blobs", ["execution_id"], unique=False)
    op.create_table(
        "signals",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("execution_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=True),
        sa.Column("path", sa.Text(), nullable=True),
        sa.Column("payload", postgresql.JSON(astext_type=sa.Text()), nullable=True),
        sa.Column("run", sa.Integer(), nullable=False),
        sa.Column("seq", sa.BigInteger(), nullable=True),
        sa.Column("void", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("principal", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint(
            "kind IN ('SIGNAL', 'APPROVAL', 'CANCEL', 'PAUSE', 'RESUME', 'TIMER', 'DEADLINE')",
            name=op.f("signals_kind_check"),
        ),
        sa.ForeignKeyConstraint(
            ["execution_id"],
            ["workflow_executions.id"],
            name=op.f("signals_execution_id_fkey"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("signals_pkey")),
    )
    op.create_index(
        "signals_decided_key",
        "signals",
        ["execution_id", "path", "run"],
        unique=True,
        postgresql_where=sa.text("kind = 'APPROVAL' AND NOT void"),
    )
    op.create_index(op.f("signals_execution_id_id_idx"), "signals", ["execution_id", "id"], unique=False)
    op.create_index(
        "signals_read_key",
        "signals",
        ["execution_id", "seq"],
        unique=True,
        postgresql_where=sa.text("seq IS NOT NULL"),
    )
    op.create_index(
        "signals_unread_idx",
        "signals",
        ["execution_id", "id"],
        unique=False,
        postgresql_where=sa.text("seq IS NULL AND NOT void"),
    )
    op.create_table(
        "workflow_definition_versions",
        sa.Column("id", sa.Uuid(), server_default=sa.text("gen_random_uuid()"), nullable=False),
        sa.Column("workflow_definition_id", sa.Uuid(), nullable=False),
        sa.Column("workspace_id", sa.Uuid(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("document", postgresql.JSON(astext_type=sa.Text()), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("version >= 1", name=op.f("workflow_definition_versions_version_check")),
        sa.ForeignKeyConstraint(
            ["workflow_definition_id"],
            ["workflow_definitions.id"],
            name=op.f("workflow_definition_versions_workflow_definition_id_fkey"),
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"], ["workspaces.id"], name=op.f("workflow_definition_versions_workspace_id_fkey")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("workflow_definition_versions_pkey")),
        sa.UniqueConstraint(
            "workflow_definition_id",
            "version",
            name=op.f("workflow_definition_versions_workflow_definition_id_version_key"),
        ),
    )
    op.execute(
        """
        INSERT INTO workspace_tiers (name, running_limit, queued_limit) VALUES
            ('FREE', 1, 100000),
            ('PRO', 5, 1000000),
            ('ENTERPRISE', 20, NULL)
        """
    )
