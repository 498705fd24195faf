-- A start that was provably refused, or an engine that is away: back in line, the slot given back if this claim took it.
-- $1: execution; $2: run; $3: token; $4: count an attempt; $5: seconds to wait; $6: error; $7: why it waits.
WITH item AS MATERIALIZED (
    SELECT id, execution_id, status_before, slot_taken, first_start
    FROM execution_queue
    WHERE execution_id = $1 AND status = 'CLAIMED'
    FOR UPDATE
), execution AS (
    UPDATE workflow_executions e
    SET status = CASE WHEN i.slot_taken THEN i.status_before ELSE e.status END,
        started_at = CASE WHEN i.first_start AND e.started_at = e.run_started_at THEN NULL ELSE e.started_at END,
        run_started_at = CASE WHEN i.first_start THEN NULL ELSE e.run_started_at END,
        revision = e.revision + 1, waiting_since = now(),
        owner_id = NULL
    FROM item i
    WHERE e.id = i.execution_id AND e.run = $2 AND e.token = $3
    RETURNING e.id, e.workspace_id
)
UPDATE execution_queue q
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL, attempts = q.attempts + $4::int, last_error = $6,
    available_at = now() + make_interval(secs => $5), due = false, holds_slot = NOT q.slot_taken, waiting_kind = $7
FROM execution e
WHERE q.execution_id = e.id
RETURNING q.id, q.attempts, q.workspace_id
