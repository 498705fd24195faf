-- Out of line for good, kept as a dead letter with its reason.
UPDATE execution_queue
SET status = 'FAILED', last_error = $2, failed_at = now(), owner_id = NULL, due = true, holds_slot = false
WHERE id = $1 AND status <> 'FAILED'
RETURNING id
