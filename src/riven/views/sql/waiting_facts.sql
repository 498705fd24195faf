-- Executions, their items and their workspaces, as far as it matters to why they wait.
-- $1: executions.
SELECT e.id, e.workspace_id, e.status, e.created_at, e.waiting_kind, e.waiting_since, e.waiting_until,
       q.id AS queue_id, q.status AS queue_status, q.due, q.available_at <= now() AS comes_due, q.available_at,
       q.holds_slot, q.priority, q.aged_at, q.waiting_kind AS item_kind,
       q.dispatched_at, q.status = 'DISPATCHED' AND q.owner_id IS NULL AS elsewhere,
       w.disabled, coalesce(w.running_limit, t.running_limit) AS running_limit
FROM workflow_executions e
JOIN workspaces w ON w.id = e.workspace_id
JOIN workspace_tiers t ON t.name = w.tier
LEFT JOIN execution_queue q ON q.execution_id = e.id
WHERE e.id = ANY ($1::uuid[]) AND e.status IN ('PENDING', 'RUNNING', 'WAITING', 'PAUSED')
