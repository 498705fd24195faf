-- A process that stops gives back what it cannot finish: in line at once, slots kept.
-- $1: the process; $2: executions, null for all of them.
UPDATE execution_queue q
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL, dispatched_at = NULL,
    available_at = now(), due = true, holds_slot = true
WHERE q.owner_id = $1 AND q.status IN ('CLAIMED', 'DISPATCHED')
  AND ($2::uuid[] IS NULL OR q.execution_id = ANY ($2::uuid[]))
RETURNING q.execution_id, q.workspace_id
