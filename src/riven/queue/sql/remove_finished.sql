-- The item of an execution that has ended: gone, or a dead letter if it failed.
-- $1: the item.
WITH item AS MATERIALIZED (
    SELECT q.id, e.status, e.error_type, e.error_message
    FROM execution_queue q
    JOIN workflow_executions e ON e.id = q.execution_id
    WHERE q.id = $1 AND q.status <> 'FAILED' AND e.finished_at IS NOT NULL
    FOR UPDATE OF q FOR SHARE OF e
), removed AS (
    DELETE FROM execution_queue q USING item i WHERE q.id = i.id AND i.status <> 'FAILED' RETURNING q.id
), failed AS (
    UPDATE execution_queue q
    SET status = 'FAILED', owner_id = NULL, due = true, holds_slot = false, failed_at = now(),
        last_error = i.error_type || ': ' || i.error_message
    FROM item i
    WHERE q.id = i.id AND i.status = 'FAILED'
    RETURNING q.id
)
SELECT id FROM removed UNION ALL SELECT id FROM failed
