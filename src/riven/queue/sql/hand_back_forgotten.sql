-- Items of a living process that does not drive them: their claim's answer was lost, or their start broke off. In line
-- again, slot kept.
-- $1: the process; $2: executions that it drives.
UPDATE execution_queue q
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL, dispatched_at = NULL,
    available_at = now(), due = true, holds_slot = true
WHERE q.owner_id = $1 AND q.status IN ('CLAIMED', 'DISPATCHED') AND q.execution_id <> ALL ($2::uuid[])
RETURNING q.execution_id, q.workspace_id
