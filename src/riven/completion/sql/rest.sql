-- The run gives back its slot; caller holds the locks of item and execution.
UPDATE workflow_executions
SET status = $2, owner_id = NULL, waiting_kind = $3, waiting_since = now(), waiting_until = $4,
    revision = $5
WHERE id = $1
