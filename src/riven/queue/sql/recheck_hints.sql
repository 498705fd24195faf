-- Whoever set a hint looks once more after its commit: what became due or free meanwhile clears it.
-- $1: workspaces whose hints were set. Answers those that have something to give after all.
UPDATE workspaces
SET idle = false, at_capacity = false
WHERE id IN (
    SELECT w.id
    FROM workspaces w
    JOIN workspace_tiers t ON t.name = w.tier
    WHERE w.id = ANY ($1::uuid[]) AND (w.idle OR w.at_capacity)
      AND EXISTS (SELECT FROM execution_queue q WHERE q.workspace_id = w.id AND q.status = 'PENDING' AND q.due)
      AND ((SELECT count(*) FROM workflow_executions e WHERE e.workspace_id = w.id AND e.status = 'RUNNING')
               < coalesce(w.running_limit, t.running_limit)
           OR EXISTS (SELECT FROM execution_queue q
                      WHERE q.workspace_id = w.id AND q.status = 'PENDING' AND q.due AND q.holds_slot))
    FOR NO KEY UPDATE OF w SKIP LOCKED
)
RETURNING id
