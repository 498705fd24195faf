-- A driver that cannot go on with one of its runs gives it back: in line at once, slot kept. An item that somebody has
-- deleted is made anew, or nobody would ever take the run up.
-- $1: execution; $2: run; $3: token.
WITH item AS MATERIALIZED (
    SELECT id FROM execution_queue WHERE execution_id = $1 FOR UPDATE
), held AS MATERIALIZED (
    SELECT id, workspace_id, workflow_definition_id, priority
    FROM workflow_executions
    WHERE id = $1 AND run = $2 AND token = $3 AND status = 'RUNNING' AND (SELECT count(*) FROM item) >= 0
    FOR SHARE
)
INSERT INTO execution_queue AS q (id, execution_id, workspace_id, workflow_definition_id, priority, holds_slot)
SELECT gen_random_uuid(), id, workspace_id, workflow_definition_id, priority, true FROM held
ON CONFLICT (execution_id) DO UPDATE
SET status = 'PENDING', owner_id = NULL, claimed_at = NULL, dispatched_at = NULL,
    available_at = now(), due = true, holds_slot = true
WHERE q.status IN ('CLAIMED', 'DISPATCHED')
RETURNING q.workspace_id
