-- $1: item.
SELECT id, execution_id, workspace_id, status, attempts, priority, created_at, available_at, claimed_at, last_error
FROM execution_queue
WHERE id = $1
