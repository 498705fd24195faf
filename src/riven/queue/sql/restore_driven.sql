-- RUNNING executions without an item whose owner is dead or unknown get one, with their slot. Those that a living
-- process drives go on without.
-- $1: at most so many.
WITH unowned AS MATERIALIZED (
    -- from the index of what runs: in the order of ids it would be all that ever ran
    SELECT e.id
    FROM workflow_executions e
    LEFT JOIN processes p ON p.id = e.owner_id AND NOT p.dead
    WHERE e.status = 'RUNNING' AND p.id IS NULL
), missing AS MATERIALIZED (
    SELECT e.id, e.workspace_id, e.workflow_definition_id, e.priority, e.created_at, e.status
    FROM workflow_executions e
    WHERE e.id IN (SELECT u.id FROM unowned u
                   WHERE NOT EXISTS (SELECT FROM execution_queue q WHERE q.execution_id = u.id) ORDER BY u.id LIMIT $1)
      AND e.status = 'RUNNING' AND NOT EXISTS (SELECT FROM processes p WHERE p.id = e.owner_id AND NOT p.dead)
    ORDER BY e.id
    FOR NO KEY UPDATE SKIP LOCKED
), restored AS (
    INSERT INTO execution_queue (id, execution_id, workspace_id, workflow_definition_id, priority, aged_at, holds_slot)
    SELECT gen_random_uuid(), id, workspace_id, workflow_definition_id, priority, created_at, true FROM missing
    ON CONFLICT (execution_id) DO NOTHING
    RETURNING execution_id
)
SELECT m.id, m.workspace_id, m.status FROM missing m JOIN restored r ON r.execution_id = m.id
