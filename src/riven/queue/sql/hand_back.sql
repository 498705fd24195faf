-- A process that stops gives back what it cannot finish: in line at once, slots kept.
-- $1: the process; $2: executions, null for all of them.
WITH held AS MATERIALIZED (
    SELECT id
    FROM execution_queue
    WHERE owner_id = $1 AND status IN ('CLAIMED', 'DISPATCHED') AND ($2::uuid[] IS NULL OR execution_id = ANY ($2::uuid[]))
    ORDER BY id
    FOR UPDATE
)
UPDATE execution_queue q
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL, dispatched_at = NULL,
    available_at = now(), due = true, holds_slot = true
FROM held h
WHERE q.id = h.id
RETURNING q.execution_id, q.workspace_id
