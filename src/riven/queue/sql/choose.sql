-- A new statement, so that its snapshot is younger than the lock: limits and running executions are counted as they are.
-- One row a workspace, with the head of its line in the order in which it is served; turns.py chooses among them.
-- $1: locked workspaces; $2: most items of one workspace.
SELECT w.id AS workspace_id, w.weight, coalesce(w.running_limit, t.running_limit) AS running_limit,
       (SELECT count(*) FROM workflow_executions e WHERE e.workspace_id = w.id AND e.status = 'RUNNING') AS in_use,
       line.queue_ids, line.holds_slot
FROM workspaces w
JOIN workspace_tiers t ON t.name = w.tier
CROSS JOIN LATERAL (
    SELECT array_agg(i.id) AS queue_ids, array_agg(i.holds_slot) AS holds_slot
    FROM (
        SELECT id, holds_slot
        FROM execution_queue
        WHERE workspace_id = w.id AND status = 'PENDING' AND due
        ORDER BY holds_slot DESC, priority DESC, aged_at, id
        LIMIT $2
    ) i
) line
WHERE w.id = ANY ($1::uuid[]) AND NOT w.disabled
ORDER BY w.last_served_at, w.id
