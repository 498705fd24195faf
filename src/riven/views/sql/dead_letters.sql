-- Items that left the line for good, newest first.
-- $1: workspace; $2: the id of the last one before; $3: most.
SELECT id, execution_id, workspace_id, status, attempts, priority, created_at, available_at, claimed_at, last_error
FROM execution_queue
WHERE workspace_id = $1 AND status = 'FAILED' AND id < $2
ORDER BY id DESC
LIMIT $3
