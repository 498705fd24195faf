-- Whoever set a hint looks once more after its commit: what became due or free meanwhile clears it.
-- $1: workspaces whose hints were set. Answers those that have something to give after all.
UPDATE workspaces w
SET idle = false, at_capacity = false
FROM workspace_tiers t
WHERE w.id = ANY ($1::uuid[]) AND t.name = w.tier AND (w.idle OR w.at_capacity)
  AND EXISTS (SELECT FROM execution_queue q WHERE q.workspace_id = w.id AND q.status = 'PENDING' AND q.due)
  AND ((SELECT count(*) FROM workflow_executions e WHERE e.workspace_id = w.id AND e.status = 'RUNNING')
           < coalesce(w.running_limit, t.running_limit)
       OR EXISTS (SELECT FROM execution_queue q
                  WHERE q.workspace_id = w.id AND q.status = 'PENDING' AND q.due AND q.holds_slot))
RETURNING w.id
