"""What Alembic runs: migrations in one transaction each, on the connection that `db/schema.py` hands in."""

from alembic import context

from riven.db.tables.catalog import workflow_definitions
from riven.db.tables.executions import workflow_executions
from riven.db.tables.queue import execution_queue

metadata = execution_queue.metadata
for table in (workflow_definitions, workflow_executions):
    if table.metadata is not metadata:
        raise RuntimeError("all tables stand in one metadata")

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transaction_per_migration=True,
)
with context.begin_transaction():
    context.run_migrations()
