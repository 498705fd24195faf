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
    Column(
        "name",
        Text,
        nullable=False,
        unique=True,
        doc="`FREE`, `PRO`, `ENTERPRISE`, or one of the installation's own.",
    ),
    Column("running_limit", Integer, nullable=False, doc="Executions that may run at the same time."),
    Column("queued_limit", BigInteger, doc="Executions that may be in line; null: any number."),
    now_column("created_at"),
    CheckConstraint("running_limit >= 0", name="running_limit"),
    CheckConstraint("queued_limit >= 0", name="queued_limit"),
    info={
        "about": "Plans: what a workspace does not set for itself, its tier says. FREE, PRO and ENTERPRISE are there from the start."
    },
)

workspaces = Table(
    "workspaces",
    metadata,
    own_id(),
    Column("name", Text, nullable=False, doc="For people; need not be unique."),
    Column(
        "tier",
        Text,
        ForeignKey(workspace_tiers.c.name),
        nullable=False,
        doc="What it does not set itself, this tier says.",
    ),
    Column("running_limit", Integer, doc="Instead of the tier's."),
    Column("queued_limit", BigInteger, doc="Instead of the tier's."),
    Column("max_attempts", Integer, doc="Starts that the engine may refuse; null: RIVEN_QUEUE_MAX_ATTEMPTS."),
    Column(
        "weight",
        Integer,
        nullable=False,
        server_default=text("1"),
        doc="Items that a claim takes of it in each turn.",
    ),
    Column(
        "disabled",
        Boolean,
        nullable=False,
        server_default=text("false"),
        doc="Starts nothing; what is in line waits.",
    ),
    Column(
        "last_served_at",
        TIME,
        nullable=False,
        server_default=text("'-infinity'"),
        doc="The longest not served is served next.",
    ),
    Column(
        "idle",
        Boolean,
        nullable=False,
        server_default=text("true"),
        doc="A hint to the claim: nothing of it is due. `riven.queue` tells how hints are kept.",
    ),
    Column(
        "at_capacity",
        Boolean,
        nullable=False,
        server_default=text("false"),
        doc="A hint to the claim: something is due, and no slot is free.",
    ),
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
        info={"for": "claim: whose turn it is, past full and idle workspaces, however many those are"},
    ),
    postgresql_with={"fillfactor": "70"},
    info={"about": "Tenants, with what their tier leaves to them, and what the claim has to know of them."},
)

members = Table(
    "members",
    metadata,
    own_id(),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    Column("subject", Text, nullable=False, doc="The `sub` that the issuer names."),
    Column("role", Text, nullable=False, doc="What they may do."),
    now_column("created_at"),
    one_of("role", ROLES),
    UniqueConstraint("workspace_id", "subject"),
    Index(None, "subject", info={"for": "authentication: the workspaces of a user"}),
    info={
        "about": "Users of the configured OIDC issuer, by the subject of their tokens, with a role in a workspace."
    },
)

api_keys = Table(
    "api_keys",
    metadata,
    own_id(),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), doc="Null: a platform key."),
    Column("name", Text, nullable=False, doc="For people."),
    Column(
        "prefix", Text, nullable=False, doc="How the key begins, so that people can tell which one it is."
    ),
    Column(
        "key_hash",
        LargeBinary,
        nullable=False,
        unique=True,
        doc="SHA-256 of the key, which is a random number of 256 bits.",
    ),
    Column("role", Text, nullable=False, doc="What it may do."),
    Column("expires_at", TIME, doc="Refused from then on."),
    Column("last_used_at", TIME, doc="To the minute."),
    Column("revoked_at", TIME, doc="Refused from then on."),
    now_column("created_at"),
    one_of("role", (*ROLES, PLATFORM)),
    CheckConstraint(f"(workspace_id IS NULL) = (role = '{PLATFORM}')", name="scope"),
    Index(None, "workspace_id", info={"for": "lists of keys"}),
    info={"about": "Keys of workspaces, and of the platform. The keys themselves are nowhere."},
)

secrets = Table(
    "secrets",
    metadata,
    own_id(),
    Column("workspace_id", Uuid, ForeignKey(workspaces.c.id), nullable=False),
    Column("name", Text, nullable=False, doc="As templates name it."),
    Column("key_name", Text, nullable=False, doc="Of the key that it is encrypted with."),
    Column("nonce", LargeBinary, nullable=False, doc="Of AES-GCM."),
    Column("ciphertext", LargeBinary, nullable=False, doc="The secret, encrypted and authenticated."),
    now_column("created_at"),
    now_column("updated_at"),
    UniqueConstraint("workspace_id", "name"),
    info={"about": "Secrets of workspaces, encrypted. Nothing writes or reads them in this version."},
)

activity = Table(
    "activity",
    metadata,
    own_id(),
    Column(
        "workspace_id",
        Uuid,
        doc="No foreign key: the trail outlives what it tells of. Null for what concerns the whole installation.",
    ),
    now_column("at", doc="When."),
    Column("actor", Text, nullable=False, doc="Who: `key:<id>`, `user:<subject>`, `library:<name>`."),
    Column("action", Text, nullable=False, doc="What, such as `execution.start`."),
    Column("subject", Text, nullable=False, doc="To what: an id or a name."),
    Column(
        "details",
        JSON,
        nullable=False,
        server_default=text("'{}'"),
        doc="What else is worth knowing.",
    ),
    Index(None, "workspace_id", "id", info={"for": "the trail of a workspace, newest first"}),
    info={
        "about": "The audit trail: one row for each change and each start, written in the transaction that makes it."
    },
)
